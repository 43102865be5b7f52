/// Every panel draws every run on every screen, with its text inside it and without overlaps.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "app/panels/panels.h"
#include "app/panels/parts/headings.h"
#include "tests/app/panels/panel_helpers.h"

namespace attnscope::app {
namespace {

using test::click;
using test::draw_on_projector;
using test::draw_panel;
using test::HeadlessImGui;
using test::kEverySlot;
using test::kScreens;
using test::SampleRequest;
using test::ScreenSize;
using test::Surroundings;

/// Draws every panel at every size and checks that its text stays inside it and does not overlap.
void check_all(const Snapshot& snapshot, const std::string& what, const ViewState& view = {}) {
  for (const ScreenSize& screen : kScreens) {
    const Scales scales = scales_for(screen.width, screen.height, 1.0f, screen.presenter);
    const Layout layout =
        layout_screen(screen.width, screen.height, scales, kEverySlot, screen.presenter);
    HeadlessImGui imgui(screen.width, screen.height, scales.layout, scales.font);
    for (const auto& panel : make_panels()) {
      const auto place = layout.panels.find(panel.slot);
      if (place == layout.panels.end()) continue;
      SCOPED_TRACE(fmt::format("{}: {} at {}", what, panel.name, screen.name));
      Surroundings around;
      around.view = view;
      draw_panel(imgui, panel, snapshot, place->second, scales, screen.presenter, around);
      EXPECT_GT(imgui.vertex_count(), 0);
      EXPECT_GT(imgui.letters().size(), 5U);
      EXPECT_EQ(imgui.letters_outside(place->second), 0);
      EXPECT_LE(imgui.letters_on_letters(), 0);
    }
  }
}

void check_run(const SampleRequest& request, std::initializer_list<double> fractions) {
  const auto run = test::sample_run(request);
  for (const double fraction : fractions) {
    check_all(test::sample_snapshot(*run, fraction),
              fmt::format("{} N = {} at {}", request.algorithm, request.problem.N, fraction));
  }
}

TEST(Panels, HaveUniqueNamesAndEverySlotShowsOne) {
  std::set<std::string_view> names;
  for (const auto& panel : make_panels()) {
    EXPECT_TRUE(names.insert(panel.name).second) << panel.name;
  }
  std::set<std::string_view> shown;
  for (std::size_t memory = 0; memory < enum_names(MemoryTab{}).size(); ++memory) {
    for (std::size_t softmax = 0; softmax < enum_names(SoftmaxTab{}).size(); ++softmax) {
      ViewState view;
      view.memory_tab = static_cast<MemoryTab>(memory);
      view.softmax_tab = static_cast<SoftmaxTab>(softmax);
      std::set<Slot> slots;
      for (const auto& panel : make_panels()) {
        if (!panel.shown(view)) continue;
        EXPECT_TRUE(slots.insert(panel.slot).second) << panel.name;
        shown.insert(panel.name);
      }
      EXPECT_EQ(slots, kEverySlot);
    }
  }
  EXPECT_EQ(shown, names) << "each panel has a tab that shows it";
}

TEST(Panels, DrawAnEmptySnapshot) {
  check_all(Snapshot{}, "empty");
}

TEST(Panels, DrawAnErrorInsteadOfARun) {
  Snapshot snapshot;
  snapshot.error = invalid_request(
      "a tile of 512 x 512 does not fit: it needs 1.5 MiB of shared memory, a thread block has 227 "
      "KiB; the largest that fits is 128 x 128");
  check_all(snapshot, "error");
}

TEST(Panels, DrawFlash2FromTheFirstStepToTheLast) {
  check_run({}, {0.0, 0.02, 0.2, 0.48, 0.62, 0.97, 1.0});
}

TEST(Panels, DrawFlash1FromTheFirstStepToTheLast) {
  SampleRequest request;
  request.algorithm = "flash1";
  check_run(request, {0.0, 0.3, 0.51, 1.0});
  request.variant.carry = Carry::fp32;
  check_run(request, {0.5, 1.0});
}

TEST(Panels, DrawEveryLaunchOfStandardAttention) {
  SampleRequest request;
  request.algorithm = "standard";
  check_run(request, {0.0, 0.2, 0.5, 0.62, 0.9, 1.0});
}

TEST(Panels, DrawEveryLaunchOfTheBackwardPasses) {
  for (const char* algorithm : {"flash2", "flash1", "standard"}) {
    SampleRequest request;
    request.algorithm = algorithm;
    request.pass = PassKind::backward;
    check_run(request, {0.0, 0.04, 0.3, 0.5, 0.62, 0.9, 1.0});
    request.pass = PassKind::both;
    request.problem.mask = Mask::causal();
    check_run(request, {0.2, 0.7});
  }
}

TEST(Panels, DrawScoreFunctionsAndSequences) {
  for (const char* algorithm : {"flash2", "flash1", "standard"}) {
    SampleRequest request;
    request.algorithm = algorithm;
    request.problem.score.soft_cap = 5.0;
    request.problem.score.alibi_slopes = standard_alibi_slopes(1);
    request.problem.score.dropout.probability = 0.25;
    request.problem.key_lengths = {50};
    check_run(request, {0.3, 0.6, 1.0});
    request.pass = PassKind::backward;
    check_run(request, {0.3, 0.6});
    request.problem.key_lengths.clear();
    request.problem.cu_seqlens_q = request.problem.cu_seqlens_k = {0, 10, 30, 64};
    check_run(request, {0.5});
  }
}

TEST(Panels, DrawSplitKeys) {
  SampleRequest request;
  request.algorithm = "split_kv";
  request.problem.N = 16;
  request.problem.N_kv = 128;
  check_run(request, {0.0, 0.3, 0.6, 0.95, 1.0});
}

TEST(Panels, DrawBlockSparseAttention) {
  for (const char* algorithm : {"block_sparse", "block_sparse2"}) {
    SampleRequest request;
    request.algorithm = algorithm;
    request.block_mask = BlockPattern{};
    request.problem.mask = Mask::causal();
    check_run(request, {0.0, 0.5, 1.0});
    request.pass = PassKind::backward;
    check_run(request, {0.5});
  }
}

TEST(Panels, DrawACausalMaskAndRaggedTiles) {
  SampleRequest request;
  request.problem.N = 100;
  request.problem.N_kv = 75;
  request.problem.mask = Mask::causal();
  request.set_tiling({32, 16});
  for (const char* algorithm : {"flash2", "flash1", "standard"}) {
    request.algorithm = algorithm;
    check_run(request, {0.1, 0.55, 0.95});
  }
}

TEST(Panels, DrawAHugeProblemWithoutValues) {
  check_run(test::huge_request(), {0.0, 0.5, 1.0});
}

TEST(Panels, DrawASingleQueryAndASingleKey) {
  SampleRequest request;
  request.problem.N = request.problem.N_kv = 1;
  check_run(request, {0.0, 0.5, 1.0});
}

TEST(Panels, DrawRowsThatSeeNoKey) {
  SampleRequest request;
  request.problem.N_kv = 1;
  request.problem.mask = Mask::causal();
  for (const char* algorithm : {"flash2", "flash1", "standard"}) {
    request.algorithm = algorithm;
    check_run(request, {0.0, 0.4, 1.0});
  }
}

TEST(Panels, DrawATilingThatDoesNotFit) {
  SampleRequest request;
  request.problem.N = request.problem.N_kv = 1024;
  request.problem.d = 256;
  request.set_tiling({512, 512});
  request.allow_overflow = true;
  check_run(request, {0.5});
}

TEST(Panels, DrawTheWholePassTheOtherChartsAndLightThemes) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 0.4);
  ViewState view;
  view.ledger_scope = LedgerScope::whole_pass;
  view.chart = ChartQuantity::time;
  view.theme = ThemeName::light;
  check_all(snapshot, "light", view);
  view.chart = ChartQuantity::memory;
  view.theme = ThemeName::contrast;
  check_all(snapshot, "contrast", view);
}

