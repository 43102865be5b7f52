/// Marks over the grid of scores: packed sequences, the tile under the playhead; its axes.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/panels/panels.h"
#include "app/ui/drawn_texts.h"
#include "tests/app/panels/panel_helpers.h"

namespace attnscope::app {
namespace {

using test::HeadlessImGui;
using test::SampleRequest;
using test::Surroundings;

/// Draws the scores in their place on a screen, and returns the text.
std::vector<std::string> draw_scores(const Snapshot& snapshot, bool presenter,
                                     Surroundings& around) {
  const Scales scales = scales_for(1280.0f, 720.0f, 1.0f, presenter);
  const Rect place =
      layout_screen(1280.0f, 720.0f, scales, test::kEverySlot, presenter).panels.at(Slot::scores);
  HeadlessImGui imgui(1280.0f, 720.0f, scales.layout, scales.font);
  const auto panel = make_scores_panel();
  draw_panel(imgui, panel, snapshot, place, scales, presenter, around);
  TextRecorder recorder;
  draw_frame(imgui, panel, snapshot, place, scales, presenter, around);
  std::vector<std::string> texts;
  for (const DrawnText& text : recorder.texts()) texts.push_back(text.text);
  return texts;
}

TEST(ScoreMarks, OutlineEachPackedSequence) {
  SampleRequest request;
  request.problem.cu_seqlens_q = request.problem.cu_seqlens_k = {0, 16, 64};
  const auto run = test::sample_run(request);
  Surroundings around;
  const std::vector<std::string> texts =
      draw_scores(test::sample_snapshot(*run, 0.5), false, around);
  const Rect grid = around.rects.find("scores.grid").value();
  const Rect second = around.rects.find("scores.sequence.1").value();
  EXPECT_NEAR(second.min.x, grid.min.x + 0.25f * grid.width(), 1.0f);
  EXPECT_NEAR(second.min.y, grid.min.y + 0.25f * grid.height(), 1.0f);
  EXPECT_NEAR(second.max.x, grid.max.x, 1.0f);
  EXPECT_FALSE(around.rects.find("scores.sequence.2"));
  EXPECT_TRUE(std::ranges::any_of(texts, [](const std::string& text) {
    return text.find("2 packed sequences") != std::string::npos;
  }));

  Surroundings plain;
  draw_scores(test::sample_snapshot(*test::sample_run({}), 0.5), false, plain);
  EXPECT_FALSE(plain.rects.find("scores.sequence.0"));
}

TEST(ScoreAxes, HaveEveryNumberThatFitsInPresenterModeToo) {
  SampleRequest request;
  request.algorithm = "standard";  // its softmax has no column tile at the playhead
  for (const SampleRequest& each : {SampleRequest{}, request}) {
    const auto run = test::sample_run(each);
    Surroundings around;
    const std::vector<std::string> texts =
        draw_scores(test::sample_snapshot(*run, 0.6), true, around);
    for (const char* number : {"0", "1", "2", "3"}) {
      EXPECT_EQ(std::ranges::count(texts, number), 2) << number << ": of a row and of a column";
    }
  }
}

}  // namespace
}  // namespace attnscope::app
