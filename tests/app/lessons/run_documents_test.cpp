/// Measurements as the source of answers: those of this session, otherwise those of a shipped
/// recording.
#include "app/lessons/run_documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/lessons/check_lesson.h"
#include "app/lessons/grade.h"
#include "tests/app/cli/cli_process.h"
#include "tests/app/lessons/lesson_texts.h"
#include "tests/app/lessons/measured_runs.h"

namespace attnscope::lessons {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kTime = "a.measured.time.median_s";
constexpr const char* kDramRead = "a.measured.lines[level=dram,quantity=read,launch=].recorded";

/// A run that is in h200.json; with another length, it is in no recording.
std::string recorded_lesson(const std::string& answer, int length = 4096) {
  return fmt::format(
      R"({{"schema": "attnscope.lesson/1", "title": "T", "runs": {{"a": {{"set": {{
            "algorithm": "flash2", "batch": 4, "heads": 32, "seq-len": {}, "head-dim": 64,
            "tiling": "kernel", "gpu": "h200"}}}}}},
          "steps": [{{"say": "x", "ask": {{"number": "?", "answer": "{}"}}}}]}})",
      length, answer);
}

/// The answer to a lesson's first question, in a session that has or has not measured its run.
struct AskedLesson {
  explicit AskedLesson(const std::string& text)
      : lesson(parsed(text).value()), runs(LessonRuns::create(lesson).value()) {}
  void measure(double time_s) {
    runs.set_session(session_of({measured_run(*runs.find("a"), time_s)}));
  }
  const Question& question() const { return *lesson.steps[0].ask; }
  Result<Answer> truth() { return truth_of(question(), runs); }
  std::string kind() { return std::string(basis_of(question(), runs).kind); }

  Lesson lesson;
  LessonRuns runs;
};

TEST(MeasuredValues, AreThoseOfTheSessionBeforeThoseOfAShippedRecording) {
  AskedLesson asked(recorded_lesson(kTime));
  const auto recorded = asked.truth();
  ASSERT_TRUE(recorded.ok()) << recorded.error().message;
  EXPECT_EQ(asked.kind(), "recorded");
  EXPECT_EQ(asked.question().unit, "s");

  asked.measure(0.25);
  EXPECT_EQ(asked.truth().value(), Answer(0.25));
  EXPECT_EQ(asked.kind(), "measured");
  ASSERT_EQ(basis_of(asked.question(), asked.runs).measured.size(), 1U);

  asked.measure(0.5);
  EXPECT_EQ(asked.truth().value(), Answer(0.5)) << "the newest";
  asked.runs.set_session(nullptr);
  EXPECT_EQ(asked.truth().value(), recorded.value());
  EXPECT_EQ(asked.kind(), "recorded");
}

TEST(MeasuredValues, ACounterThatTheSessionCouldNotReadIsThatOfTheRecording) {
  AskedLesson bytes(recorded_lesson(kDramRead));
  const auto recorded = bytes.truth();
  ASSERT_TRUE(recorded.ok()) << recorded.error().message;
  bytes.measure(0.25);
  EXPECT_EQ(bytes.truth().value(), recorded.value());
  EXPECT_EQ(bytes.kind(), "recorded");

  AskedLesson both(recorded_lesson(fmt::format("{} / {}", kDramRead, kTime)));
  both.measure(0.25);
  EXPECT_EQ(both.kind(), "measured and recorded");

  AskedLesson share(recorded_lesson(fmt::format("{} / a.traffic.requested.read_bytes", kDramRead)));
  EXPECT_EQ(share.kind(), "recorded and modelled");

  AskedLesson neither(recorded_lesson(kDramRead, 4032));
  neither.measure(0.25);
  ASSERT_FALSE(neither.truth().ok());
  EXPECT_EQ(neither.truth().error().kind, Error::Kind::unavailable);
  EXPECT_THAT(neither.truth().error().message, HasSubstr("needs permission"));
}

TEST(MeasuredValues, OnlyOfExactlyThisRunOnThisGpu) {
  AskedLesson asked(recorded_lesson(kTime, 4032));
  RunSpec other = *asked.runs.find("a");
  other.problem.batch = 2;
  Recording elsewhere = measured_run(*asked.runs.find("a"), 0.25);
  elsewhere.device.sm_count = 100;
  Recording failed_run = measured_run(*asked.runs.find("a"), 0.25);
  failed_run.rows[0].measurement.reset();
  failed_run.rows[0].error = failed("out of memory");
  asked.runs.set_session(session_of({measured_run(other, 0.25), elsewhere, failed_run}));
  EXPECT_FALSE(asked.truth().ok());
  asked.measure(0.25);
  EXPECT_EQ(asked.truth().value(), Answer(0.25));
}

TEST(MeasuredValues, WithoutAMeasurementOneLineSaysHowToGetOne) {
  AskedLesson asked(recorded_lesson(kTime, 4032));
  const auto truth = asked.truth();
  ASSERT_FALSE(truth.ok());
  EXPECT_EQ(truth.error().kind, Error::Kind::unavailable);
  const std::string reason =
      "no shipped recording has this run on NVIDIA H200 SXM 141 GB; on such a GPU, \"Run on "
      "GPU\" in the window measures it";
  EXPECT_EQ(truth.error().message, "not measured: " + reason);
  const LessonCheck check = check_lesson(asked.lesson);
  ASSERT_EQ(check.findings.size(), 1U);
  EXPECT_THAT(check.findings[0].message,
              StartsWith("no combination of values gives an answer: not measured"));

  asked.measure(0.25);
  EXPECT_EQ(check_lesson(asked.lesson).findings.size(), 1U) << "whatever a session has measured";
}

