/// A lesson whose run is still computed, or is never shown.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/app/screen/screen_session.h"

namespace attnscope::app {
namespace {

using test::ScreenSession;

TEST(LessonRun, CoversPanelsThatDoNotShowTheRunOfTheStepYet) {
  bool was_covered = false;
  // A fast machine may compute some of the runs before the cover appears
  for (const char* lesson : {"a-quarter-of-d", "double-n", "swap-the-loops"}) {
    ScreenSession session;
    session.app().lesson_player.open(lesson, 0);
    session.settle();
    session.app().lesson_player.act(LessonPlayer::Action::next);
    do {
      session.run(0.2);
      was_covered = was_covered || session.rects().find("lesson.cover.explain");
    } while (!session.app().settled());
    session.settle();
    EXPECT_FALSE(session.rects().find("lesson.cover.explain")) << lesson;
  }
  EXPECT_TRUE(was_covered);
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
