/// A lesson whose run is still computed, or is never shown.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/app/screen/screen_session.h"

namespace attnscope::app {
namespace {

using test::ScreenSession;

TEST(LessonRun, CoversPanelsThatDoNotShowTheRunOfTheStepYet) {
  ScreenSession session;
  session.app().lesson_player.open("a-quarter-of-d", 0);
  session.settle();
  session.app().lesson_player.act(LessonPlayer::Action::next);
  // The player asks for the step in one frame, the app for its run in a later one
  session.frame();
  EXPECT_FALSE(session.rects().find("lesson.cover.explain"));
  session.run(0.2, 0.2);
  EXPECT_TRUE(session.rects().find("lesson.cover.explain"));
  session.settle();
  EXPECT_FALSE(session.rects().find("lesson.cover.explain"));
}

/// settle() returns only once nothing is computed.
TEST(LessonRun, DoesNotWaitForARunWhoseTilesDoNotFit) {
  ScreenSession session;
  const std::filesystem::path lessons = std::filesystem::path(ATTNSCOPE_LESSON_FILE).parent_path();
  session.open_lesson((lessons / "too-large.json").string(), 1);
  session.settle();
  EXPECT_FALSE(session.rects().find("lesson.cover.ledger"));
}

}  // namespace
}  // namespace attnscope::app
