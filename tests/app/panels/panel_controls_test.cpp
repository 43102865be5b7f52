/// What a click on a panel does: the view changes, or a command is asked for.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/panels/gpu/what_if_sliders.h"
#include "app/panels/scores/scores_frame.h"
#include "sim/resolve.h"
#include "sim/studies/break_effect.h"
#include "tests/app/panels/panel_helpers.h"

namespace attnscope::app {
namespace {

using test::click;
using test::draw_panel;
using test::HeadlessImGui;
using test::kEverySlot;
using test::Surroundings;

/// What a click left behind.
struct Pointed {
  Surroundings around;
  std::vector<Command> commands;
  bool with_shift = false;  ///< held during the click
};

/// Draws one panel at 1600 x 900 and clicks `share` of the way across the named rectangle.
void point_at(std::string_view name, const Snapshot& snapshot, const std::string& rect_name,
              ImVec2 share, Pointed& result) {
  const Scales scales = scales_for(1600, 900, 1.0f, false);
  const Layout layout = layout_screen(1600, 900, scales, kEverySlot, false);
  HeadlessImGui imgui(1600, 900);
  ImGui::GetIO().KeyShift = result.with_shift;
  for (const auto& panel : make_panels()) {
    if (panel.name != name) continue;
    const Rect rect = layout.panels.at(panel.slot);
    draw_panel(imgui, panel, snapshot, rect, scales, false, result.around);
    const auto target = result.around.rects.find(rect_name);
    ASSERT_TRUE(target) << rect_name;
    const ImVec2 at{target->min.x + share.x * target->width(),
                    target->min.y + share.y * target->height()};
    click(imgui, at,
          [&] { draw_panel(imgui, panel, snapshot, rect, scales, false, result.around); });
  }
  result.commands = result.around.commands.take();
}

TEST(ScoresPanel, AClickChoosesTheQueryRow) {
  const auto run = test::sample_run({});
  Pointed pointed;
  point_at("scores", test::sample_snapshot(*run, 0.5), "scores.grid", {0.5f, 0.805f}, pointed);
  EXPECT_EQ(pointed.around.view.query_row, 51);
  EXPECT_EQ(pointed.commands.size(), 1U);

  // Beside the grid it does nothing else
  point_at("scores", test::sample_snapshot(*run, 0.5), "scores.grid", {-0.03f, 0.305f}, pointed);
  EXPECT_EQ(pointed.around.view.query_row, 19);
  EXPECT_TRUE(pointed.commands.empty());
}

TEST(ScoresPanel, MarksTheRowThatTheUserChoseWhereverThePlayheadIs) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 0.4, 37);
  ASSERT_EQ(snapshot.i, 1);  // the row is in tile 2
  for (const SoftmaxTab tab : {SoftmaxTab::row, SoftmaxTab::why_online}) {
    Pointed pointed;
    pointed.around.view.query_row = 37;
    pointed.around.view.softmax_tab = tab;
    point_at("scores", snapshot, "scores.grid", {-0.2f, -0.02f}, pointed);
    const auto grid = pointed.around.rects.find("scores.grid");
    const auto marked = pointed.around.rects.find("scores.query_row");
    ASSERT_TRUE(grid && marked);
    EXPECT_NEAR((marked->min.y - grid->min.y) / grid->height(), 37 / 64.0, 1e-3);
  }
}

TEST(ScoresPanel, ATabChoosesTheTensor) {
  const auto run = test::sample_run({});
  Pointed pointed;
  point_at("scores", test::sample_snapshot(*run, 0.5), "scores.tab.P", {0.5f, 0.5f}, pointed);
  EXPECT_EQ(pointed.around.view.scores_tab, ScoresTab::P);
}

/// Two batch entries of four heads; the second entry has 40 keys.
test::SampleRequest many_heads() {
  test::SampleRequest request;
  request.problem.batch = 2;
  request.problem.heads = 4;
  request.problem.kv_heads = 2;
  request.problem.key_lengths = {64, 40};
  return request;
}

