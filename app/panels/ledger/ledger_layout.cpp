#include "app/panels/ledger/ledger_layout.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

namespace attnscope::app {

namespace {

constexpr float kTightest = 0.9f;  ///< smallest line pitch, in units of the font size

}  // namespace

LedgerLayout lay_out_ledger(const LedgerLines& lines, float room, float size) {
  const float loosest = size * 1.6f;
  const float comfortable = size * 1.02f;
  const float tightest = size * kTightest;
  const std::size_t n = lines.tensors;
  const std::size_t others = lines.totals + (lines.has_kernel_title ? 3 : 2);
  const auto pitch_of = [&](std::size_t all) { return room / static_cast<float>(all); };

  if (const float pitch = pitch_of(others + lines.time_bar + n); pitch >= comfortable) {
    return {std::min(pitch, loosest), false, n, n, 0, lines.time_bar};
  }

  // In two columns, headings of the totals need a line of their own, above the totals
  const std::size_t titled = others + (lines.has_kernel_title ? 0 : 1);
  const std::size_t half = (n + 1) / 2;
  for (const std::size_t bar : {lines.time_bar, std::min<std::size_t>(lines.time_bar, 1)}) {
    if (const float pitch = pitch_of(titled + bar + half); pitch >= tightest) {
      return {std::min(pitch, loosest), true, half, n, 0, bar};
    }
  }

  const auto all = static_cast<std::size_t>(std::max(room / tightest, 0.0f));
  const std::size_t bar = lines.time_bar > 0 && all > titled + 1 ? 1 : 0;
  const std::size_t left = std::clamp<std::size_t>(all - std::min(all, titled + bar), 1, half);
  const std::size_t shown = std::min(2 * left - 1, n);
  return {std::min(pitch_of(titled + bar + left), loosest), true, left, shown, n - shown, bar};
}

LedgerLines lines_of(const Ledger& ledger) {
  return {ledger.tensors.size(), ledger.totals.size() + ledger.apart.size(), !ledger.apart.empty(),
          ledger.time.prediction ? std::size_t{2} : 0};
}

std::optional<Ledger> briefer_ledger(const Ledger& ledger, float room, float size) {
  const auto has_room = [&](const Ledger& each) {
    const LedgerLayout layout = lay_out_ledger(lines_of(each), room, size);
    return layout.hidden == 0 && layout.pitch >= kTightest * size;
  };
  if (has_room(ledger)) return std::nullopt;
  Ledger briefer = ledger;
  for (std::size_t turn = 1; turn <= kLastTurnToGiveWay && !has_room(briefer); ++turn) {
    const auto is_next = [&](const LedgerRow& row) { return row.gives_way == turn; };
    std::erase_if(briefer.totals, is_next);
    std::erase_if(briefer.apart, is_next);
  }
  return briefer;
}

std::vector<std::size_t> shown_tensors(const Ledger& ledger, std::size_t count) {
  std::vector<std::size_t> order(ledger.tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t k) {
    const LedgerRow& row = ledger.tensors[k];
    return std::pair(row.is_moved, row.whole);
  });
  order.resize(std::min(count, order.size()));
  std::ranges::sort(order);
  return order;
}

}  // namespace attnscope::app
