/// What the panels show for a run that is broken on purpose.
#include <gmock/gmock.h>

#include <algorithm>

#include "app/panels/explain/broken_code.h"
#include "app/panels/scores/scores_frame.h"
#include "sim/resolve.h"
#include "sim/studies/break_effect.h"
#include "sim/tiling_rules.h"
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

/// A step of a run that forgets to rescale O, with the effect of that break.
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

/// The lines of a launch that `broken` changes, as the panel shows them: struck-out text in "[]",
/// its replacement in "{}".
std::vector<std::string> marked_lines(const RunSpec& request, std::string_view broken,
                                      std::size_t launch = 0) {
  RunSpec spec = request;
  spec.variant.broken = parse_run_break(broken).value();
  const GpuDescription gpu = gpu_of(spec).value();
  const ResolvedRun run = resolve(spec, gpu).value();
  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_head_pass(*find_algorithm(spec.algorithm), spec.pass, options);
  const auto operations = operations_of(pass, {run.problem, run.tiling, options, {}});
  std::vector<std::string> marked;
  for (const ShownLine& line : shown_lines(pass, launch, operations, spec.variant.broken)) {
    if (!line.broken) continue;
    marked.push_back(line.text);
    std::string& text = marked.back();
    if (line.end > line.struck_end) {
      text.insert(line.end, "}");
      text.insert(line.struck_end, "{");
    }
    text.insert(line.struck_end, "]");
    text.insert(line.begin, "[");
  }
  return marked;
}

TEST(ExplainPanel, StrikesOutWhatABrokenRunDoesNotDoAndSaysWhatRunsInstead) {
  const test::SampleRequest flash2;
  using Lines = std::vector<std::string>;
  EXPECT_EQ(marked_lines(flash2, "alpha=1"),
            Lines({"m_prev = m_i; m_i = max(m_prev, rowmax S); [alpha = exp(m_prev - m_i)]{ alpha "
                   "= 1}"}));
  EXPECT_EQ(marked_lines(flash2, "l=1"), Lines({"O_i = 0; [l_i = 0]{ l_i = 1}; m_i = -inf",
                                                "[l_i = alpha · l_i + rowsum P]{ l_i = 1}"}));
  EXPECT_EQ(marked_lines(flash2, "drop:forward:rescale:O"), Lines({"O_i = [alpha · ]O_i + P V_j"}));
  EXPECT_EQ(marked_lines(flash2, "drop:forward:accumulate:O"),
            Lines({"O_i = alpha · O_i[ + P V_j]"}));
  EXPECT_EQ(marked_lines(flash2, "drop:forward:normalize:O"), Lines({"[O_i = O_i / l_i]"}));
  EXPECT_EQ(marked_lines(flash2, "drop:forward:load:V"), Lines({"load K_j, [V_j]"}));
  EXPECT_EQ(marked_lines(flash2, "drop:forward:load:Q"), Lines({"[load Q_i]"}));
  EXPECT_EQ(marked_lines(flash2, "drop:forward:load:Q@1.0"), Lines({"[load Q_i]{  dropped once}"}));
  test::SampleRequest flash1;
  flash1.algorithm = "flash1";
  EXPECT_EQ(marked_lines(flash1, "drop:forward:rescale:l_tile"),
            Lines({"l_i = alpha · l_i + [beta · ]l~"}));
  test::SampleRequest backward;
  backward.pass = PassKind::backward;
  EXPECT_EQ(marked_lines(backward, "LSE=1", 1),
            Lines({"load Q_i, dO_i, [LSE_i]{ LSE_i = 1}, D_i"}));
}

TEST(ExplainPanel, SaysHowManyLinesOfCodeAreNotShown) {
  const Snapshot snapshot = broken_snapshot();
  for (const float height : {90.0f, 200.0f, 600.0f}) {
    HeadlessImGui imgui(1280, 720);
    const Scales scales = scales_for(1280, 720, 1.0f, false);
    Surroundings around;
    for (const auto& panel : make_panels()) {
      if (panel.name != "explain") continue;
      const Rect rect{{20, 20}, {400, 20 + height}};
      draw_panel(imgui, panel, snapshot, rect, scales, false, around);
      EXPECT_EQ(imgui.letters_outside(rect), 0);
      EXPECT_EQ(imgui.letters_on_letters(), 0);
    }
    const bool whole = around.rects.find("explain.line.0") && around.rects.find("explain.line.13");
    const bool says_so =
        around.rects.find("explain.more.above") || around.rects.find("explain.more.below");
    EXPECT_EQ(whole, height > 400) << height;
    EXPECT_EQ(says_so, height == 200) << height << ": a lower panel has no room for any line";
  }
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

  // A loop has nothing to drop, and a quiz does not reveal the dropped operation
  const auto loop = around.rects.find("explain.line.3");  // for each column tile j
  ASSERT_TRUE(loop);
  right_click(loop->center());
  imgui.frame(rect, [&] { EXPECT_THAT(names(""), testing::ElementsAre()); });
  around.view.hides_break = true;
  right_click(around.rects.find("explain.line.10")->center());
  imgui.frame(rect, [&] { EXPECT_THAT(names(""), testing::ElementsAre()); });
}