TEST(HeadStrip, AClickChoosesAHeadAndABatchEntry) {
  const test::SampleRequest request = many_heads();
  const auto run = test::sample_run(request);
  const Snapshot snapshot = test::sample_snapshot(*run, 0.5);
  Pointed pointed;
  pointed.around.view.choice = request;
  point_at("scores", snapshot, "scores.heads", {0.6f, 0.75f}, pointed);
  EXPECT_EQ(pointed.around.view.head, 4 + 2);
  point_at("scores", snapshot, "scores.head.next", {0.5f, 0.5f}, pointed);
  EXPECT_EQ(pointed.around.view.head, 4 + 3);
  point_at("scores", snapshot, "scores.head.next", {0.5f, 0.5f}, pointed);
  EXPECT_EQ(pointed.around.view.head, 4) << "goes around within the batch entry";
  point_at("scores", snapshot, "scores.entry.previous", {0.5f, 0.5f}, pointed);
  EXPECT_EQ(pointed.around.view.head, 0);
}

TEST(HeadStrip, IsNotThereForASingleHead) {
  const auto run = test::sample_run({});
  Pointed pointed;
  point_at("scores", test::sample_snapshot(*run, 0.5), "scores.grid", {0.5f, 0.5f}, pointed);
  EXPECT_FALSE(pointed.around.rects.find("scores.heads"));
  EXPECT_FALSE(pointed.around.rects.find("scores.head.next"));
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

/// The choice that the panel "GPU" requests when its slider is pressed at `place` of its track.
std::optional<WhatIf> dragged(const Snapshot& snapshot, std::string_view key, float place) {
  Pointed pointed;
  pointed.around.view.memory_tab = MemoryTab::gpu;
  point_at("gpu", snapshot, fmt::format("gpu.slider.{}", key), {place, 0.5f}, pointed);
  for (const Command& command : pointed.commands) {
    if (const auto* const choose = std::get_if<Choose>(&command)) return choose->choice.what_if;
  }
  return std::nullopt;
}

TEST(GpuPanel, SlidersRequestMultiplesOfTheGpusOwnNumbers) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 0.5);
  EXPECT_EQ(dragged(snapshot, "exp_rate", 0.75f), (WhatIf{.exp_rate = 2.0}));
  EXPECT_EQ(dragged(snapshot, "matrix_rate", 0.25f), (WhatIf{.matrix_rate = 0.5}));
  EXPECT_EQ(dragged(snapshot, "sm_count", 0.75f), (WhatIf{.sm_count = 264}));
  EXPECT_EQ(dragged(snapshot, "l2_bytes", 0.25f), (WhatIf{.l2_bytes = 31457280}));
  EXPECT_EQ(dragged(snapshot, "exp_rate", 0.5f), std::nullopt) << "the GPU's own already";
}

TEST(GpuPanel, SlidersSetAndUnsetEveryField) {
  const GpuDescription own = load_gpu("h200").value();
  for (const RunField& field : what_if_fields()) {
    RunSpec spec;
    set_what_if(spec, field, 0.5, own);
    EXPECT_DOUBLE_EQ(what_if_multiple(spec, field, own), 0.5) << field.key;
    set_what_if(spec, field, 1.0, own);
    EXPECT_EQ(spec, RunSpec{}) << field.key;
  }
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

TEST(ChartsPanel, TabsChooseTheQuantityAndTheAxis) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 0.5);
  Pointed pointed;
  point_at("charts", snapshot, "charts.tab.theorems", {0.5f, 0.5f}, pointed);
  EXPECT_EQ(shown_chart(pointed.around.view), (ChartChoice{ChartQuantity::theorems}));
  point_at("charts", snapshot, "charts.tab.density", {0.5f, 0.5f}, pointed);
  EXPECT_EQ(shown_chart(pointed.around.view),
            (ChartChoice{ChartQuantity::theorems, ChartAxis::density}));
  point_at("charts", snapshot, "charts.copy", {0.5f, 0.5f}, pointed);
  ASSERT_EQ(pointed.commands.size(), 1U);
  EXPECT_NE(std::get<CopyText>(pointed.commands[0]).text.find("block_sparse"), std::string::npos);
  point_at("charts", snapshot, "charts.large", {0.5f, 0.5f}, pointed);
  EXPECT_EQ(pointed.around.view.enlarged, Slot::charts);
}

