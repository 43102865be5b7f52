/// The thing under the mouse: a click moves the playhead, and every panel marks what belongs to it.
#include "tests/app/panels/panel_helpers.h"

namespace attnscope::app {
namespace {

using test::click;
using test::draw_frame;
using test::draw_panel;
using test::HeadlessImGui;
using test::kEverySlot;
using test::Surroundings;

/// The panels of a screen of 1600 x 900 on one snapshot.
class PointedTest : public testing::Test {
 protected:
  const Panel& panel(std::string_view name) const {
    return *std::ranges::find(panels_, name, &Panel::name);
  }
  void draw(const Panel& panel) {
    draw_panel(imgui_, panel, snapshot_, layout_.panels.at(panel.slot), scales_, false, around_);
  }
  /// Draws a panel and points at a share of the named rectangle.
  void point_at(std::string_view name, std::string_view rect_name, ImVec2 share) {
    draw(panel(name));
    const auto rect = around_.rects.find(rect_name);
    ASSERT_TRUE(rect) << rect_name;
    at_ = {rect->min.x + share.x * rect->width(), rect->min.y + share.y * rect->height()};
    imgui_.set_mouse(at_);
    draw(panel(name));
  }
  /// Clicks there; returns the command that was sent.
  SeekThing click_there(std::string_view name, bool with_shift = false) {
    ImGui::GetIO().KeyShift = with_shift;
    click(imgui_, at_, [&] { draw(panel(name)); });
    const std::vector<Command> commands = around_.commands.take();
    if (commands.size() != 1 || !std::holds_alternative<SeekThing>(commands[0])) {
      ADD_FAILURE() << commands.size() << " commands";
      return {};
    }
    return std::get<SeekThing>(commands[0]);
  }
  /// Turns the wheel there.
  void turn_wheel(std::string_view name, float notches, bool with_shift = false,
                  bool with_ctrl = false) {
    ImGui::GetIO().KeyShift = with_shift;
    ImGui::GetIO().KeyCtrl = with_ctrl;
    ImGui::GetIO().MouseWheel = notches;
    draw(panel(name));
    ImGui::GetIO().KeyShift = ImGui::GetIO().KeyCtrl = false;
    draw(panel(name));
  }
  /// A mark that the panel draws for the thing under the mouse.
  std::optional<Rect> mark_in(std::string_view name, std::string_view rect_name) {
    around_.view.pointed = around_.view.now_pointed;
    around_.rects.clear();
    draw(panel(name));
    return around_.rects.find(rect_name);
  }

