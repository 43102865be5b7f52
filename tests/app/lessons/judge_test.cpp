#include "app/lessons/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/field_rules.h"
#include "tests/app/lessons/lesson_texts.h"

namespace attnscope::lessons {
namespace {

using testing::HasSubstr;

/// One question and its runs.
struct JudgedQuestion {
  explicit JudgedQuestion(const char* ask)
      : lesson(parsed(lesson_asking(ask)).value()), runs(LessonRuns::create(lesson).value()) {}

  const Question& question() const { return *lesson.steps[0].ask; }
  Answer truth() { return truth_of(question(), runs).value(); }
  Verdict verdict(std::string_view text) {
    const auto answer = parse_answer(question(), text);
    EXPECT_TRUE(answer.ok()) << text;
    return judge(question(), answer.value(), runs).value();
  }

  Lesson lesson;
  LessonRuns runs;
};

constexpr const char* kBytes =
    R"({"number": "How many bytes does FA1 write?",
        "answer": "fa1.traffic.requested.write_bytes", "within": 1.25,
        "mistakes": [{"is": "fa2.traffic.requested.write_bytes", "why": "That writes O once."}]})";

TEST(Judge, ANumberIsRightWithinItsFactor) {
  JudgedQuestion asked(kBytes);
  const double truth = std::get<double>(asked.truth());
  // O, m and l of 64 rows, once for each of the 4 column tiles
  EXPECT_EQ(truth, 4.0 * 64 * (16 * 2 + 4 + 4));
  const auto kind = [&](double number) {
    return judge(asked.question(), Answer(number), asked.runs).value().kind;
  };
  EXPECT_EQ(kind(truth), Verdict::Kind::right);
  EXPECT_EQ(kind(1.25 * truth), Verdict::Kind::right);
  EXPECT_EQ(kind(truth / 1.25), Verdict::Kind::right);
  EXPECT_EQ(kind(1.27 * truth), Verdict::Kind::wrong);
  EXPECT_EQ(kind(truth / 1.27), Verdict::Kind::wrong);
  EXPECT_EQ(kind(-truth), Verdict::Kind::wrong);
  EXPECT_EQ(kind(0.0), Verdict::Kind::wrong);
}

TEST(Judge, AMistakeIsNamed) {
  JudgedQuestion asked(kBytes);
  const Verdict verdict = asked.verdict("2304 B");  // O and LSE once
  EXPECT_EQ(verdict.kind, Verdict::Kind::mistake);
  EXPECT_EQ(verdict.why, "That writes O once.");
}

TEST(Judge, UnderstandsUnits) {
  JudgedQuestion asked(kBytes);
  const auto number = [&](std::string_view text) {
    return std::get<double>(parse_answer(asked.question(), text).value());
  };
  EXPECT_DOUBLE_EQ(number("10.24 kB"), 10240);
  EXPECT_DOUBLE_EQ(number("1e4"), 1e4);
  EXPECT_DOUBLE_EQ(number(" 3 bytes "), 3);
  EXPECT_DOUBLE_EQ(number("4.4GB"), 4.4e9);
  EXPECT_DOUBLE_EQ(number("2 M"), 2e6);
  for (const char* text : {"", "many", "4 s", "GB", "1,2", "nan", "inf"}) {
    const auto answer = parse_answer(asked.question(), text);
    ASSERT_FALSE(answer.ok()) << text;
    EXPECT_EQ(answer.error().code, ErrorCode::not_understood);
    EXPECT_THAT(answer.error().message, HasSubstr("4.4 GB"));
  }
}

