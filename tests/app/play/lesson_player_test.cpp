/// Plays a lesson without a screen.
#include "app/play/lesson_player.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/app/play/play_lesson.h"
#include "tests/support/wait_until.h"

namespace attnscope::app {
namespace {

using lessons::Verdict;
using test::act;
using test::settle;
using test::type;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Action = LessonPlayer::Action;
using Phase = LessonPlayer::Phase;

constexpr const char* kLesson = ATTNSCOPE_LESSON_FILE;

/// Opens the test's lesson, which has every kind of question, at this step.
void open(LessonPlayer& player, std::size_t step) {
  test::open(player, kLesson, step);
}

/// Tests that run in an empty folder.
class LessonFolder : public testing::Test {
 protected:
  LessonFolder()
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("attnscope-lesson-{}", ::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~LessonFolder() override { std::filesystem::remove_all(folder_); }
  const std::filesystem::path folder_;
};

/// Plays the lesson from its first to its last step, with only right or only wrong answers.
void play(const std::string& lesson, const std::vector<test::AskedStep>& asked, bool right) {
  SCOPED_TRACE(right ? "right answers" : "wrong answers");
  LessonPlayer player;
  test::open(player, lesson, 0);
  ASSERT_TRUE(player.is_open());
  const std::size_t count = player.lesson().steps.size();
  auto next = asked.begin();
  for (std::size_t step = 0; step < count; ++step) {
    SCOPED_TRACE(fmt::format("step {}", step + 1));
    ASSERT_EQ(player.step(), step);
    ASSERT_NE(player.prepared(), nullptr) << player.problem();
    EXPECT_THAT(player.prepared()->say, Not(IsEmpty()));
    if (player.current().ask) {
      // Nothing is revealed before the answer
      ASSERT_EQ(player.phase(), Phase::asking);
      ASSERT_TRUE(player.hides_answer());
      ASSERT_EQ(player.outcome(), nullptr);
      ASSERT_TRUE(next != asked.end() && next->step == step);
      const lessons::Answer truth = (next++)->truth;

      test::enter(player, right ? truth : test::wrong_answer(*player.current().ask, truth));
      EXPECT_TRUE(act(player, Action::check).reveals) << player.draft.error;
      ASSERT_NE(player.outcome(), nullptr);
      EXPECT_EQ(player.outcome()->verdict == Verdict::Kind::right, right);
      EXPECT_EQ(player.outcome()->truth, truth);
      EXPECT_EQ(player.outcome()->step.has_value(), player.current().show.step.has_value());
      EXPECT_THAT(player.outcome()->unplaced, IsEmpty());
    }
    EXPECT_EQ(player.phase(), Phase::revealed);
    EXPECT_FALSE(player.hides_answer());
    if (step + 1 < count) {
      EXPECT_TRUE(act(player, Action::next).enters);
    }
  }
  act(player, Action::next);  // there is no next step
  EXPECT_EQ(player.step(), count - 1);
  EXPECT_TRUE(next == asked.end());
  EXPECT_EQ(player.progress().right.size(), right ? asked.size() : 0);
}

class PlayedLesson : public testing::TestWithParam<std::string> {};

TEST_P(PlayedLesson, EveryStepWithARightAndWithAWrongAnswer) {
  const auto asked = test::asked_steps(GetParam());
  ASSERT_FALSE(asked.empty());
  for (const bool right : {true, false}) play(GetParam(), asked, right);
}

/// Only the text of a step has values.
TEST_P(PlayedLesson, NoReasonOrOptionHasAValueInBraces) {
  for (const test::AskedStep& asked : test::asked_steps(GetParam())) {
    for (const lessons::Mistake& mistake : lessons::mistakes_of(asked.question)) {
      EXPECT_THAT(mistake.why, Not(HasSubstr("{")));
    }
    const auto* choice = std::get_if<lessons::ChoiceQuestion>(&asked.question.kind);
    if (choice == nullptr) continue;
    for (const auto& option : choice->options)
      EXPECT_THAT(option.text + option.why, Not(HasSubstr("{")));
  }
}

/// The shipped lessons, and one with every kind of question.
std::vector<std::string> played_lessons() {
  std::vector<std::string> lessons = test::shipped_lessons();
  lessons.emplace_back(kLesson);
  return lessons;
}

INSTANTIATE_TEST_SUITE_P(Lessons, PlayedLesson, testing::ValuesIn(played_lessons()),
                         [](const auto& of) {
                           std::string name = std::filesystem::path(of.param).stem();
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(LessonPlayer, NamesTheMisconceptionOfAnAnswer) {
  LessonPlayer player;
  open(player, 3);
  player.draft.tile = lessons::TilePlace{1, 0};  // the tile in FlashAttention-1's order
  act(player, Action::check);
  EXPECT_EQ(player.outcome()->verdict, Verdict::Kind::mistake);
  EXPECT_THAT(player.outcome()->why, HasSubstr("order of FlashAttention-1"));
}

TEST(LessonPlayer, AnAnswerThatCannotBeUnderstoodRevealsNothing) {
  LessonPlayer player;
  open(player, 1);
  type(player, "many");
  act(player, Action::check);
  EXPECT_THAT(player.draft.error, HasSubstr("4.4 GB"));
  EXPECT_EQ(player.phase(), Phase::asking);
  EXPECT_EQ(player.outcome(), nullptr);

  open(player, 4);
  player.draft.curve = {1e6, std::nullopt, 4e6, 8e6};
  act(player, Action::check);
  EXPECT_THAT(player.draft.error, HasSubstr("1 of 4 points"));
  EXPECT_EQ(player.outcome(), nullptr);
}

TEST(LessonPlayer, TheRunsHaveTilesAndThePlayheadBeginsWhereThePreviousStepEnded) {
  LessonPlayer player;
  open(player, 1);
  EXPECT_EQ(player.prepared()->run.algorithm, "flash1");
  EXPECT_TRUE(player.prepared()->run.tiling());
  EXPECT_EQ(player.prepared()->start, 0);
  open(player, 4);  // the previous step is in the same run
  EXPECT_EQ(player.prepared()->run.algorithm, "flash2");
  EXPECT_GT(player.prepared()->start, 0);
  ASSERT_TRUE(player.prepared()->axis);
  EXPECT_TRUE(player.prepared()->axis->logarithmic);
}

TEST(LessonPlayer, AStepThatWasAnsweredStaysAnswered) {
  LessonPlayer player;
  open(player, 2);
  player.draft.option = 0;
  act(player, Action::check);
  act(player, Action::next);
  EXPECT_EQ(player.phase(), Phase::asking);
  const LessonPlayer::Cue back = act(player, Action::previous);
  EXPECT_TRUE(back.enters && back.reveals);
  EXPECT_EQ(player.phase(), Phase::revealed);
  EXPECT_EQ(player.given(), lessons::Answer(lessons::Chosen{0}));
}

TEST(LessonPlayer, AnotherValueOfAFieldAsksAgain) {
  LessonPlayer player;
  open(player, 1);
  act(player, Action::show_me);
  const lessons::Answer before = *player.outcome()->truth;
  const RunField& seq_len = *player.lesson().vary.front().field;
  player.change(seq_len, "128");
  settle(player);
  EXPECT_EQ(player.phase(), Phase::asking);
  EXPECT_EQ(player.prepared()->run.problem.N, 128);
  act(player, Action::show_me);
  EXPECT_GT(std::get<double>(*player.outcome()->truth), std::get<double>(before));
  player.change(seq_len, std::nullopt);
  settle(player);
  EXPECT_EQ(player.prepared()->run.problem.N, 64);
}

TEST(LessonPlayer, AValueChosenWhileAnotherIsComputedIsThatOfTheNextStep) {
  LessonPlayer player;
  open(player, 1);
  const RunField& seq_len = *player.lesson().vary.front().field;
  player.change(seq_len, "128");
  player.update();  // the work for 128 begins
  player.change(seq_len, "64");
  player.update();  // the change to 64 waits
  act(player, Action::next);
  ASSERT_EQ(player.changes().size(), 1U);
  EXPECT_EQ(player.changes().front().text, "64");
  EXPECT_EQ(player.prepared()->run.problem.N, 64);
}

TEST(LessonPlayer, ACueThatWasNotTakenEndsWithItsStep) {
  // While a scene opens, the screen takes no cue
  const auto wait_for = [](LessonPlayer& player, Phase phase) {
    ASSERT_TRUE(test::wait_until([&] {
      if (player.phase() != phase) player.update();
      return player.phase() == phase;
    }));
  };
  LessonPlayer player;
  player.open(kLesson, 0);
  wait_for(player, Phase::revealed);
  player.act(Action::next);
  player.update();
  EXPECT_TRUE(!player.take_cue().enters || player.prepared() != nullptr);
  EXPECT_TRUE(settle(player).enters);
  EXPECT_NE(player.prepared(), nullptr);

  // After an answer that comes before the scene is ready, the cue still enters the step
  player.open(kLesson, 1);
  wait_for(player, Phase::asking);
  player.act(Action::show_me);
  player.update();
  wait_for(player, Phase::revealed);
  const LessonPlayer::Cue cue = player.take_cue();
  EXPECT_TRUE(cue.enters);
  EXPECT_TRUE(cue.reveals);
}

TEST(LessonPlayer, AnUnknownLessonOrStepIsReportedInOneLine) {
  LessonPlayer player;
  player.open("no-such-lesson");
  settle(player);
  EXPECT_FALSE(player.is_open());
  const std::string error = player.take_error();
  EXPECT_THAT(error, HasSubstr("no-such-lesson"));
  EXPECT_EQ(error.find('\n'), std::string::npos);
  player.open(kLesson, 7);
  settle(player);
  EXPECT_FALSE(player.is_open());
  EXPECT_THAT(player.take_error(), HasSubstr("step 8"));
}

TEST(LessonPlayer, LeavesAtOnceAndCanOpenAgain) {
  LessonPlayer player;
  open(player, 1);
  player.act(Action::show_me);
  player.update();
  player.act(Action::leave);
  player.update();
  EXPECT_EQ(player.phase(), Phase::closed);
  EXPECT_TRUE(player.settled());
  open(player, 2);
  EXPECT_EQ(player.phase(), Phase::asking);
}

TEST_F(LessonFolder, APlaceThatCannotBeReachedIsReportedWithItsReason) {
  const std::filesystem::path file = folder_ / "far.json";
  std::ofstream(file) << R"json({"schema": "attnscope.lesson/1", "title": "T",
    "runs": {"a": {"set": {"algorithm": "flash2", "seq-len": 64, "block-rows": 16,
                           "block-cols": 16}}},
    "steps": [{"say": "x", "show": {"run": "a", "step": "visit(a, 99)"}}]})json";
  LessonPlayer player;
  player.open(file.string());
  settle(player);
  ASSERT_EQ(player.phase(), Phase::revealed) << player.problem();
  EXPECT_FALSE(player.outcome()->step);
  EXPECT_THAT(player.outcome()->unplaced, HasSubstr("16 tiles of scores"));
}

TEST_F(LessonFolder, WhatFollowsAnAnswerIsNotSaidWhereThereIsNone) {
  const std::filesystem::path file = folder_ / "time.json";
  std::ofstream(file) << R"json({"schema": "attnscope.lesson/1", "title": "T",
    "runs": {"a": {"set": {"algorithm": "flash2", "seq-len": 1024, "gpu": "t4"}}},
    "steps": [{"say": "x", "ask": {"number": "?", "answer": "a.time.predicted_s"},
               "then": "It takes {a.time.predicted_s}."},
              {"say": "x", "ask": {"number": "?", "answer": "a.flops.matmul"},
               "then": "It takes {a.time.predicted_s}."},
              {"say": "It takes {a.time.predicted_s}."}]})json";
  LessonPlayer player;
  player.open(file.string());
  settle(player);
  for (std::size_t step = 0; step < 3; ++step) {
    if (step > 0) act(player, Action::next);
    act(player, Action::show_me);
    ASSERT_EQ(player.phase(), Phase::revealed) << player.problem();
    EXPECT_EQ(player.outcome()->truth.has_value(), step == 1);
    EXPECT_EQ(player.outcome()->then, "");
    EXPECT_THAT(player.outcome()->unavailable, testing::StartsWith("Not calibrated for NVIDIA"));
  }
  EXPECT_EQ(player.prepared()->say, "It takes (unavailable).");
}

TEST_F(LessonFolder, ProgressIsKeptAndTheLessonResumesThere) {
  {
    LessonPlayer player;
    player.set_files({.progress = folder_ / "progress.json"});
    open(player, 2);
    player.draft.option = 1;
    act(player, Action::check);
    ASSERT_EQ(player.outcome()->verdict, Verdict::Kind::right);
    act(player, Action::next);
  }
  LessonPlayer again;
  again.set_files({.progress = folder_ / "progress.json"});
  again.open(kLesson);
  settle(again);
  EXPECT_EQ(again.step(), 3U);
  EXPECT_THAT(again.progress().right, testing::ElementsAre(2));
}

TEST_F(LessonFolder, AnswersAreAddedToTheUsersFile) {
  const std::filesystem::path file = folder_ / "student.jsonl";
  LessonPlayer player;
  player.set_files({.answers = lessons::AnswersFile::open(file).value()});
  open(player, 1);
  type(player, "1 GB");
  act(player, Action::check);
  EXPECT_THAT(player.outcome()->unsaved, IsEmpty());
  act(player, Action::next);
  act(player, Action::show_me);
  const auto read = lessons::read_answers(file);
  ASSERT_TRUE(read.ok());
  const auto& records = read.value().records;
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].step, 1U);
  EXPECT_EQ(records[0].outcome, "wrong");
  EXPECT_EQ(records[0].attempt.number, 1);
  EXPECT_EQ(records[0].attempt.truth_shown, lessons::TruthShown::after);
  EXPECT_EQ(records[1].outcome, "shown");
}

