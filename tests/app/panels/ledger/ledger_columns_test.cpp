/// Which columns the ledger shows, and how it writes its numbers.
#include "app/panels/ledger/ledger_columns.h"

#include "app/draw/format.h"
#include "app/ui/drawn_texts.h"
#include "tests/app/panels/panel_helpers.h"

namespace attnscope::app {
namespace {

using test::HeadlessImGui;
using test::SampleRequest;

Ledger ledger_of(const SampleRequest& request, const Measurements& measurements = {}) {
  const auto run = test::sample_run(request);
  const Snapshot snapshot = test::sample_snapshot(*run, 1.0);
  const LedgerBasis basis =
      make_ledger_basis(*snapshot.run, find_seen_run(*snapshot.run, measurements));
  return make_ledger(snapshot, LedgerScope::whole_pass, basis);
}

SampleRequest large_request() {
  SampleRequest request;
  request.problem.N = request.problem.N_kv = 1024;
  request.problem.d = 64;
  request.set_tiling({64, 64});
  return request;
}

class LedgerColumnsTest : public testing::Test {
 protected:
  LedgerColumns columns(const Ledger& ledger, float width) {
    return lay_out_columns(ledger, headings_of(ledger, false), imgui_.fonts(), 0.0f, width, 14.0f,
                           10.0f);
  }
  HeadlessImGui imgui_{1280, 720};
};

TEST_F(LedgerColumnsTest, WriteBytesInOneStyle) {
  const Ledger small = ledger_of({});
  const Ledger large = ledger_of(large_request());
  EXPECT_TRUE(columns(small, 900).exact);
  EXPECT_FALSE(columns(large, 900).exact);
  for (const Ledger* ledger : {&small, &large}) {
    const bool exact = columns(*ledger, 900).exact;
    for (const auto* rows : {&ledger->tensors, &ledger->totals}) {
      for (const LedgerRow& row : *rows) {
        if (row.unit == "s" || !row.modelled) continue;
        const std::string text = cells_of(row, exact).at(LedgerColumn::modelled);
        EXPECT_EQ(text, exact ? draw::format_count(static_cast<Index>(*row.modelled)) + " B"
                              : draw::format_si(*row.modelled, "B"));
      }
    }
  }
}

TEST_F(LedgerColumnsTest, SayHowManyTimesATensorsSizeIsRequested) {
  const Ledger ledger = ledger_of(large_request());
  const auto size_of = [&](std::string_view label) {
    const auto row = std::ranges::find(ledger.tensors, label, &LedgerRow::label);
    return row == ledger.tensors.end() ? "" : cells_of(*row, false).at(LedgerColumn::size);
  };
  EXPECT_EQ(size_of("Q read"), "1×");
  EXPECT_EQ(size_of("K read"), "16×") << "once for each of the 16 row tiles";
  EXPECT_EQ(size_of("O written"), "1×");
}

TEST_F(LedgerColumnsTest, WithoutContentGiveWayFirst) {
  const Ledger ledger = ledger_of(large_request());
  const auto has = [&](float width, LedgerColumn column) {
    return columns(ledger, width).end(column).has_value();
  };
  EXPECT_FALSE(has(900, LedgerColumn::gap)) << "nothing was recorded";
  EXPECT_TRUE(has(900, LedgerColumn::seen));
  float without_seen = 0, without_size = 0, without_formula = 0;
  for (float width = 900; width > 100; width -= 1) {
    if (without_seen == 0 && !has(width, LedgerColumn::seen)) without_seen = width;
    if (without_size == 0 && !has(width, LedgerColumn::size)) without_size = width;
    if (without_formula == 0 && !has(width, LedgerColumn::formula)) without_formula = width;
    EXPECT_TRUE(has(width, LedgerColumn::modelled));
  }
  EXPECT_GT(without_seen, without_size);
  EXPECT_GT(without_size, without_formula);
  EXPECT_GT(without_formula, 0);
}

TEST_F(LedgerColumnsTest, OfHalfATableLeaveOutTheFormulaBeforeTheyCutALabel) {
  const Ledger ledger = ledger_of(large_request());
  const Fonts& fonts = imgui_.fonts();
  const auto half = [&](float width) {
    return lay_out_half(ledger, fonts, 0.0f, width, 15.0f, 6.0f, false);
  };
  EXPECT_TRUE(half(400).end(LedgerColumn::formula));
  const LedgerColumns narrow = half(150);
  EXPECT_FALSE(narrow.end(LedgerColumn::formula));
  ASSERT_EQ(narrow.end(LedgerColumn::modelled), 150.0f);
  EXPECT_GE(150.0f - fonts.mono_small.measure("99.9 MB").x,
            15.0f + fonts.small.measure("O written").x);
}

TEST(LedgerPanel, SaysUnavailableOnce) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 1.0);
  HeadlessImGui imgui(1280, 720);
  const Scales scales = scales_for(1280, 720, 1.0f, false);
  test::Surroundings around;
  around.view.ledger_scope = LedgerScope::whole_pass;
  const Rect rect{{400, 50}, {1260, 650}};
  for (const Panel& panel : make_panels()) {
    if (panel.name != "ledger") continue;
    test::draw_panel(imgui, panel, snapshot, rect, scales, false, around);
    TextRecorder recorder;
    test::draw_frame(imgui, panel, snapshot, rect, scales, false, around);
    EXPECT_EQ(std::ranges::count(recorder.texts(), "unavailable", &DrawnText::text), 1);
    EXPECT_EQ(std::ranges::count(recorder.texts(), "times its size", &DrawnText::text), 1);
    EXPECT_EQ(std::ranges::count(recorder.texts(), "gap", &DrawnText::text), 0);
  }
}

}  // namespace
}  // namespace attnscope::app
