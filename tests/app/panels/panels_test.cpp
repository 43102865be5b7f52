#include <fmt/core.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "app/panel.h"
#include "app/panels/charts_panel.h"
#include "app/panels/ledger_panel.h"
#include "app/panels/snapshot_view.h"
#include "app/panels/timeline_panel.h"
#include "app/screen/layout.h"
#include "tests/app/panels/headless_imgui.h"
#include "tests/app/panels/sample_snapshot.h"

namespace attnscope::app {
namespace {

using test::HeadlessImGui;
using test::SampleRequest;

/// A screen that panels are drawn for.
struct ScreenSize {
  const char* name;
  float width, height;
  bool presenter;
};

constexpr ScreenSize kScreens[] = {{"1600x900", 1600, 900, false},
                                   {"1280x720", 1280, 720, false},
                                   {"3840x2160", 3840, 2160, false},
                                   {"presenter at 1280x720", 1280, 720, true}};

const std::set<Slot> kEverySlot{Slot::memory, Slot::scores,   Slot::online_softmax, Slot::explain,
                                Slot::ledger, Slot::timeline, Slot::charts};

/// What a panel reads and writes beside the snapshot.
struct Surroundings {
  ViewState view;
  CommandSink commands;
  Measurements measurements;
  NamedRects rects;
};

/// Draws a few frames of a panel, and more until its own background work is done.
void draw_panel(HeadlessImGui& imgui, Panel& panel, const Snapshot& snapshot, const Rect& rect,
                const Scales& scales, bool presenter, Surroundings& around) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int frame = 0; frame < 2 || panel.busy(); ++frame) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << panel.name() << " never gets ready";
    imgui.frame(rect, [&] {
      const PanelContext context{.rect = rect,
                                 .theme = theme(around.view.theme),
                                 .fonts = imgui.fonts(),
                                 .scale = scales.layout,
                                 .commands = around.commands,
                                 .measurements = around.measurements,
                                 .named_rects = around.rects,
                                 .presenter = presenter};
      panel.draw(snapshot, around.view, context);
    });
  }
}

