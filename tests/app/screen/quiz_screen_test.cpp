/// The quiz on the whole screen: one operation is missing; which?
#include <gtest/gtest.h>

#include "tests/app/screen/screen_session.h"

namespace attnscope::app {
namespace {

using test::ScreenSession;

/// The button of one of the question's options.
std::string option_name(std::size_t option) {
  return std::string("quiz.option.") + lessons::letter_of(option);
}

class QuizScreen : public testing::Test {
 protected:
  QuizScreen() {
    app().start_quiz(7);
    session_.settle();
  }
  App& app() { return session_.app(); }

  ScreenSession session_;
};

TEST_F(QuizScreen, ShowsTheBrokenRunWithoutNamingItsBreak) {
  ASSERT_EQ(app().quiz.phase(), Quiz::Phase::asking);
  const RunBreak& broken = app().view.choice.variant.broken;
  EXPECT_TRUE(broken.drops());
  EXPECT_EQ(broken, app().quiz.question()->run.asked.variant.broken);
  EXPECT_TRUE(app().snapshot()->effect->changes_result());
  EXPECT_TRUE(session_.rects().find("panel.explain"));
  EXPECT_FALSE(session_.rects().find("broken.restore"));
  session_.click("field.more");
  EXPECT_FALSE(session_.rects().find("field.break"));
}

TEST_F(QuizScreen, ARightAnswerCountsAndShowsTheBreak) {
  session_.click(option_name(app().quiz.question()->answer));
  EXPECT_EQ(app().quiz.phase(), Quiz::Phase::answered);
  EXPECT_EQ(app().quiz.right(), 1);
  EXPECT_TRUE(session_.rects().find("quiz.truth"));
  EXPECT_TRUE(session_.rects().find("broken.restore"));
}

TEST_F(QuizScreen, AWrongAnswerDoesNotCountAndAnotherQuestionFollows) {
  const auto first = app().quiz.question()->run.asked.variant.broken;
  session_.click(option_name(app().quiz.question()->answer == 0 ? 1 : 0));
  EXPECT_EQ(app().quiz.right(), 0);
  EXPECT_EQ(app().quiz.asked(), 1);
  EXPECT_TRUE(session_.rects().find("quiz.verdict"));
  session_.click("quiz.next");
  EXPECT_EQ(app().quiz.phase(), Quiz::Phase::asking);
  EXPECT_FALSE(session_.rects().find("broken.restore"));
  session_.click("quiz.show");
  EXPECT_EQ(app().quiz.asked(), 2);
  EXPECT_FALSE(session_.rects().find("quiz.verdict"));
  EXPECT_TRUE(session_.rects().find("quiz.truth"));
}

TEST_F(QuizScreen, LeavingRestoresTheRun) {
  for (const bool by_key : {false, true}) {
    if (by_key) session_.key(Key::escape);
    if (!by_key) session_.click("quiz.leave");
    EXPECT_FALSE(app().quiz.is_open());
    EXPECT_FALSE(app().view.hides_break);
    EXPECT_EQ(app().view.choice, app().scene.view.choice);
    app().start_quiz(8);
    session_.settle();
  }
}

TEST_F(QuizScreen, AnotherChoiceEndsIt) {
  RunSpec choice = app().view.choice;
  choice.problem.N = choice.problem.N_kv = 32;
  app().commands.push(Choose{choice});
  session_.settle();
  EXPECT_FALSE(app().quiz.is_open());
  EXPECT_EQ(app().view.choice.problem.N, 32);
}

TEST(Quiz, AnotherChoiceWhileItIsComputedEndsIt) {
  ScreenSession session;
  RunSpec choice = session.app().view.choice;
  choice.problem.N = choice.problem.N_kv = 32;
  session.app().start_quiz(7);
  session.app().commands.push(Choose{choice});
  session.settle();
  EXPECT_FALSE(session.app().quiz.is_open());
  EXPECT_EQ(session.app().view.choice, choice);
}

TEST(Quiz, StartsFromTheListOfScenes) {
  ScreenSession session;
  session.click("field.scene");
  session.click("option.scene.quiz");
  EXPECT_TRUE(session.app().quiz.is_open());
  EXPECT_TRUE(session.rects().find("quiz.card"));
}

TEST(Quiz, EndsARaceThatIsOnTheScreen) {
  ScreenSession session("race-flash1");
  ASSERT_TRUE(session.app().rival_snapshot());
  session.click("field.scene");
  session.click("option.scene.quiz");
  EXPECT_FALSE(session.app().view.race);
  EXPECT_TRUE(session.rects().find("quiz.card"));
  EXPECT_FALSE(session.rects().find("race.verdict"));
}

TEST(Quiz, EndsTheWalkThatPlays) {
  ScreenSession session;
  session.app().view.start_walk = Walk::watch;
  session.settle();
  session.settle();
  session.app().start_quiz(7);
  session.settle();
  EXPECT_TRUE(session.app().quiz.is_open());
  EXPECT_FALSE(session.rects().find("walk"));
}

TEST(Quiz, SaysWhyThereIsNoQuestion) {
  ScreenSession session;
  RunSpec choice = session.app().view.choice;
  choice.problem.N = choice.problem.N_kv = 4096;  // too large for values
  session.app().commands.push(Choose{choice});
  session.settle();
  session.app().start_quiz(0);
  session.settle();
  EXPECT_FALSE(session.app().quiz.is_open());
  EXPECT_TRUE(session.app().notice);
}

}  // namespace
}  // namespace attnscope::app