TEST(Judge, AChoiceHasOneRightOptionAndNamesTheMistakeOfTheOthers) {
  JudgedQuestion asked(R"({"choice": "Which one reads more?", "options": [
    {"text": "FA1", "when": "fa1.traffic.requested.write_bytes > fa2.traffic.requested.write_bytes"},
    {"text": "FA2", "when": "fa1.traffic.requested.write_bytes < fa2.traffic.requested.write_bytes",
     "why": "It writes O once."}]})");
  EXPECT_EQ(std::get<Chosen>(asked.truth()).option, 0U);
  EXPECT_EQ(asked.verdict("A").kind, Verdict::Kind::right);
  const Verdict verdict = asked.verdict("b");
  EXPECT_EQ(verdict.kind, Verdict::Kind::mistake);
  EXPECT_EQ(verdict.why, "It writes O once.");
  EXPECT_FALSE(parse_answer(asked.question(), "c").ok());
  EXPECT_FALSE(judge(asked.question(), Answer(Chosen{7}), asked.runs).ok());
  EXPECT_EQ(answer_text(asked.question(), Answer(Chosen{1})), "b) FA2");
}

TEST(Judge, ATileIsFoundInTheOrderOfTheLoops) {
  JudgedQuestion asked(R"json({"tile": "Which is second?", "answer": "tile(fa1, visit(fa1, 1))",
    "mistakes": [{"is": "tile(fa2, visit(fa2, 1))", "why": "That goes along the row."}]})json");
  EXPECT_EQ(std::get<TilePlace>(asked.truth()), (TilePlace{1, 0}));
  EXPECT_EQ(asked.verdict("1, 0").kind, Verdict::Kind::right);
  EXPECT_EQ(asked.verdict("1 0").kind, Verdict::Kind::right);
  EXPECT_EQ(asked.verdict("0,1").why, "That goes along the row.");
  EXPECT_EQ(asked.verdict("3, 3").kind, Verdict::Kind::wrong);
  EXPECT_FALSE(parse_answer(asked.question(), "1").ok());
}

TEST(Judge, ACurveIsRightWhenEveryPointIs) {
  JudgedQuestion asked(R"({"curve": "Operations?", "over": "seq-len", "values": [32, 64, 128],
    "answer": "fa2.flops.matmul", "within": 1.2,
    "mistakes": [{"is": "fa2.flops.matmul * 64 / fa2.problem.seq_len", "why": "Not a line."}]})");
  EXPECT_THAT(std::get<std::vector<double>>(asked.truth()),
              testing::ElementsAre(65536, 262144, 1048576));
  EXPECT_EQ(asked.verdict("70000, 260 k, 1 M").kind, Verdict::Kind::right);
  EXPECT_EQ(asked.verdict("70000, 260 k, 2 M").kind, Verdict::Kind::wrong);
  EXPECT_EQ(asked.verdict("131 k, 262 k, 524 k").why, "Not a line.");
  EXPECT_FALSE(parse_answer(asked.question(), "1, 2").ok());
  // The runs are unchanged
  EXPECT_EQ(asked.runs.find("fa2")->problem.N, 64);
}

TEST(Judge, ATextShowsItsValuesWithTheirUnits) {
  const Lesson lesson =
      parsed(
          lesson_text(
              R"([{"say": "FA2 writes {fa2.traffic.requested.write_bytes} of N = {fa2.problem.seq_len}."}])"))
          .value();
  auto runs = LessonRuns::create(lesson).value();
  const auto shown = text_of(lesson.steps[0].say, runs).value();
  EXPECT_EQ(shown.words, "FA2 writes 2.304 kB of N = 64.");
  EXPECT_FALSE(shown.unavailable);
}

TEST(Judge, ATextWithAValueThatIsMissingHasItsReason) {
  const Lesson lesson =
      parsed(lesson_text(R"([{"say": "{fa2.time.predicted_s} and {fa1.time.predicted_s}."}])"))
          .value();
  auto runs = LessonRuns::create(lesson, {{&run_field("gpu"), "t4"}}).value();
  const auto shown = text_of(lesson.steps[0].say, runs).value();
  EXPECT_EQ(shown.words, "(unavailable) and (unavailable).");
  ASSERT_TRUE(shown.unavailable);
  EXPECT_EQ(reason_sentence(*shown.unavailable, Reader::screen),
            "Not calibrated for NVIDIA T4: the GPU is not calibrated.");
}