TEST(MeasuredValues, ARunThatNoKernelMeasuresSaysWhy) {
  AskedLesson asked(R"({"schema": "attnscope.lesson/1", "title": "T",
    "runs": {"a": {"set": {"algorithm": "standard", "fusion": "separate"}}},
    "steps": [{"say": "x", "ask": {"number": "?", "answer": "a.measured.time.median_s"}}]})");
  const auto truth = asked.truth();
  ASSERT_FALSE(truth.ok());
  EXPECT_THAT(truth.error().message, StartsWith("not measured: no kernel runs standard with"));
}

TEST(MeasuredValues, APathThatDoesNotExistIsAMistake) {
  AskedLesson asked(recorded_lesson("a.measured.tme.median_s"));
  ASSERT_EQ(check_lesson(asked.lesson).findings.size(), 1U);
  EXPECT_THAT(check_lesson(asked.lesson).findings[0].message, HasSubstr("unknown key 'tme'"));
}

TEST(MeasuredValues, ACurveHasOneMeasurementForEachPoint) {
  AskedLesson asked(R"({"schema": "attnscope.lesson/1", "title": "T",
    "runs": {"a": {"set": {"algorithm": "flash2", "head-dim": 64, "tiling": "kernel"}}},
    "steps": [{"say": "x", "ask": {"curve": "?", "over": "seq-len", "values": [448, 576],
                                   "answer": "a.measured.time.median_s"}}]})");
  std::vector<Recording> session;
  for (const Index N : {448, 576}) {
    RunSpec spec = *asked.runs.find("a");
    spec.problem.N = spec.problem.N_kv = N;
    session.push_back(measured_run(spec, static_cast<double>(N)));
  }
  asked.runs.set_session(session_of({session[0]}));
  EXPECT_FALSE(asked.truth().ok()) << "the second point is missing";
  asked.runs.set_session(session_of(session));
  EXPECT_EQ(asked.truth().value(), Answer(std::vector<double>{448.0, 576.0}));
  EXPECT_EQ(basis_of(asked.question(), asked.runs).measured.size(), 2U);
}

/// A student's answers, as the app and the terminal write them.
class MeasuredAnswers : public testing::Test {
 protected:
  void add(AskedLesson& asked, const std::string& name, double number) {
    const Verdict verdict = judge(asked.question(), number, asked.runs).value();
    const auto file = AnswersFile::open(folder_.file(name)).value();
    ASSERT_FALSE(
        file.add(record_of(asked.lesson, 0, asked.runs, {1, TruthShown::no}, number, verdict)));
  }
  StudentMarks marks_of(const Lesson& lesson) {
    return grade(folder_.path(), {lesson}).value().at(0);
  }

  ScratchFolder folder_;
};

TEST_F(MeasuredAnswers, AreMarkedWithTheMeasurementInTheirLine) {
  for (const int length : {4096, 4032}) {  // recorded, and not
    AskedLesson asked(recorded_lesson(kTime, length));
    asked.measure(0.25);
    folder_.write("ann.jsonl", "");
    add(asked, "ann.jsonl", 0.25);
    const auto records = read_answers(folder_.file("ann.jsonl")).value().records;
    ASSERT_EQ(records.size(), 1U);
    ASSERT_EQ(records[0].measured.size(), 1U);
    EXPECT_EQ(records[0].measured[0].device.name, "NVIDIA H200");
    EXPECT_EQ(records[0].measured[0].rows.at(0).measurement->time.median_s, 0.25);
    const StudentMarks marks = marks_of(asked.lesson);
    EXPECT_EQ(marks.total().right_first, 1U);
    EXPECT_EQ(marks.measured, 1U);
    EXPECT_EQ(marks.unmarked, 0U);
  }
}

TEST_F(MeasuredAnswers, WithoutOneTheMarksAreThoseOfTheShippedRecording) {
  AskedLesson asked(recorded_lesson(kTime));
  const double recorded = std::get<double>(asked.truth().value());
  add(asked, "ann.jsonl", recorded);
  EXPECT_THAT(attnscope::read_text(folder_.file("ann.jsonl")),
              testing::Not(HasSubstr("\"measured\":")));
  const StudentMarks marks = marks_of(asked.lesson);
  EXPECT_EQ(marks.total().right_first, 1U);
  EXPECT_EQ(marks.measured, 0U);
}

TEST_F(MeasuredAnswers, AMeasurementOfAnotherRunMarksNothing) {
  AskedLesson asked(recorded_lesson(kTime, 4032));
  asked.measure(0.25);
  add(asked, "ann.jsonl", 0.25);
  std::string line = attnscope::read_text(folder_.file("ann.jsonl"));
  const std::size_t rows = line.find("\"seq_len\":4032", line.find("\"measured\":"));
  ASSERT_NE(rows, line.npos);
  folder_.write("ann.jsonl", line.replace(rows, 14, "\"seq_len\":4031"));
  const StudentMarks marks = marks_of(asked.lesson);
  EXPECT_EQ(marks.unmarked, 1U);
  EXPECT_EQ(marks.total().right, 0U);

  folder_.write("ann.jsonl", line.replace(line.find("median_s"), 8, "median_x"));
  EXPECT_EQ(marks_of(asked.lesson).unreadable, 1U);
}

}  // namespace
}  // namespace attnscope::lessons
