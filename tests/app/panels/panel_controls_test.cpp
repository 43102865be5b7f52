/// What a click on a panel does: it changes the view or sends a command.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "app/panels/gpu/what_if_sliders.h"
#include "tests/app/panels/panel_helpers.h"

namespace attnscope::app {
namespace {

using test::click;
using test::draw_panel;
using test::HeadlessImGui;
using test::kEverySlot;
using test::point_at;
using test::Pointed;
using test::Surroundings;

TEST(ScoresPanel, AClickChoosesTheQueryRow) {
  const auto run = test::sample_run({});
  Pointed pointed;
  point_at("scores", test::sample_snapshot(*run, 0.5), "scores.grid", {0.5f, 0.805f}, pointed);
  EXPECT_EQ(pointed.around.view.query_row, 51);
  EXPECT_EQ(pointed.commands.size(), 1U);

  // A click beside the grid chooses the row and does nothing else
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

/// A problem with two batch entries of four heads; the second entry has 40 keys.
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

TEST(ChartsPanel, AsksWhereToSaveItsPicture) {
  const auto run = test::sample_run({});
  Pointed pointed;
  point_at("charts", test::sample_snapshot(*run, 0.5), "charts.save", {0.5f, 0.5f}, pointed);
  ASSERT_EQ(pointed.commands.size(), 1U);
  const auto* ask = std::get_if<AskToSave>(&pointed.commands[0]);
  ASSERT_NE(ask, nullptr);
  EXPECT_TRUE(std::holds_alternative<PanelPicture>(ask->file));
}

}  // namespace
}  // namespace attnscope::app