TEST(ChartsPanel, NoLegendIsCutOnASmallScreen) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 0.5);
  const Scales scales = scales_for(1280, 720, 1.0f, false);
  const Layout layout = layout_screen(1280, 720, scales, kEverySlot, false);
  const Layout alone = layout_enlarged(1280, 720, scales, Slot::charts);
  HeadlessImGui imgui(1280, 720, scales.layout, scales.font);
  std::vector<std::string> problems;
  const std::vector<MeasuredRun> recorded = load_shipped_recordings(problems);
  for (const auto& panel : make_panels()) {
    if (panel.name != "charts") continue;
    for (const ChartChoice& chart : all_charts()) {
      for (const bool large : {false, true}) {
        Surroundings around;
        around.view.chart = chart.quantity;
        around.view.chart_over = chart.over;
        around.measurements.recorded = recorded;
        const Rect rect = (large ? alone : layout).panels.at(Slot::charts);
        draw_panel(imgui, panel, snapshot, rect, scales, false, around);
        around.rects.clear();  // the frames before the chart was ready had no legend
        test::draw_frame(imgui, panel, snapshot, rect, scales, false, around);
        EXPECT_TRUE(around.rects.find("charts.legend")) << name_of(chart);
        EXPECT_TRUE(around.rects.find("charts.legend.whole"))
            << name_of(chart) << (large ? ", large" : "");
      }
    }
  }
}

TEST(ChartsPanel, SavesItsPicture) {
  const auto run = test::sample_run({});
  Pointed pointed;
  point_at("charts", test::sample_snapshot(*run, 0.5), "charts.save", {0.5f, 0.5f}, pointed);
  ASSERT_EQ(pointed.commands.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<SavePicture>(pointed.commands[0]));
}

/// A step of a run that forgets to rescale O, with what that changes.
Snapshot broken_snapshot() {
  test::SampleRequest request;
  request.variant.broken = parse_run_break("drop:forward:rescale:O").value();
  const GpuDescription gpu = gpu_of(request).value();
  const SteppedRequest stepped{.run = resolve(request, gpu).value(), .gpu = gpu};
  Snapshot snapshot = SteppedRun::create(stepped).value()->at(30);
  snapshot.effect = std::make_shared<const BreakEffect>(break_effect(stepped).value());
  return snapshot;
}

TEST(ExplainPanel, ABrokenRunCanBeRestoredAndItsFirstWrongStepsShown) {
  const Snapshot snapshot = broken_snapshot();
  Pointed pointed;
  pointed.around.view.choice = snapshot.run->resolved().asked;
  point_at("explain", snapshot, "broken.operation", {0.5f, 0.5f}, pointed);
  ASSERT_EQ(pointed.commands.size(), 1U);
  EXPECT_EQ(std::get<SeekTo>(pointed.commands[0]).step, snapshot.effect->first_difference->step);
  point_at("explain", snapshot, "broken.store", {0.5f, 0.5f}, pointed);
  ASSERT_EQ(pointed.commands.size(), 1U);
  EXPECT_EQ(std::get<SeekTo>(pointed.commands[0]).step, snapshot.effect->first_wrong_store->step);
  point_at("explain", snapshot, "broken.restore", {0.5f, 0.5f}, pointed);
  ASSERT_EQ(pointed.commands.size(), 1U);
  EXPECT_FALSE(std::get<Choose>(pointed.commands[0]).choice.variant.broken.any());
}