  const std::unique_ptr<SteppedRun> run_ = test::sample_run({});
  Snapshot snapshot_ = test::sample_snapshot(*run_, 0.4);
  const Panels panels_ = make_panels();
  const Scales scales_ = scales_for(1600, 900, 1.0f, false);
  const Layout layout_ = layout_screen(1600, 900, scales_, kEverySlot, false);
  HeadlessImGui imgui_{1600, 900};
  Surroundings around_;
  ImVec2 at_;
};

TEST_F(PointedTest, ATileOfTheScores) {
  point_at("scores", "scores.grid", {0.55f, 0.3f});
  const Thing tile = ScoreTile{{{16, 32}, {32, 48}}};
  EXPECT_EQ(around_.view.now_pointed, tile);
  const SeekThing seek = click_there("scores");
  EXPECT_EQ(seek.thing, tile);
  EXPECT_EQ(seek.run, snapshot_.run);
  EXPECT_EQ(seek.direction, SeekDirection::later);
  EXPECT_EQ(click_there("scores", /*with_shift=*/true).direction, SeekDirection::earlier);
  EXPECT_TRUE(mark_in("memory", "memory.pointed.K"));
  EXPECT_TRUE(mark_in("timeline", "timeline.pointed"));
}

TEST_F(PointedTest, ATileOfATensorInGlobalMemory) {
  point_at("memory", "memory.tensor.K", {0.5f, 0.6f});
  const Thing tile = MemoryTile{Tensor::K, {{32, 48}, {0, 16}}};
  EXPECT_EQ(around_.view.now_pointed, tile);
  EXPECT_EQ(click_there("memory").thing, tile);
  EXPECT_TRUE(mark_in("memory", "memory.pointed.K"));
  EXPECT_FALSE(mark_in("memory", "memory.pointed.V"));

  // A whole column of the scores
  const auto mark = mark_in("scores", "scores.pointed");
  const auto grid = around_.rects.find("scores.grid");
  ASSERT_TRUE(mark && grid);
  EXPECT_NEAR(mark->height(), grid->height(), 1.0f);
  EXPECT_NEAR(mark->width(), grid->width() / 4.0f, 1.0f);
}

TEST_F(PointedTest, ATileInASlotOfSram) {
  snapshot_ = run_->at(snapshot_.run->tile_steps[6] + 1);  // S of tile (1, 2)
  point_at("memory", "memory.slot.K", {0.5f, 0.6f});
  const Thing tile = ChipTile{Tensor::K, {{32, 48}, {0, 16}}};
  EXPECT_EQ(around_.view.now_pointed, tile);
  EXPECT_EQ(click_there("memory").thing, tile);
  EXPECT_EQ(click_there("memory", /*with_shift=*/true).direction, SeekDirection::earlier);
  EXPECT_TRUE(mark_in("memory", "memory.pointed.K"));
  EXPECT_TRUE(mark_in("timeline", "timeline.pointed"));

  // Scores on chip belong to the tile of the grid; an empty slot has no tile
  point_at("memory", "memory.slot.S", {0.5f, 0.5f});
  EXPECT_EQ(around_.view.now_pointed, Thing(ScoreTile{{{16, 32}, {32, 48}}}));
  around_.view.now_pointed.reset();
  snapshot_ = run_->at(-1);
  point_at("memory", "memory.slot.K", {0.5f, 0.5f});
  EXPECT_FALSE(around_.view.now_pointed);
}

TEST_F(PointedTest, ATileThatIsNeverStoredIsTheTileOfScores) {
  point_at("memory", "memory.tensor.S", {0.9f, 0.1f});
  EXPECT_EQ(around_.view.now_pointed, Thing(ScoreTile{{{0, 16}, {48, 64}}}));
}

TEST_F(PointedTest, ALineOfPseudoCode) {
  const auto& code = snapshot_.run->pass.launches[0].pseudo_code;
  const auto loads_K = std::ranges::find_if(
      code, [](const PseudoLine& line) { return line.text.starts_with("load K"); });
  const auto line = static_cast<std::size_t>(loads_K - code.begin());
  point_at("explain", "explain.line." + std::to_string(line), {0.5f, 0.5f});
  const SeekThing seek = click_there("explain");
  ASSERT_TRUE(std::holds_alternative<CodeLine>(seek.thing));
  EXPECT_EQ(std::get<CodeLine>(seek.thing).line, line);
  EXPECT_TRUE(mark_in("timeline", "timeline.pointed"));
  EXPECT_TRUE(mark_in("memory", "memory.pointed.K"));
  EXPECT_FALSE(mark_in("memory", "memory.pointed.Q"));
}

TEST_F(PointedTest, ALoopHasNoOperationToSeek) {
  const auto& code = snapshot_.run->pass.launches[0].pseudo_code;
  const auto loop = std::ranges::find(code, Step::inner_loop, &PseudoLine::step);
  ASSERT_NE(loop, code.end());
  point_at("explain", "explain.line." + std::to_string(loop - code.begin()), {0.5f, 0.5f});
  EXPECT_FALSE(around_.view.now_pointed);
}

TEST_F(PointedTest, ACellOfTheTimeline) {
  point_at("timeline", "timeline.lane.1", {0.5f, 0.5f});
  ASSERT_TRUE(around_.view.now_pointed);
  ASSERT_TRUE(std::holds_alternative<Operation>(*around_.view.now_pointed));
  const Thing cell = *around_.view.now_pointed;
  EXPECT_EQ(click_there("timeline").thing, cell);
  EXPECT_TRUE(mark_in("timeline", "timeline.pointed"));
  EXPECT_TRUE(mark_in("scores", "scores.pointed"));
}

TEST_F(PointedTest, AnOperationOfARunThatIsNoLongerShown) {
  // An operation of a launch that this run does not have
  around_.view.now_pointed = Operation{.step = 3, .launch = 2, .op = {}};
  around_.view.pointed_run = std::make_shared<const RunInfo>(*snapshot_.run);
  EXPECT_FALSE(mark_in("scores", "scores.pointed"));
  EXPECT_FALSE(mark_in("memory", "memory.pointed.K"));
}

TEST_F(PointedTest, TheWheelZoomsTheScoresAboutTheMouse) {
  point_at("scores", "scores.grid", {0.55f, 0.3f});
  const Thing tile = ScoreTile{{{16, 32}, {32, 48}}};
  turn_wheel("scores", 6.0f);
  EXPECT_EQ(around_.view.now_pointed, tile);
  around_.view.pointed = tile;
  draw(panel("scores"));
  const auto grid = around_.rects.find("scores.grid");
  const auto mark = around_.rects.find("scores.pointed");
  ASSERT_TRUE(grid && mark);
  EXPECT_NEAR(mark->width() / grid->width(), 0.25f / std::pow(0.8f, 6.0f), 0.01f);

  // The wheel moves to the columns on the right, to the rows below, and back to the whole grid
  turn_wheel("scores", -6.0f, /*with_shift=*/true);
  EXPECT_EQ(around_.view.now_pointed, Thing(ScoreTile{{{16, 32}, {48, 64}}}));
  turn_wheel("scores", -8.0f, /*with_shift=*/false, /*with_ctrl=*/true);
  EXPECT_EQ(around_.view.now_pointed, Thing(ScoreTile{{{32, 48}, {48, 64}}}));
  turn_wheel("scores", -40.0f);
  EXPECT_EQ(around_.view.now_pointed, tile);
}

TEST_F(PointedTest, AScoreKeepsItsColourWhenItIsZoomed) {
  snapshot_ = run_->at(run_->info()->step_count - 1);
  for (const ImVec2 share : {ImVec2{0.555f, 0.305f}, ImVec2{0.195f, 0.82f}}) {
    point_at("scores", "scores.grid", share);
    const ImU32 color = imgui_.color_at(at_);
    turn_wheel("scores", 8.0f);
    EXPECT_EQ(imgui_.color_at(at_), color);
    turn_wheel("scores", -40.0f);
    EXPECT_EQ(imgui_.color_at(at_), color);
  }
}

TEST_F(PointedTest, ZoomedScoresShowTheValuesOfATileOfAnySize) {
  test::SampleRequest request;
  request.problem = {.N = 256, .N_kv = 256, .d = 16, .dtype = DType::fp16};
  request.set_tiling({128, 128});
  const auto run = test::sample_run(request);
  for (const double fraction : {0.3, 1.0}) {
    snapshot_ = test::sample_snapshot(*run, fraction);
    point_at("scores", "scores.grid", {0.2f, 0.3f});
    turn_wheel("scores", -40.0f);
    around_.rects.clear();
    draw(panel("scores"));
    EXPECT_FALSE(around_.rects.find("scores.number"));
    turn_wheel("scores", 30.0f);
    EXPECT_TRUE(around_.rects.find("scores.number")) << fraction;
  }
}

TEST_F(PointedTest, ZoomedScoresFollowThePlayhead) {
  point_at("scores", "scores.grid", {0.1f, 0.1f});
  turn_wheel("scores", 8.0f);
  snapshot_ = run_->at(run_->info()->step_count - 6);
  draw(panel("scores"));
  const auto grid = around_.rects.find("scores.grid");
  const auto mark = around_.rects.find("scores.current_tile");
  ASSERT_TRUE(grid && mark);
  EXPECT_LT(mark->min.x, grid->max.x);
  EXPECT_LT(mark->min.y, grid->max.y);
}

TEST_F(PointedTest, TheWheelZoomsTheTimelineAndScrollsItsLanes) {
  const auto huge = test::sample_run(test::huge_request());
  snapshot_ = test::sample_snapshot(*huge, 0.3);
  point_at("timeline", "timeline.lane.76", {0.5f, 0.5f});
  const auto width = [&] {
    around_.rects.clear();
    around_.view.pointed = around_.view.now_pointed;
    draw(panel("timeline"));
    return around_.rects.find("timeline.pointed")->width();
  };
  const Thing cell = *around_.view.now_pointed;
  const float before = width();
  turn_wheel("timeline", 5.0f);
  EXPECT_EQ(around_.view.now_pointed, cell);
  EXPECT_GT(width(), 2.0f * before);
  turn_wheel("timeline", -1.0f, /*with_shift=*/true);
  EXPECT_GT(std::get<Operation>(*around_.view.now_pointed).step, std::get<Operation>(cell).step);
  around_.rects.clear();
  turn_wheel("timeline", -1.0f, /*with_shift=*/false, /*with_ctrl=*/true);
  EXPECT_TRUE(around_.rects.find("timeline.lane.82"));
}

TEST_F(PointedTest, TheTimelineKeepsItsZoomAsCausalLanesBecomeLonger) {
  test::SampleRequest request;
  request.problem = {.N = 512, .N_kv = 512, .d = 16, .dtype = DType::fp16, .mask = Mask::causal()};
  const auto causal = test::sample_run(request);
  const auto width_at = [&](Index step) {
    snapshot_ = causal->at(step);
    around_.view.pointed = Operation{step, 0, snapshot_.op};
    around_.rects.clear();
    draw(panel("timeline"));
    return around_.rects.find("timeline.pointed")->width();
  };
  const std::vector<StepSpan>& lanes = causal->info()->outer;
  const float before = width_at(lanes[2].begin + 5);
  const auto lane = around_.rects.find("timeline.lane.2");
  ASSERT_TRUE(lane);
  at_ = lane->center();
  imgui_.set_mouse(at_);
  turn_wheel("timeline", 6.0f);
  const float zoomed = width_at(lanes[2].begin + 6);
  EXPECT_GT(zoomed, 2.0f * before);
  EXPECT_NEAR(width_at(lanes[20].begin + 40), zoomed, 2.0f);
  EXPECT_NEAR(width_at(lanes[2].begin + 5), zoomed, 2.0f);
}

TEST_F(PointedTest, AWheelThatTurnsSidewaysLeavesTheLanes) {
  const auto huge = test::sample_run(test::huge_request());
  snapshot_ = test::sample_snapshot(*huge, 0.3);
  point_at("timeline", "timeline.lane.76", {0.5f, 0.5f});
  around_.rects.clear();
  draw(panel("timeline"));
  const auto first = around_.rects.all().lower_bound("timeline.lane.")->first;
  ImGui::GetIO().MouseWheelH = -2.0f;
  turn_wheel("timeline", 0.0f, /*with_shift=*/false, /*with_ctrl=*/true);
  around_.rects.clear();
  draw(panel("timeline"));
  EXPECT_EQ(around_.rects.all().lower_bound("timeline.lane.")->first, first);
}

TEST_F(PointedTest, TheCurrentTileIsMarkedHoweverSmallItIs) {
  const auto huge = test::sample_run(test::huge_request());
  snapshot_ = test::sample_snapshot(*huge, 0.3);
  draw(panel("scores"));
  const auto mark = around_.rects.find("scores.current_tile");
  const auto grid = around_.rects.find("scores.grid");
  ASSERT_TRUE(mark && grid);
  EXPECT_LT(grid->width() / 256.0f, 2.0f);
  EXPECT_GE(mark->width(), 9.0f);
  EXPECT_NEAR((mark->center().y - grid->min.y) / grid->height(),
              (static_cast<float>(snapshot_.i) + 0.5f) / 256.0f, 0.01f);
}

}  // namespace
}  // namespace attnscope::app