/// Draws every panel at every size and checks that its text stays inside and apart.
void check_all(const Snapshot& snapshot, const std::string& what, const ViewState& view = {}) {
  for (const ScreenSize& screen : kScreens) {
    const Scales scales = scales_for(screen.width, screen.height, 1.0f, screen.presenter);
    const Layout layout =
        layout_screen(screen.width, screen.height, scales, kEverySlot, screen.presenter);
    HeadlessImGui imgui(screen.width, screen.height, scales.layout, scales.font);
    for (const auto& panel : make_panels()) {
      const auto place = layout.panels.find(panel->slot());
      if (place == layout.panels.end()) continue;
      SCOPED_TRACE(fmt::format("{}: {} at {}", what, panel->name(), screen.name));
      Surroundings around;
      around.view = view;
      draw_panel(imgui, *panel, snapshot, place->second, scales, screen.presenter, around);
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

TEST(Panels, HaveNamesOfTheirOwnAndEverySlotShowsOne) {
  std::set<std::string_view> names;
  for (const auto& panel : make_panels()) {
    EXPECT_TRUE(names.insert(panel->name()).second) << panel->name();
  }
  for (const MemoryTab memory : {MemoryTab::memory, MemoryTab::warps}) {
    for (const SoftmaxTab softmax : {SoftmaxTab::row, SoftmaxTab::why_online}) {
      ViewState view;
      view.memory_tab = memory;
      view.softmax_tab = softmax;
      std::set<Slot> slots;
      for (const auto& panel : make_panels()) {
        if (!panel->shown(view)) continue;
        EXPECT_TRUE(slots.insert(panel->slot()).second) << panel->name();
      }
      EXPECT_EQ(slots, kEverySlot);
    }
  }
}

TEST(Panels, DrawAnEmptySnapshot) {
  check_all(Snapshot{}, "empty");
}

TEST(Panels, DrawAnErrorInsteadOfARun) {
  Snapshot snapshot;
  snapshot.error = invalid_request(
      "a tile of 512 x 512 does not fit: it needs 1.5 MB of shared memory, a thread block has 227 "
      "KB; the largest that fits is 128 x 128");
  check_all(snapshot, "error");
}

TEST(Panels, DrawFlash2FromTheFirstStepToTheLast) {
  check_run({}, {0.0, 0.02, 0.2, 0.48, 0.62, 0.97, 1.0});
}

TEST(Panels, DrawFlash1FromTheFirstStepToTheLast) {
  SampleRequest request;
  request.algorithm = "flash1";
  check_run(request, {0.0, 0.3, 0.51, 1.0});
  request.carry = Carry::fp32;
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

TEST(ScoreTiles, LeftOutByTheBlockMaskAreNotCalledHidden) {
  SampleRequest request;
  request.algorithm = "block_sparse";
  request.block_mask = BlockPattern{.kind = BlockPattern::Kind::local_global};
  request.problem.mask = Mask::causal();
  const auto run = test::sample_run(request);
  const Snapshot snapshot = test::sample_snapshot(*run, 1.0);
  EXPECT_EQ(score_tile_state(snapshot, 3, 0), TileState::left_out);
  EXPECT_EQ(score_tile_state(snapshot, 2, 2), TileState::discarded);
  request.algorithm = "flash2";
  request.block_mask.reset();
  const auto dense = test::sample_run(request);
  EXPECT_EQ(score_tile_state(test::sample_snapshot(*dense, 1.0), 0, 3), TileState::skipped);
}

TEST(Panels, DrawACausalMaskAndRaggedTiles) {
  SampleRequest request;
  request.problem.N = 100;
  request.problem.N_kv = 75;
  request.problem.mask = Mask::causal();
  request.tiling = {32, 16};
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
  request.tiling = {512, 512};
  request.allow_overflow = true;
  check_run(request, {0.5});
}

TEST(Panels, DrawTheWholePassTheOtherChartsAndLightThemes) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 0.4);
  ViewState view;
  view.ledger_scope = LedgerScope::whole_pass;
  view.chart = ChartChoice::time;
  view.theme = ThemeName::light;
  check_all(snapshot, "light", view);
  view.chart = ChartChoice::memory;
  view.theme = ThemeName::contrast;
  check_all(snapshot, "contrast", view);
}

TEST(Panels, DrawEveryChartInItsPlaceAndInLarge) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 0.4);
  for (const ScreenSize& screen : kScreens) {
    const Scales scales = scales_for(screen.width, screen.height, 1.0f, screen.presenter);
    HeadlessImGui imgui(screen.width, screen.height, scales.layout, scales.font);
    for (const bool large : {false, true}) {
      if (screen.presenter && !large) continue;    // has no place for charts
      if (large && screen.height > 800) continue;  // the narrow screens are the hard ones
      const Layout layout =
          large ? layout_alone(screen.width, screen.height, scales, Slot::charts)
                : layout_screen(screen.width, screen.height, scales, kEverySlot, false);
      const Rect& rect = layout.panels.at(Slot::charts);
      ChartsPanel panel;
      for (const ChartTopic topic : chart_topics()) {
        for (const ChartChoice chart : charts_of(topic)) {
          SCOPED_TRACE(
              fmt::format("{} at {}{}", to_string(chart), screen.name, large ? ", large" : ""));
          Surroundings around;
          around.view.chart = chart;
          around.view.large_chart = large;
          draw_panel(imgui, panel, snapshot, rect, scales, screen.presenter, around);
          EXPECT_GT(imgui.letters().size(), 100U);
          EXPECT_EQ(imgui.letters_outside(rect), 0);
          EXPECT_LE(imgui.letters_on_letters(), 0);
        }
      }
    }
  }
}

TEST(Panels, StayWithinAFewThousandTrianglesAt64x64Tiles) {
  SampleRequest request;
  request.problem.N = request.problem.N_kv = 1024;
  request.tiling = {16, 16};
  request.problem.mask = Mask::causal();
  const auto run = test::sample_run(request);
  const Snapshot snapshot = test::sample_snapshot(*run, 0.9);
  const Scales scales = scales_for(1600, 900, 1.0f, false);
  const Layout layout = layout_screen(1600, 900, scales, kEverySlot, false);
  HeadlessImGui imgui(1600, 900);
  int vertices = 0;
  for (const auto& panel : make_panels()) {
    Surroundings around;
    draw_panel(imgui, *panel, snapshot, layout.panels.at(panel->slot()), scales, false, around);
    vertices += imgui.vertex_count();
  }
  EXPECT_LT(vertices, 100'000);
}

/// Draws one panel at 1600 x 900 with the mouse where `where` says, pressed in the second frame.
struct Pointed {
  Surroundings around;
  std::vector<Command> commands;
};

void point_at(std::string_view name, const Snapshot& snapshot, const std::string& rect_name,
              ImVec2 share, Pointed& result) {
  const Scales scales = scales_for(1600, 900, 1.0f, false);
  const Layout layout = layout_screen(1600, 900, scales, kEverySlot, false);
  HeadlessImGui imgui(1600, 900);
  for (const auto& panel : make_panels()) {
    if (panel->name() != name) continue;
    const Rect rect = layout.panels.at(panel->slot());
    draw_panel(imgui, *panel, snapshot, rect, scales, false, result.around);
    const auto target = result.around.rects.find(rect_name);
    ASSERT_TRUE(target) << rect_name;
    const ImVec2 at{target->min.x + share.x * target->width(),
                    target->min.y + share.y * target->height()};
    for (const bool pressed : {false, true, false}) {
      imgui.set_mouse(at, pressed);
      draw_panel(imgui, *panel, snapshot, rect, scales, false, result.around);
    }
  }
  result.commands = result.around.commands.take();
}

TEST(ScoresPanel, AClickChoosesTheQueryRow) {
  const auto run = test::sample_run({});
  Pointed pointed;
  point_at("scores", test::sample_snapshot(*run, 0.5), "scores.grid", {0.5f, 0.805f}, pointed);
  EXPECT_EQ(pointed.around.view.query_row, 51);
}

TEST(MemoryPanel, ATabShowsTheWarpsAndAnotherTheMemoryAgain) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 0.5);
  Pointed pointed;
  point_at("memory", snapshot, "memory.tab.WARPS", {0.5f, 0.5f}, pointed);
  EXPECT_EQ(pointed.around.view.memory_tab, MemoryTab::warps);
  point_at("warps", snapshot, "memory.tab.MEMORY", {0.5f, 0.5f}, pointed);
  EXPECT_EQ(pointed.around.view.memory_tab, MemoryTab::memory);
}

