/// Which rows of the ledger have room.
#include "app/panels/ledger/ledger_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/app/panels/sample_snapshot.h"

namespace attnscope::app {
namespace {

using test::SampleRequest;

TEST(LedgerLayout, TheTimesBarGivesUpALineBeforeTensorsAreHidden) {
  constexpr float kSize = 10.0f;
  const auto at = [](float room) { return lay_out_ledger({8, 6, false, 2}, room, kSize); };
  EXPECT_EQ(at(400.0f).time_bar, 2U);
  EXPECT_FALSE(at(400.0f).two_columns);
  EXPECT_EQ(at(136.0f).time_bar, 2U);
  EXPECT_TRUE(at(136.0f).two_columns);
  EXPECT_EQ(at(128.0f).time_bar, 1U);
  EXPECT_EQ(at(128.0f).hidden, 0U);
  EXPECT_EQ(at(105.0f).time_bar, 1U);
  EXPECT_GT(at(105.0f).hidden, 0U);
  EXPECT_EQ(at(80.0f).time_bar, 0U);
  for (float room = 60.0f; room < 400.0f; room += 1.0f) {
    const LedgerLayout layout = at(room);
    const std::size_t lines =
        layout.tensor_lines + 8 + layout.time_bar + (layout.two_columns ? 1 : 0);
    EXPECT_LE(layout.pitch * static_cast<float>(lines), room * 1.0001f) << room;
  }
}

TEST(LedgerLayout, TensorsGiveWayToTheTotals) {
  constexpr float kSize = 10.0f;
  const LedgerLayout wide = lay_out_ledger({8, 5, false}, 160.0f, kSize);
  EXPECT_FALSE(wide.two_columns);
  EXPECT_EQ(wide.shown, 8U);
  const LedgerLayout halves = lay_out_ledger({8, 5, false}, 120.0f, kSize);
  EXPECT_TRUE(halves.two_columns);
  EXPECT_EQ(halves.shown, 8U);
  EXPECT_EQ(halves.hidden, 0U);

  // Headings, a line of tensors, totals, title and footer fit into any room
  for (const std::size_t tensors : {1U, 5U, 14U, 40U}) {
    for (const float room : {60.0f, 90.0f, 110.0f, 140.0f, 400.0f}) {
      const LedgerLayout layout = lay_out_ledger({tensors, 5, false}, room, kSize);
      const std::size_t lines = layout.tensor_lines + 7 + (layout.two_columns ? 1 : 0);
      EXPECT_LE(layout.pitch * static_cast<float>(lines), room * 1.0001f) << tensors << " " << room;
      EXPECT_EQ(layout.shown + layout.hidden, tensors);
      const std::size_t cells = layout.tensor_lines * (layout.two_columns ? 2 : 1);
      EXPECT_LE(layout.shown + (layout.hidden > 0 ? 1 : 0), cells) << tensors << " " << room;
    }
  }
}

TEST(LedgerLayout, OptionalTotalsGiveWayToTensors) {
  constexpr float kSize = 10.0f;
  for (const char* algorithm : {"standard", "flash1", "flash2"}) {
    SampleRequest request;
    request.algorithm = algorithm;
    request.pass = PassKind::backward;
    const auto run = test::sample_run(request);
    const Ledger all = make_ledger(test::sample_snapshot(*run, 0.5), LedgerScope::so_far,
                                   make_ledger_basis(*run->info(), {}));
    EXPECT_FALSE(briefer_ledger(all, 400.0f, kSize));
    std::size_t briefest = all.totals.size();
    for (float room = 400.0f; room > 80.0f; room -= 1.0f) {
      const std::optional<Ledger> briefer = briefer_ledger(all, room, kSize);
      if (!briefer) continue;
      EXPECT_GT(lay_out_ledger(lines_of(all), room, kSize).hidden, 0U) << algorithm << " " << room;
      EXPECT_EQ(briefer->tensors.size(), all.tensors.size());
      EXPECT_LE(briefer->totals.size(), briefest) << algorithm << " " << room;
      briefest = briefer->totals.size();
      for (const std::string_view kept : {"requested read", "time, predicted"}) {
        EXPECT_EQ(std::ranges::count(briefer->totals, kept, &LedgerRow::label), 1) << kept;
      }
      // Tensors are hidden only when every optional row is left out
      if (lay_out_ledger(lines_of(*briefer), room, kSize).hidden == 0) continue;
      for (const LedgerRow& row : briefer->totals) EXPECT_EQ(row.gives_way, 0U) << row.label;
    }
    EXPECT_EQ(briefest, 3U) << "requested bytes and the predicted time";
  }
}

TEST(LedgerLayout, ShowsTheTensorsOfTheOperationThenThoseWithMostBytes) {
  SampleRequest request;
  request.algorithm = "standard";
  const auto run = test::sample_run(request);
  const LedgerBasis basis = make_ledger_basis(*run->info(), {});
  std::set<std::string> moved;
  for (double at = 0.0; at <= 1.0; at += 1.0 / 256.0) {
    const Snapshot snapshot = test::sample_snapshot(*run, at);
    const Ledger ledger = make_ledger(snapshot, LedgerScope::so_far, basis);
    const std::vector<std::size_t> shown = shown_tensors(ledger, 3);
    ASSERT_EQ(shown.size(), 3U);
    EXPECT_TRUE(std::ranges::is_sorted(shown));
    std::size_t others = 0;
    double least = 1e9, most_hidden = 0.0;
    for (std::size_t k = 0; k < ledger.tensors.size(); ++k) {
      const LedgerRow& row = ledger.tensors[k];
      const bool is_shown = std::ranges::binary_search(shown, k);
      EXPECT_EQ(row.is_moved, snapshot.step >= 0 && snapshot.op.moves_bytes() &&
                                  snapshot.op.dests()[0].tensor == row.tensor &&
                                  (snapshot.op.kind == OpKind::load) == row.label.ends_with("read"))
          << row.label << " at " << snapshot.step;
      if (row.is_moved) {
        moved.insert(row.label);
        EXPECT_TRUE(is_shown) << row.label;
        continue;
      }
      others += is_shown ? 1 : 0;
      (is_shown ? least : most_hidden) =
          is_shown ? std::min(least, row.whole) : std::max(most_hidden, row.whole);
    }
    EXPECT_GE(others, 2U);
    EXPECT_GE(least, most_hidden);
  }
  EXPECT_TRUE(moved.contains("S written") && moved.contains("P read") && moved.contains("Q read"));
}

}  // namespace
}  // namespace attnscope::app
