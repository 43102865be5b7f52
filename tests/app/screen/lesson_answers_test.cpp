/// The fields for entering a prediction: a curve drawn with the mouse, and the fields that
/// presenter mode hides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/draw/axis.h"
#include "tests/app/play/play_lesson.h"
#include "tests/app/screen/screen_session.h"

namespace attnscope::app {
namespace {

using lessons::Verdict;
using test::ScreenSession;
using Phase = LessonPlayer::Phase;

/// Opens the test's lesson, which has every kind of question, at a step counted from 1.
/// The question of a curve, which is a straight line in its plot: the operations grow with N^2.
class DrawnCurve : public testing::Test {
 protected:
  DrawnCurve() {
    const auto asked = test::asked_steps(ATTNSCOPE_LESSON_FILE);
    truth_ = std::get<std::vector<double>>(asked.back().truth);
    session_.open_lesson(ATTNSCOPE_LESSON_FILE, 5);
  }

  LessonPlayer& player() { return session_.app().lesson_player; }

  /// The position of a value in a column of the plot.
  ImVec2 place_of(std::size_t column, double value) {
    const Rect plot = session_.rects().find("lesson.curve").value_or(Rect{});
    const CurveAxis scale = *player().prepared()->axis;
    const draw::Axis axis{"", scale.logarithmic, scale.low, scale.high};
    const float share = (static_cast<float>(column) + 0.5f) / static_cast<float>(truth_.size());
    return {plot.min.x + plot.width() * share, plot.max.y - plot.height() * axis.position(value)};
  }

  /// Drags the mouse from place to place, this many pixels per move.
  void drag(const std::vector<ImVec2>& corners, float move) {
    std::vector<ImVec2> way{corners.front()};
    for (std::size_t n = 1; n < corners.size(); ++n) {
      const ImVec2 a = corners[n - 1], b = corners[n];
      const int moves = std::max(1, static_cast<int>(std::hypot(b.x - a.x, b.y - a.y) / move));
      for (int k = 1; k <= moves; ++k) {
        const float share = static_cast<float>(k) / static_cast<float>(moves);
        way.push_back({a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share});
      }
    }
    session_.drag(way);
  }

  /// The number of points of the curve that are not drawn.
  std::ptrdiff_t missing() {
    return std::ranges::count_if(player().draft.curve, [](const auto& point) { return !point; });
  }

  /// Checks the drawn curve and returns the verdict; nothing if there is none.
  std::optional<Verdict::Kind> verdict() {
    session_.click("lesson.check");
    return player().outcome() == nullptr ? std::nullopt : player().outcome()->verdict;
  }

  ScreenSession session_;
  std::vector<double> truth_;
};

TEST_F(DrawnCurve, ASlowDragAlongTheComputedCurveIsRight) {
  ASSERT_EQ(truth_.size(), 4U);
  drag({place_of(0, truth_[0]), place_of(1, truth_[1]), place_of(2, truth_[2]),
        place_of(3, truth_[3])},
       3.0f);
  for (std::size_t n = 0; n < truth_.size(); ++n) {
    ASSERT_TRUE(player().draft.curve[n]) << n;
    EXPECT_NEAR(*player().draft.curve[n] / truth_[n], 1.0, 0.2) << n;
  }
  EXPECT_EQ(verdict(), Verdict::Kind::right);
}

TEST_F(DrawnCurve, AQuickDragSetsThePointsThatItPasses) {
  drag({place_of(0, truth_[0]), place_of(3, truth_[3])}, 1e6f);  // within a frame
  EXPECT_EQ(missing(), 0);
  EXPECT_EQ(verdict(), Verdict::Kind::right);
}

TEST_F(DrawnCurve, ADragFromRightToLeftIsRightToo) {
  drag({place_of(3, truth_[3]), place_of(0, truth_[0])}, 40.0f);
  EXPECT_EQ(verdict(), Verdict::Kind::right);
}

TEST_F(DrawnCurve, AnotherCurveIsWrong) {
  drag({place_of(0, truth_[0]), place_of(3, truth_[0])}, 10.0f);
  EXPECT_EQ(verdict(), Verdict::Kind::wrong);
}

TEST_F(DrawnCurve, ASecondDragCorrectsAPoint) {
  drag({place_of(0, truth_[0]), place_of(2, truth_[2]), place_of(3, truth_[0])}, 10.0f);
  drag({place_of(3, truth_[1]), place_of(3, truth_[3])}, 5.0f);  // up in the column of its point
  EXPECT_EQ(verdict(), Verdict::Kind::right);
}

TEST_F(DrawnCurve, AClickBesideAPointSetsItsHeight) {
  ImVec2 at = place_of(2, truth_[2]);
  at.x += 15.0f;
  session_.drag(std::vector<ImVec2>{at});
  const auto& drawn = player().draft.curve;
  ASSERT_EQ(drawn.size(), 4U);
  ASSERT_TRUE(drawn[2]);
  EXPECT_NEAR(*drawn[2] / truth_[2], 1.0, 0.2);
  EXPECT_EQ(missing(), 3);
}

TEST(LessonPresenter, ShowsNothingToAnswerWith) {
  for (std::size_t step = 2; step <= 5; ++step) {
    SCOPED_TRACE(step);
    for (const bool presenter : {false, true}) {
      ScreenSession session;
      session.app().view.presenter = presenter;
      session.open_lesson(ATTNSCOPE_LESSON_FILE, step);
      const auto is_shown = [&](std::string_view widget) {
        return session.rects().find(widget).has_value();
      };
      EXPECT_TRUE(is_shown("lesson.question"));
      EXPECT_TRUE(is_shown("lesson.show"));
      EXPECT_EQ(is_shown("lesson.check"), !presenter && step != 3);
      EXPECT_EQ(is_shown("lesson.number"), !presenter && step == 2);
      EXPECT_EQ(is_shown("lesson.option.a"), step == 3);  // the options are still shown
      EXPECT_EQ(is_shown("lesson.tile"), !presenter && step == 4);
      EXPECT_EQ(is_shown("lesson.curve"), !presenter && step == 5);
      EXPECT_EQ(is_shown("lesson.curve.hint"), !presenter && step == 5);
    }
  }
}

TEST(LessonPresenter, AnOptionIsNoButton) {
  ScreenSession session;
  session.app().view.presenter = true;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 3);
  session.click("lesson.option.b");
  EXPECT_EQ(session.app().lesson_player.phase(), Phase::asking);
  EXPECT_FALSE(session.app().lesson_player.draft.option);
  EXPECT_FALSE(session.app().lesson_player.given());
}

TEST(LessonPresenter, EnterDoesNotCheckATileThatWasPointedAt) {
  ScreenSession session;
  session.app().view.presenter = true;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 4);
  session.click("scores.grid");
  session.key(Key::enter);
  EXPECT_EQ(session.app().lesson_player.phase(), Phase::asking);
}

TEST(LessonPresenter, TheComputedCurveIsShownAfterTheAnswer) {
  ScreenSession session;
  session.app().view.presenter = true;
  session.open_lesson(ATTNSCOPE_LESSON_FILE, 5);
  session.click("lesson.show");
  EXPECT_TRUE(session.rects().find("lesson.curve"));
  EXPECT_TRUE(session.rects().find("lesson.truth"));
}

}  // namespace
}  // namespace attnscope::app