TEST(Judge, ATimeHasTheUnitOfThePanels) {
  EXPECT_EQ(value_text(Value(12.5e-6), "s"), "12.5 µs");
  EXPECT_EQ(value_text(Value(0.0125), "s"), "12.5 ms");
  EXPECT_EQ(value_text(Value(4.182e12), "/s"), "4.182 × 10^12 per second");
  EXPECT_EQ(value_text(Value(14703.4), ""), "14703");
}

TEST(Judge, ChangesReachRunsThroughTheirOrigin) {
  const Lesson lesson = parsed(
                            R"({"schema": "attnscope.lesson/1", "title": "T",
          "runs": {"a": {"set": {"algorithm": "flash2", "seq-len": 64, "head-dim": 16}},
                   "b": {"from": "a", "set": {"seq-len": 128}}},
          "vary": {"head-dim": [16, 32]}, "steps": [{"say": "x"}]})")
                            .value();
  const auto change = parse_change(lesson, "head-dim", "32");
  ASSERT_TRUE(change.ok());
  const auto runs = LessonRuns::create(lesson, {change.value()});
  ASSERT_TRUE(runs.ok());
  EXPECT_EQ(runs.value().find("b")->problem.d, 32);
  EXPECT_EQ(runs.value().find("b")->problem.N, 128);
  EXPECT_TRUE(parse_change(lesson, "gpu", "t4").ok());
  EXPECT_FALSE(parse_change(lesson, "seq-len", "32").ok());
  EXPECT_FALSE(parse_change(lesson, "head-dim", "x").ok());
}

TEST(Judge, FirstDifferenceIsTheFirstResultThatDiffers) {
  const Lesson lesson = parsed(
                            R"({"schema": "attnscope.lesson/1", "title": "T",
          "runs": {"a": {"set": {"algorithm": "flash2", "seq-len": 32, "head-dim": 16,
                                 "block-rows": 16, "block-cols": 16, "dtype": "fp16"}},
                   "same": {"from": "a"}, "causal": {"from": "a", "set": {"mask": "causal"}},
                   "other": {"from": "a", "set": {"seed": 1}},
                   "exact": {"from": "a", "set": {"round-to-storage": false}}},
          "steps": [{"say": "x"}]})")
                            .value();
  auto runs = LessonRuns::create(lesson).value();
  EXPECT_EQ(runs.first_difference("a", "other").value(), 0);  // Q differs already
  EXPECT_GT(runs.first_difference("a", "exact").value(), 0);  // inputs are equal
  EXPECT_EQ(runs.first_difference("a", "same").error().kind, Error::Kind::unavailable);
  EXPECT_EQ(runs.first_difference("a", "causal").error().kind, Error::Kind::invalid_request);
}

TEST(Judge, ALaunchBeginsWhereTheOneBeforeItEnds) {
  const Lesson lesson = parsed(
                            R"({"schema": "attnscope.lesson/1", "title": "T",
          "runs": {"a": {"set": {"algorithm": "standard", "seq-len": 32, "head-dim": 16,
                                 "block-rows": 16, "block-cols": 16}}},
          "steps": [{"say": "x"}]})")
                            .value();
  auto runs = LessonRuns::create(lesson).value();
  EXPECT_EQ(runs.launch("a", 0).value(), 0);
  // Every tile of scores belongs to the first of the three launches
  EXPECT_GT(runs.launch("a", 1).value(), runs.visit("a", 3).value());
  EXPECT_GT(runs.launch("a", 2).value(), runs.launch("a", 1).value());
  EXPECT_THAT(runs.launch("a", 3).error().message, HasSubstr("use 0 to 2"));
}

}  // namespace
}  // namespace attnscope::lessons
