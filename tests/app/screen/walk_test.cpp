/// The first start: the card with four choices, the tour, and the run that explains itself.
#include "app/screen/walk.h"

#include <gtest/gtest.h>

#include "tests/app/screen/screen_session.h"

namespace attnscope::app {
namespace {

using test::ScreenSession;

TEST(Welcome, OffersFourChoicesAndCanBeDismissed) {
  ScreenSession session;
  session.app().view.welcome = true;
  session.settle();
  for (const char* choice :
       {"welcome.watch", "welcome.explore", "welcome.lessons", "welcome.own"}) {
    EXPECT_TRUE(session.rects().find(choice)) << choice;
  }
  session.key(Key::tab);
  EXPECT_TRUE(session.focused("welcome.watch"));
  session.key(Key::escape);
  EXPECT_FALSE(session.rects().find("welcome"));
  EXPECT_FALSE(session.rects().find("walk"));
}

TEST(Welcome, OpensTheDialogForTheUsersOwnTensors) {
  ScreenSession session;
  session.app().view.welcome = true;
  session.settle();
  session.click("welcome.own");
  EXPECT_TRUE(session.rects().find("dialog.path"));
}

TEST(Welcome, ListsTheLessonsInTeachingOrder) {
  ScreenSession session;
  session.app().view.welcome = true;
  session.settle();
  session.click("welcome.lessons");
  ASSERT_EQ(session.app().listed.lessons.size(), lessons::list_shipped_lessons().size());
  std::optional<Rect> above;
  for (const lessons::ShippedLesson& lesson : lessons::list_shipped_lessons()) {
    const auto entry = session.rects().find("lessons." + lesson.name);
    ASSERT_TRUE(entry) << lesson.name;
    if (above) {
      EXPECT_GT(entry->min.y, above->min.y) << lesson.name;
    }
    above = entry;
  }
  session.click("lessons.merging-tiles");
  ASSERT_TRUE(session.app().lesson_player.is_open());
  EXPECT_EQ(session.app().lesson_player.lesson().name, "merging-tiles");
}

TEST(Tour, PointsAtEveryPanelAndNeverCoversItsMiddle) {
  ScreenSession session;
  session.app().view.welcome = true;
  session.settle();
  session.click("welcome.explore");
  const auto stops = stops_of(Walk::panels);
  for (std::size_t k = 0; k < stops.size(); ++k) {
    const auto card = session.rects().find("walk");
    const auto place = session.rects().find("walk.place");
    ASSERT_TRUE(card && place) << stops[k].title;
    EXPECT_GT(place->width(), 20.0f) << stops[k].title;
    EXPECT_FALSE(card->contains(place->center())) << stops[k].title;
    EXPECT_GE(card->min.x, 0.0f);
    EXPECT_LE(card->max.x, 1600.0f);
    EXPECT_LE(card->max.y, 900.0f);
    session.click(k + 1 < stops.size() ? "walk.next" : "walk.leave");
  }
  EXPECT_FALSE(session.rects().find("walk"));
}

TEST(Tour, KeepsNextInPlaceForMostStops) {
  ScreenSession session;
  session.app().view.start_walk = Walk::panels;
  session.settle();
  int moves = 0;
  auto before = session.rects().find("walk.next");
  ASSERT_TRUE(before);
  for (std::size_t k = 0; k + 2 < stops_of(Walk::panels).size(); ++k) {
    session.click("walk.next");
    const auto next = session.rects().find("walk.next");
    ASSERT_TRUE(next);
    if (!next->contains(before->center())) ++moves;
    before = next;
  }
  EXPECT_LE(moves, 2);
}

TEST(Tour, ShowsNumbersOfTheFollowedRow) {
  ScreenSession session;
  session.app().commands.push(SeekTo{-1});
  session.settle();
  ASSERT_FALSE(session.app().snapshot()->softmax_row.m);
  session.app().view.start_walk = Walk::panels;
  session.settle();
  EXPECT_TRUE(session.app().snapshot()->softmax_row.m);
}

TEST(Tour, IsLeftWithEscapeAtAnyStop) {
  ScreenSession session;
  const std::size_t stops = stops_of(Walk::panels).size();
  for (std::size_t stop = 0; stop < stops; ++stop) {
    session.app().view.start_walk = Walk::panels;
    session.settle();
    for (std::size_t k = 0; k < stop; ++k) session.click("walk.next");
    if (stop > 0) {
      session.click("walk.back");
      session.click("walk.next");
    }
    ASSERT_TRUE(session.rects().find("walk")) << stop;
    session.key(Key::escape);
    EXPECT_FALSE(session.rects().find("walk")) << stop;
  }
}

TEST(Watching, PlaysTheRunAndExplainsEachPartInTwoMinutes) {
  ScreenSession session("flash1-64");
  session.app().view.start_walk = Walk::watch;
  session.settle();
  session.settle();  // until its scene is open
  EXPECT_EQ(session.app().scene.name, "default");
  const auto stops = stops_of(Walk::watch);
  EXPECT_DOUBLE_EQ(kSecondsPerStop * static_cast<double>(stops.size()), 120.0);

  // Each part follows the previous one, up to the end of the run
  const RunInfo& run = *session.app().snapshot()->run;
  Index before = -1;
  for (const Stop& stop : stops) {
    EXPECT_GE(last_step_of(run, stop), before) << stop.title;
    before = last_step_of(run, stop);
  }
  EXPECT_EQ(before, run.step_count - 1);

  // The playhead never moves backwards, and a pause stops it
  Index last = session.app().view.step;
  for (int k = 0; k < 120; ++k) {
    session.advance(0.25);
    EXPECT_GE(session.app().view.step, last);
    last = session.app().view.step;
  }
  EXPECT_GT(last, 0);
  session.click("walk.pause");
  last = session.app().view.step;
  session.advance(5.0);
  EXPECT_EQ(session.app().view.step, last);
}

TEST(Watching, IsPausedByPlayOfTheBarAndByAStep) {
  ScreenSession session;
  session.app().view.start_walk = Walk::watch;
  session.settle();
  session.settle();
  const auto moves = [&] {
    const Index step = session.app().view.step;
    for (double s = 0.0; s < 2.0 * kSecondsPerStop; s += 0.25) session.advance(0.25);
    return session.app().view.step != step;
  };
  EXPECT_TRUE(moves());
  session.click("transport.play");
  EXPECT_FALSE(moves());
  EXPECT_FALSE(session.app().view.playing);
  session.key(Key::space);
  EXPECT_TRUE(moves());
  session.key(Key::right);
  EXPECT_FALSE(moves());
  session.click("walk.leave");
  session.key(Key::space);
  EXPECT_TRUE(session.app().view.playing) << "afterwards the run itself plays";
}

TEST(Watching, StartsAgainFromTheListOfScenes) {
  ScreenSession session;
  session.click("field.scene");
  session.click("option.scene.watch");
  session.settle();
  EXPECT_TRUE(session.app().walk_plays.value_or(false));
  session.click("walk.leave");
  session.click("field.scene");
  session.click("option.scene.tour");
  EXPECT_TRUE(session.rects().find("walk"));
  EXPECT_FALSE(session.app().walk_plays);
}

TEST(Watching, EndsWithARaceAgainstStandardAttention) {
  ScreenSession session;
  session.app().view.start_walk = Walk::watch;
  session.settle();
  session.settle();
  EXPECT_LT(session.app().view.query_row, 16) << "its softmax begins with the first tile";
  for (std::size_t k = 0; k + 1 < stops_of(Walk::watch).size(); ++k) session.click("walk.next");
  session.settle();
  ASSERT_TRUE(session.app().view.race);
  EXPECT_EQ(session.app().view.race->rival.algorithm, "standard");
  ASSERT_NE(session.app().course(), nullptr);
  for (int k = 0; k < 80; ++k) session.advance(0.25);
  EXPECT_EQ(session.app().view.race_tick, session.app().course()->last_tick());
  const auto card = session.rects().find("walk");
  const auto verdict = session.rects().find("race.verdict");
  ASSERT_TRUE(card && verdict);
  EXPECT_FALSE(card->contains(verdict->center()));
  for (const char* explained : {"race.head.chosen", "race.head.rival", "panel.explain"}) {
    const auto place = session.rects().find(explained);
    ASSERT_TRUE(place) << explained;
    const bool apart = card->min.x >= place->max.x || card->max.x <= place->min.x ||
                       card->min.y >= place->max.y || card->max.y <= place->min.y;
    EXPECT_TRUE(apart) << "the card covers " << explained;
  }

  session.click("walk.back");
  session.settle();
  EXPECT_FALSE(session.app().view.race);
  session.click("walk.next");
  session.click("walk.tour");
  EXPECT_FALSE(session.app().view.race);
  EXPECT_TRUE(session.rects().find("walk"));
  session.click("walk.leave");
  session.settle();
  EXPECT_FALSE(session.app().view.race);
}

}  // namespace
}  // namespace attnscope::app