TEST(OnlineSoftmaxPanel, ATabShowsWhyItIsOnline) {
  const auto run = test::sample_run({});
  Pointed pointed;
  point_at("online_softmax", test::sample_snapshot(*run, 0.5), "online_softmax.tab.WHY ONLINE",
           {0.5f, 0.5f}, pointed);
  EXPECT_EQ(pointed.around.view.softmax_tab, SoftmaxTab::why_online);
}

TEST(ExplainPanel, ATabShowsTheCudaSource) {
  const auto run = test::sample_run({});
  Pointed pointed;
  point_at("explain", test::sample_snapshot(*run, 0.5), "explain.tab.CUDA source", {0.5f, 0.5f},
           pointed);
  EXPECT_EQ(pointed.around.view.explain_tab, ExplainTab::cuda_source);
}

TEST(LedgerPanel, RunAsksForTheGpuAndCopyForText) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 0.5);
  Pointed pointed;
  pointed.around.measurements.live_gpu = "NVIDIA H200";
  point_at("ledger", snapshot, "ledger.run", {0.5f, 0.5f}, pointed);
  ASSERT_EQ(pointed.commands.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<RunOnGpu>(pointed.commands[0]));
  point_at("ledger", snapshot, "ledger.copy", {0.5f, 0.5f}, pointed);
  ASSERT_EQ(pointed.commands.size(), 1U);
  ASSERT_TRUE(std::holds_alternative<CopyText>(pointed.commands[0]));
  EXPECT_NE(std::get<CopyText>(pointed.commands[0]).text.find("K read,"), std::string::npos);
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
      if (screen.presenter) continue;  // has no place for it
      SCOPED_TRACE(
          fmt::format("{}, N = {}, {}", request.algorithm, request.problem.N, screen.name));
      const Scales scales = scales_for(screen.width, screen.height, 1.0f, false);
      const Rect rect = layout_screen(screen.width, screen.height, scales, kEverySlot, false)
                            .panels.at(Slot::timeline);
      HeadlessImGui imgui(screen.width, screen.height, scales.layout, scales.font);
      TimelinePanel panel;
      Surroundings around;
      draw_panel(imgui, panel, snapshot, rect, scales, false, around);
      const auto tab = around.rects.find("timeline.tab.SMs");
      ASSERT_TRUE(tab);
      for (const bool pressed : {false, true, false}) {
        imgui.set_mouse(tab->center(), pressed);
        draw_panel(imgui, panel, snapshot, rect, scales, false, around);
      }
      imgui.set_mouse({0.0f, 0.0f}, false);
      draw_panel(imgui, panel, snapshot, rect, scales, false, around);
      EXPECT_GT(imgui.letters().size(), 40U);
      EXPECT_EQ(imgui.letters_outside(rect), 0);
      EXPECT_LE(imgui.letters_on_letters(), 0);
    }
  }
}

/// What "copy CSV" gives, after one frame or when the panel is ready.
std::string copied_ledger(HeadlessImGui& imgui, Panel& panel, const Snapshot& snapshot,
                          Surroundings& around) {
  const Scales scales = scales_for(1600, 900, 1.0f, false);
  const Rect rect = layout_screen(1600, 900, scales, kEverySlot, false).panels.at(panel.slot());
  const auto draw_once = [&] {
    imgui.frame(rect, [&] {
      panel.draw(snapshot, around.view,
                 {.rect = rect,
                  .theme = theme(ThemeName::dark),
                  .fonts = imgui.fonts(),
                  .commands = around.commands,
                  .measurements = around.measurements,
                  .named_rects = around.rects});
    });
  };
  draw_once();
  const auto button = around.rects.find("ledger.copy");
  if (!button) return {};
  for (const bool pressed : {false, true, false}) {
    imgui.set_mouse(button->center(), pressed);
    draw_once();
  }
  const std::vector<Command> commands = around.commands.take();
  return commands.empty() ? "" : std::get<CopyText>(commands.back()).text;
}

