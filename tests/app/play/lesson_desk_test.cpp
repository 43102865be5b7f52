/// Lessons that ask for measurements of this machine's GPU, which echoes its inputs
/// (tests/support/echo_gpu.cpp).
#include "app/play/lesson_desk.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <fstream>

#include "app/app.h"
#include "app/lessons/grade.h"
#include "tests/app/lessons/measured_runs.h"
#include "tests/app/play/play_lesson.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"

namespace attnscope::app {
namespace {

using lessons::measured_run;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Phase = LessonPlayer::Phase;

/// The echo's time is the seed: 5 s.
constexpr const char* kLesson = R"({"schema": "attnscope.lesson/1", "title": "Measured",
  "runs": {"a": {"set": {"algorithm": "flash2", "seq-len": 448, "head-dim": 64,
                         "tiling": "kernel", "inputs": "outlier", "seed": 5}}},
  "steps": [
    {"say": "Run it.", "ask": {"number": "How long does it take?",
                               "answer": "a.measured.time.median_s"}},
    {"say": "It took {a.measured.time.median_s}."},
    {"say": "No measurement.", "ask": {"number": "?", "answer": "a.flops.matmul"}}]})";

class MeasuredLesson : public testing::Test {
 protected:
  MeasuredLesson() {
    std::ofstream(lesson_) << kLesson;
    ::setenv("ATTNSCOPE_ECHO_GPU", "l4", 1);
  }
  ~MeasuredLesson() override { ::unsetenv("ATTNSCOPE_ECHO_GPU"); }

  test::TempDir folder_;
  std::string lesson_ = folder_.file("measured.json");
};

bool update_until(App& app, const std::function<bool()>& done) {
  double now_s = 1.0;
  return test::wait_until([&] {
    app.update(now_s += 0.01);
    return done() && app.settled();
  });
}

TEST_F(MeasuredLesson, ARunOnTheGpuAtHandAnswersTheQuestion) {
  App app(load_scene("default").value(), {});
  LessonPlayer& player = app.lesson_player;
  const std::string answers = folder_.file("ann.jsonl");
  player.set_files({.progress = {}, .answers = lessons::AnswersFile::open(answers).value()});
  player.open(lesson_, 0);
  ASSERT_TRUE(update_until(app, [&] { return player.is_open(); }));
  EXPECT_EQ(app.view.choice.gpu, "l4");
  player.act(LessonPlayer::Action::show_me);
  ASSERT_TRUE(update_until(app, [&] { return player.outcome() != nullptr; }));
  EXPECT_FALSE(player.outcome()->truth);
  EXPECT_THAT(player.outcome()->unavailable,
              StartsWith("Not measured: no shipped recording has this run on NVIDIA L4"));

  app.notice.reset();
  app.commands.push(RunOnGpu{});
  std::string notice;
  ASSERT_TRUE(update_until(app, [&] {
    if (app.notice) notice = app.notice->text;
    return !app.measurements.measured.empty();
  }));
  EXPECT_THAT(notice, HasSubstr("measured flash2 forward, N = 448, d = 64 on NVIDIA L4"));
  EXPECT_THAT(notice, Not(HasSubstr("s:"))) << "the time is the answer";
  EXPECT_EQ(player.phase(), Phase::asking) << "now there is an answer";

  test::type(player, "5 s");
  player.act(LessonPlayer::Action::check);
  ASSERT_TRUE(update_until(app, [&] { return player.outcome() != nullptr; }));
  EXPECT_EQ(player.outcome()->verdict, lessons::Verdict::Kind::right);
  EXPECT_EQ(player.outcome()->kind, "measured");

  // A server without this GPU marks it by the measurement in the file
  const auto records = lessons::read_answers(answers).value().records;
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].outcome, "unavailable");
  ASSERT_EQ(records[1].measured.size(), 1U);
  const auto marks = lessons::grade(folder_.path(), {player.lesson()}).value().at(0);
  EXPECT_EQ(marks.total().right_first, 1U);
  EXPECT_EQ(marks.measured, 1U);
}

TEST_F(MeasuredLesson, AMeasurementLeavesTheAnswerThatIsBeingTypedAlone) {
  LessonPlayer player;
  test::open(player, lesson_, 0);
  test::type(player, "250 ms");
  const auto cue = [&] {
    player.add_measured(measured_run(player.prepared()->run, 0.25));
    return test::settle(player);
  }();
  EXPECT_FALSE(cue.enters);
  EXPECT_STREQ(player.draft.text.data(), "250 ms");
  test::act(player, LessonPlayer::Action::check);
  EXPECT_EQ(player.outcome()->verdict, lessons::Verdict::Kind::right);
  player.add_measured(measured_run(player.prepared()->run, 0.5));
  test::settle(player);
  EXPECT_EQ(player.outcome()->truth, lessons::Answer(0.25)) << "an answer that was shown stays";
}

TEST_F(MeasuredLesson, AStepThatLacksAMeasurementIsComputedAgain) {
  LessonPlayer player;
  test::open(player, lesson_, 1);
  EXPECT_EQ(player.prepared()->say, "It took (unavailable).");
  EXPECT_THAT(player.outcome()->unavailable, StartsWith("Not measured"));
  Recording without_time = measured_run(player.prepared()->run, 0.25);
  without_time.rows[0].measurement.reset();
  without_time.rows[0].error = failed("out of memory");
  player.add_measured(std::move(without_time));
  EXPECT_FALSE(test::settle(player).enters) << "nothing new is known";
  player.add_measured(measured_run(player.prepared()->run, 0.25));
  EXPECT_TRUE(test::settle(player).enters);
  EXPECT_EQ(player.prepared()->say, "It took 250 ms.");
  EXPECT_EQ(player.outcome()->unavailable, "");
}

TEST_F(MeasuredLesson, WhatWasMeasuredBeforeALessonCountsAsWell) {
  LessonPlayer player;
  test::open(player, lesson_, 2);
  const RunSpec run = player.prepared()->run;
  player.act(LessonPlayer::Action::leave);
  test::settle(player);
  player.add_measured(measured_run(run, 0.25));
  test::settle(player);
  test::open(player, lesson_, 1);
  EXPECT_EQ(player.prepared()->say, "It took 250 ms.");
}

}  // namespace
}  // namespace attnscope::app