TEST(ExplainPanel, TheMenuOfALineDropsOneOfItsOperations) {
  const auto run = test::sample_run({});
  const Snapshot snapshot = test::sample_snapshot(*run, 0.5);
  const Scales scales = scales_for(1600, 900, 1.0f, false);
  const Rect rect = layout_screen(1600, 900, scales, kEverySlot, false).panels.at(Slot::explain);
  HeadlessImGui imgui(1600, 900);
  Surroundings around;
  around.view.choice = snapshot.run->resolved().asked;
  const Panels panels = make_panels();
  const auto panel = std::ranges::find(panels, "explain", &Panel::name);
  const auto draw = [&] { draw_panel(imgui, *panel, snapshot, rect, scales, false, around); };
  const auto right_click = [&](ImVec2 at) {
    imgui.set_mouse(at, false);
    for (const bool down : {false, true, false}) {
      ImGui::GetIO().MouseDown[ImGuiMouseButton_Right] = down;
      draw();
    }
    around.commands.take();
  };
  const auto names = [&](const std::string& chosen) {
    std::vector<std::string> offered;
    panel->draw_menu_items(around.view, around.commands, [&](const std::string& name, const auto&) {
      offered.push_back(name);
      return name == chosen;
    });
    return offered;
  };
  draw();
  right_click(around.rects.find("explain.line.10")->center());  // O_i = alpha O_i + P V_j
  imgui.frame(rect, [&] {
    EXPECT_THAT(names("break.rescale:O"),
                testing::UnorderedElementsAre("break.rescale:O", "break.accumulate:O"));
  });
  const auto commands = around.commands.take();
  ASSERT_EQ(commands.size(), 1U);
  EXPECT_EQ(to_string(std::get<Choose>(commands[0]).choice.variant.broken),
            "drop:forward:rescale:O");

  // A loop has nothing to drop, and a quiz does not show what is dropped
  const auto loop = around.rects.find("explain.line.3");  // for each column tile j
  ASSERT_TRUE(loop);
  right_click(loop->center());
  imgui.frame(rect, [&] { EXPECT_THAT(names(""), testing::ElementsAre()); });
  around.view.hides_break = true;
  right_click(around.rects.find("explain.line.10")->center());
  imgui.frame(rect, [&] { EXPECT_THAT(names(""), testing::ElementsAre()); });
}

TEST(ScoresPanel, MarksTheRowTilesThatAreWrong) {
  const auto marked = [](const Snapshot& snapshot) {
    Pointed pointed;
    point_at("scores", snapshot, "scores.grid", {0.5f, 0.5f}, pointed);
    return pointed.around.rects.find("scores.wrong.O.0").has_value();
  };
  Snapshot snapshot = broken_snapshot();
  EXPECT_TRUE(marked(snapshot));
  snapshot.step = snapshot.effect->first_difference->step - 12;
  EXPECT_FALSE(marked(snapshot)) << "not wrong yet";
}

TEST(ScoresPanel, MarksNoWrongTileWhileALessonAsks) {
  Pointed pointed;
  pointed.around.view.hides_effect = true;
  point_at("scores", broken_snapshot(), "scores.grid", {0.5f, 0.5f}, pointed);
  EXPECT_FALSE(pointed.around.rects.find("scores.wrong.O.0"));
}

TEST(ExplainPanel, DoesNotSayWhatABreakChangesWhileALessonAsks) {
  const Snapshot snapshot = broken_snapshot();
  for (const bool hides : {false, true}) {
    Pointed pointed;
    pointed.around.view.hides_effect = hides;
    point_at("explain", snapshot, "broken.restore", {0.5f, 0.5f}, pointed);
    EXPECT_EQ(pointed.around.rects.find("broken.operation").has_value(), !hides);
  }
}

TEST(WrongTiles, AreComputedOnceForAStep) {
  Snapshot snapshot = broken_snapshot();
  WrongTiles wrong;
  wrong.update(snapshot);
  ASSERT_FALSE(wrong.of(Tensor::O).empty());
  EXPECT_GT(wrong.of(Tensor::O)[0], 0.0f);
  const float* const before = wrong.of(Tensor::O).data();
  wrong.update(snapshot);
  EXPECT_EQ(wrong.of(Tensor::O).data(), before);

  snapshot.step = snapshot.effect->first_difference->step - 12;
  wrong.update(snapshot);
  EXPECT_EQ(wrong.of(Tensor::O)[0], 0.0f);
  snapshot.effect = nullptr;
  wrong.update(snapshot);
  EXPECT_TRUE(wrong.of(Tensor::O).empty());
}

}  // namespace
}  // namespace attnscope::app