TEST(LedgerPanel, ComparesInTheBackgroundAndKeepsTheLastLedgerMeanwhile) {
  const auto first = test::sample_run({});
  const auto second = test::sample_run({.algorithm = "flash1"});
  const Snapshot before = test::sample_snapshot(*first, 1.0);
  const Snapshot after = test::sample_snapshot(*second, 1.0);

  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::atomic<int> on_this_thread{0};
  const auto caller = std::this_thread::get_id();
  LedgerPanel panel([&](const RunInfo& run, std::optional<MeasuredRun> seen) {
    if (std::this_thread::get_id() == caller) ++on_this_thread;
    if (run.algorithm->name == "flash1") released.wait();
    return make_ledger_basis(run, std::move(seen));
  });
  HeadlessImGui imgui(1600, 900);
  Surroundings around;
  const Rect rect{{0, 0}, {600, 300}};
  const Scales scales = scales_for(1600, 900, 1.0f, false);
  draw_panel(imgui, panel, before, rect, scales, false, around);
  const std::string old = copied_ledger(imgui, panel, before, around);
  EXPECT_NE(old.find("LSE written"), std::string::npos) << old;

  EXPECT_EQ(copied_ledger(imgui, panel, after, around), old);
  EXPECT_TRUE(panel.busy());
  release.set_value();
  draw_panel(imgui, panel, after, rect, scales, false, around);
  EXPECT_NE(copied_ledger(imgui, panel, after, around).find("l, m written"), std::string::npos);
  EXPECT_EQ(on_this_thread, 0);
}

TEST(ChartsPanel, ATabShowsAnotherTopicAndCopiesItsValues) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 0.5);
  Pointed pointed;
  point_at("charts", snapshot, "charts.tab.theorems", {0.5f, 0.5f}, pointed);
  EXPECT_EQ(pointed.around.view.chart, ChartChoice::io_seq_len);
  point_at("charts", snapshot, "charts.tab.density", {0.5f, 0.5f}, pointed);
  EXPECT_EQ(pointed.around.view.chart, ChartChoice::io_density);
  point_at("charts", snapshot, "charts.copy", {0.5f, 0.5f}, pointed);
  ASSERT_EQ(pointed.commands.size(), 1U);
  EXPECT_NE(std::get<CopyText>(pointed.commands[0]).text.find("block_sparse"), std::string::npos);
  point_at("charts", snapshot, "charts.large", {0.5f, 0.5f}, pointed);
  EXPECT_TRUE(pointed.around.view.large_chart);
}

TEST(ChartsPanel, LongWorkShowsHowFarItIsAndIsGivenUp) {
  const auto sample = test::sample_run({});
  Snapshot snapshot = test::sample_snapshot(*sample, 0.5);
  auto large = std::make_shared<RunInfo>(*snapshot.run);
  large->problem.N = large->problem.N_kv = 8192;
  snapshot.run = large;
  ChartsPanel panel;
  HeadlessImGui imgui(1600, 900);
  Surroundings around;
  around.view.chart = ChartChoice::fusion;
  const Rect rect{{0, 0}, {700, 300}};
  const auto draw_once = [&] {
    around.rects.clear();
    imgui.frame(rect, [&] {
      panel.draw(snapshot, around.view,
                 {.rect = rect,
                  .theme = theme(ThemeName::dark),
                  .fonts = imgui.fonts(),
                  .commands = around.commands,
                  .measurements = around.measurements,
                  .named_rects = around.rects});
    });
  };
  const auto press = [&] {
    const ImVec2 at = around.rects.find("charts.cancel")->center();
    for (const bool pressed : {false, true, false}) {
      imgui.set_mouse(at, pressed);
      draw_once();
    }
  };
  do {
    draw_once();
    ASSERT_TRUE(panel.busy()) << "the work was done before it could be given up";
  } while (!around.rects.find("charts.cancel"));
  press();
  while (panel.busy()) draw_once();
  for (int frame = 0; frame < 3; ++frame) draw_once();
  EXPECT_FALSE(panel.busy());
  ASSERT_TRUE(around.rects.find("charts.cancel"));  // which is "model again" now
  press();
  draw_once();
  EXPECT_TRUE(panel.busy());
}

TEST(ChartsPanel, SavesItsPicture) {
  const auto run = test::sample_run({});
  Pointed pointed;
  point_at("charts", test::sample_snapshot(*run, 0.5), "charts.save", {0.5f, 0.5f}, pointed);
  ASSERT_EQ(pointed.commands.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<SavePicture>(pointed.commands[0]));
}

}  // namespace
}  // namespace attnscope::app
