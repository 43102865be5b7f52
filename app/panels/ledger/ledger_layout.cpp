#include "app/panels/ledger/ledger_layout.h"

#include <algorithm>
#include <functional>
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
  if (lay_out_ledger(lines_of(ledger), room, size).pitch >= kTightest * size) return std::nullopt;
  Ledger briefer = ledger;
  std::erase_if(briefer.totals, std::mem_fn(&LedgerRow::gives_way));
  std::erase_if(briefer.apart, std::mem_fn(&LedgerRow::gives_way));
  return briefer;
}

}  // namespace attnscope::app
