/// The GPU that a lesson models: this machine's, or the student's choice.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/ui/drawn_texts.h"
#include "tests/app/play/play_lesson.h"
#include "tests/app/screen/screen_session.h"

namespace attnscope::app {
namespace {

using test::settle;

TEST(LessonGpu, ModelsTheGpuAtHandWhereTheLessonLeavesItOpen) {
  LessonPlayer player;
  player.wait_for_gpu();
  player.open(ATTNSCOPE_LESSON_FILE, 1);
  player.update();
  EXPECT_EQ(player.phase(), LessonPlayer::Phase::opening) << "it waits";
  player.set_gpu("l4");
  settle(player);
  ASSERT_TRUE(player.is_open());
  EXPECT_EQ(player.prepared()->run.gpu, "l4");
  ASSERT_EQ(player.changes().size(), 1U);
  player.change(*player.changes().front().field, std::nullopt);
  settle(player);
  EXPECT_EQ(player.prepared()->run.gpu, "h200") << "the lesson's own";

  player.open("where-did-the-rest-go", 0);  // its runs set the GPU
  settle(player);
  EXPECT_EQ(player.prepared()->run.gpu, "h200");
  EXPECT_TRUE(player.changes().empty());
}

TEST(LessonGpu, OnAGpuWithoutACalibrationATimeIsNotAnswered) {
  test::ScreenSession session;
  session.app().lesson_player.open("when-is-the-gpu-full", 1);
  session.settle();
  session.click("field.lesson.gpu");
  session.click("option.lesson.gpu.a100-80gb");
  EXPECT_EQ(session.app().view.choice.gpu, "a100-80gb");
  const TextRecorder recorder;
  session.click("lesson.show");
  EXPECT_TRUE(session.rects().find("lesson.unavailable"));
  EXPECT_FALSE(session.rects().find("lesson.truth"));
  EXPECT_FALSE(session.rects().find("lesson.then")) << "it follows the answer";
  EXPECT_TRUE(std::ranges::any_of(recorder.texts(), [](const DrawnText& text) {
    return text.text.starts_with("Not calibrated for NVIDIA A100");
  }));
  session.click("field.lesson.gpu");
  session.click("option.lesson.gpu.lesson");
  session.click("lesson.show");
  EXPECT_TRUE(session.rects().find("lesson.truth"));
  EXPECT_FALSE(session.rects().find("lesson.unavailable"));
}

}  // namespace
}  // namespace attnscope::app