TEST_F(LessonFolder, AnAnswerInALaterSessionSaysThatTheTruthWasShown) {
  const std::filesystem::path file = folder_ / "student.jsonl";
  for (const bool with_file : {false, true, true}) {
    LessonPlayer player;
    player.set_files({.progress = folder_ / "progress.json"});
    if (with_file) {
      player.set_files({.progress = folder_ / "progress.json",
                        .answers = lessons::AnswersFile::open(file).value()});
    }
    open(player, 2);
    player.draft.option = with_file ? 1 : 0;
    act(player, Action::check);
    EXPECT_EQ(player.outcome()->verdict == Verdict::Kind::right, with_file);
  }
  const auto records = lessons::read_answers(file).value().records;
  ASSERT_EQ(records.size(), 2U);
  for (std::size_t n = 0; n < 2; ++n) {
    EXPECT_EQ(records[n].attempt.number, static_cast<Index>(n) + 1);
    EXPECT_EQ(records[n].attempt.truth_shown, lessons::TruthShown::before);
  }
}

TEST_F(LessonFolder, AQuestionThatIsWrongFailsWithItsFileAndStep) {
  const std::filesystem::path file = folder_ / "wrong.json";
  std::ofstream(file) << R"json({"schema": "attnscope.lesson/1", "title": "T",
    "runs": {"a": {"set": {"algorithm": "flash2", "seq-len": 64}}},
    "steps": [{"say": "x", "ask": {"number": "?", "answer": "a.flops.matmull"}}]})json";
  LessonPlayer player;
  player.open(file.string());
  settle(player);
  act(player, Action::show_me);
  EXPECT_EQ(player.phase(), Phase::failed);
  EXPECT_THAT(player.problem(), HasSubstr("wrong.json: steps[0]: ask: a.flops.matmull: unknown"));
}

TEST_F(LessonFolder, AnAnswerThatCannotBeSavedSaysWhy) {
  const std::filesystem::path inner = folder_ / "inner";
  std::filesystem::create_directories(inner);
  LessonPlayer player;
  player.set_files({.answers = lessons::AnswersFile::open(inner / "student.jsonl").value()});
  open(player, 1);
  std::filesystem::remove_all(inner);
  act(player, Action::show_me);
  EXPECT_THAT(player.outcome()->unsaved, HasSubstr("student.jsonl"));
  EXPECT_TRUE(player.outcome()->truth);
}

}  // namespace
}  // namespace attnscope::app