/// The first or the last step of a run in which alpha is always 1, with the effect of that break:
/// only rows whose maximum is in the first column tile are right.
Snapshot forgetful_snapshot(bool at_end) {
  test::SampleRequest request;
  request.variant.broken = parse_run_break("alpha=1").value();
  const GpuDescription gpu = gpu_of(request).value();
  const SteppedRequest stepped{.run = resolve(request, gpu).value(), .gpu = gpu};
  const auto run = SteppedRun::create(stepped).value();
  Snapshot snapshot = run->at(at_end ? run->info()->step_count - 1 : 0);
  snapshot.effect = std::make_shared<const BreakEffect>(break_effect(stepped).value());
  return snapshot;
}

TEST(ScoresPanel, MarksTheRowsThatAreWrong) {
  const Snapshot snapshot = forgetful_snapshot(true);
  const std::vector<double>& errors = snapshot.effect->results[0].by_row;
  Pointed pointed;
  point_at("scores", snapshot, "scores.grid", {0.5f, 0.5f}, pointed);
  const NamedRects& rects = pointed.around.rects;
  const Rect grid = rects.find("scores.grid").value();
  const float row_height = grid.height() / static_cast<float>(errors.size());
  std::size_t right = 0;
  for (std::size_t row = 0; row < errors.size(); ++row) {
    const bool begins = errors[row] > 0 && (row == 0 || errors[row - 1] == 0);
    const auto mark = rects.find(fmt::format("scores.wrong.O.{}", row));
    ASSERT_EQ(mark.has_value(), begins) << row;
    if (errors[row] == 0) ++right;
    if (!mark) continue;
    std::size_t past = row;
    while (past < errors.size() && errors[past] > 0) ++past;
    EXPECT_NEAR(mark->min.y, grid.min.y + row_height * static_cast<float>(row), 0.1);
    EXPECT_NEAR(mark->max.y, grid.min.y + row_height * static_cast<float>(past), 0.1);
  }
  EXPECT_GT(right, 8U);
  EXPECT_LT(right, errors.size() / 2);
}

TEST(ScoresPanel, MarksNoRowBeforeItIsWrong) {
  const Snapshot snapshot = forgetful_snapshot(false);
  Pointed pointed;
  point_at("scores", snapshot, "scores.grid", {0.5f, 0.5f}, pointed);
  for (std::size_t row = 0; row < 64; ++row) {
    EXPECT_FALSE(pointed.around.rects.find(fmt::format("scores.wrong.O.{}", row))) << row;
  }
}

TEST(ScoresPanel, MarksNoWrongRowWhileALessonAsks) {
  Pointed pointed;
  pointed.around.view.hides_effect = true;
  point_at("scores", forgetful_snapshot(true), "scores.grid", {0.5f, 0.5f}, pointed);
  for (std::size_t row = 0; row < 64; ++row) {
    EXPECT_FALSE(pointed.around.rects.find(fmt::format("scores.wrong.O.{}", row))) << row;
  }
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
  ASSERT_EQ(wrong.of(Tensor::O).size(), 64U);
  const auto some = [&] {
    return std::ranges::any_of(wrong.of(Tensor::O), [](float strength) { return strength > 0; });
  };
  EXPECT_TRUE(some());
  const float* const before = wrong.of(Tensor::O).data();
  wrong.update(snapshot);
  EXPECT_EQ(wrong.of(Tensor::O).data(), before);

  snapshot.step = snapshot.effect->first_difference->step - 12;
  wrong.update(snapshot);
  EXPECT_FALSE(some());
  snapshot.effect = nullptr;
  wrong.update(snapshot);
  EXPECT_TRUE(wrong.of(Tensor::O).empty());
}

}  // namespace
}  // namespace attnscope::app