TEST(Panels, DrawEveryChartInItsPlaceAndEnlarged) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 0.4);
  HeadlessImGui imgui(1600, 900);
  const auto panel = make_charts_panel();
  for (const ChartChoice& chart : all_charts()) {  // outermost: each chart is computed once
    for (const ScreenSize& screen : kScreens) {
      const Scales scales = scales_for(screen.width, screen.height, 1.0f, screen.presenter);
      imgui.resize(screen.width, screen.height, scales.layout, scales.font);
      for (const bool large : {false, true}) {
        if (screen.presenter && !large) continue;    // presenter mode has no place for charts
        if (large && screen.height > 800) continue;  // narrow screens are the difficult ones
        SCOPED_TRACE(
            fmt::format("{} at {}{}", name_of(chart), screen.name, large ? ", large" : ""));
        const Layout layout =
            large ? layout_enlarged(screen.width, screen.height, scales, Slot::charts)
                  : layout_screen(screen.width, screen.height, scales, kEverySlot, false);
        const Rect& rect = layout.panels.at(Slot::charts);
        Surroundings around;
        around.view.chart = chart.quantity;
        around.view.chart_over = chart.over;
        draw_panel(imgui, panel, snapshot, rect, scales, screen.presenter, around);
        EXPECT_GT(imgui.letters().size(), 100U);
        EXPECT_EQ(imgui.letters_outside(rect), 0);
        EXPECT_LE(imgui.letters_on_letters(), 0);
      }
    }
  }
}

TEST(Panels, StayWithinAFewThousandTrianglesAt64x64Tiles) {
  SampleRequest request;
  request.problem.N = request.problem.N_kv = 1024;
  request.set_tiling({16, 16});
  request.problem.mask = Mask::causal();
  const auto run = test::sample_run(request);
  const Snapshot snapshot = test::sample_snapshot(*run, 0.9);
  const Scales scales = scales_for(1600, 900, 1.0f, false);
  const Layout layout = layout_screen(1600, 900, scales, kEverySlot, false);
  HeadlessImGui imgui(1600, 900);
  int vertices = 0;
  for (const auto& panel : make_panels()) {
    Surroundings around;
    draw_panel(imgui, panel, snapshot, layout.panels.at(panel.slot), scales, false, around);
    vertices += imgui.vertex_count();
  }
  EXPECT_LT(vertices, 100'000);
}

TEST(TimelinePanel, ShowsARecordedRunBeneathTheModelsOnEveryScreen) {
  SampleRequest other;
  other.problem.N = other.problem.N_kv = 96;
  SampleRequest without_trace;
  without_trace.algorithm = "standard";
  for (const SampleRequest& request : {SampleRequest{}, other, without_trace}) {
    const auto run = test::sample_run(request);
    const Snapshot snapshot = test::sample_snapshot(*run, 0.5);
    for (const ScreenSize& screen : kScreens) {
      if (screen.presenter) continue;  // presenter mode has no place for the timeline
      SCOPED_TRACE(
          fmt::format("{}, N = {}, {}", request.algorithm, request.problem.N, screen.name));
      const Scales scales = scales_for(screen.width, screen.height, 1.0f, false);
      const Rect rect = layout_screen(screen.width, screen.height, scales, kEverySlot, false)
                            .panels.at(Slot::timeline);
      HeadlessImGui imgui(screen.width, screen.height, scales.layout, scales.font);
      const auto panel = make_timeline_panel();
      Surroundings around;
      const auto draw = [&] { draw_panel(imgui, panel, snapshot, rect, scales, false, around); };
      draw();
      const auto tab = around.rects.find("timeline.tab.SMs");
      ASSERT_TRUE(tab);
      click(imgui, tab->center(), draw);
      imgui.set_mouse({0.0f, 0.0f}, false);
      draw();
      const std::size_t letters = imgui.letters().size();
      EXPECT_GT(letters, 40U);
      EXPECT_EQ(imgui.letters_outside(rect), 0);
      EXPECT_LE(imgui.letters_on_letters(), 0);

      // The trace of another problem appears when its button is pressed, with its full label
      const auto button = around.rects.find("timeline.other");
      EXPECT_EQ(button.has_value(), request.problem.N == 96);
      EXPECT_FALSE(around.rects.find("timeline.other_label"));
      if (!button) continue;
      click(imgui, button->center(), draw);
      imgui.set_mouse({0.0f, 0.0f}, false);
      around.rects.clear();
      draw();
      EXPECT_TRUE(around.rects.find("timeline.other_label"));
      EXPECT_GE(imgui.letters().size(), 100U);  // letters of the label included
      EXPECT_EQ(imgui.letters_outside(rect), 0);
      EXPECT_LE(imgui.letters_on_letters(), 0);
      const auto hide = around.rects.find("timeline.hide");
      ASSERT_TRUE(hide);
      click(imgui, hide->center(), draw);
      imgui.set_mouse({0.0f, 0.0f}, false);
      around.rects.clear();
      draw();
      EXPECT_FALSE(around.rects.find("timeline.other_label"));
    }
  }
}

TEST(ScoresPanel, OnAProjectorKeepsItsLegendInTheLowCardOfARace) {
  SampleRequest request;
  request.problem.mask = Mask::causal();
  const auto run = test::sample_run(request);
  const Scales scales = scales_for(1280, 720, 1.0f, true);
  HeadlessImGui imgui(1280, 720, scales.layout, scales.font);
  Surroundings around;
  const Rect card{{8, 458}, {636, 652}};
  draw_on_projector(imgui, {1280, 720}, "scores", test::sample_snapshot(*run, 0.5), card, around);
}

}  // namespace
}  // namespace attnscope::app
