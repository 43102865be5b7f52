/// Files that are not lessons: each is rejected in one clear line that names the field.
#include "app/lessons/lesson.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/lessons/check_lesson.h"
#include "tests/app/cli/cli_process.h"
#include "tests/app/lessons/lesson_texts.h"

namespace attnscope::lessons {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string lesson_refusal(const std::string& text) {
  const auto lesson = parsed(text);
  EXPECT_FALSE(lesson.ok()) << text;
  return lesson ? "" : lesson.error().message;
}

/// The findings of a lesson that can be read, one per line.
std::string findings(const std::string& text) {
  const auto lesson = parsed(text);
  EXPECT_TRUE(lesson.ok()) << (lesson ? "" : lesson.error().message);
  if (!lesson) return "";
  std::string lines;
  for (const Finding& finding : check_lesson(lesson.value()).findings) {
    EXPECT_THAT(finding.line(), Not(HasSubstr("\n")));
    lines += finding.line() + "\n";
  }
  return lines;
}

constexpr const char* kGood =
    R"({"number": "?", "answer": "fa1.flops.matmul",
        "mistakes": [{"is": "2 * fa1.flops.matmul", "why": "Twice."}]})";

TEST(Lesson, AGoodOneIsReadAndChecked) {
  const auto lesson = parsed(lesson_asking(kGood));
  ASSERT_TRUE(lesson.ok()) << lesson.error().message;
  EXPECT_EQ(lesson.value().name, "test");
  ASSERT_EQ(lesson.value().runs.size(), 2U);
  EXPECT_EQ(lesson.value().runs[0].name, "fa1");
  EXPECT_EQ(lesson.value().steps.size(), 1U);
  EXPECT_EQ(lesson.value().steps[0].ask->unit, "FLOP");
  EXPECT_EQ(findings(lesson_asking(kGood)), "");
}

TEST(Lesson, ItsHashFollowsTheContentsAndNotTheLayout) {
  const std::string text = lesson_asking(kGood);
  const auto hash = [](const std::string& of) { return parsed(of).value().hash; };
  EXPECT_EQ(hash(text), hash("\n " + text));
  std::string other = text;
  other.replace(other.find("Twice"), 5, "Thrice");
  EXPECT_NE(hash(text), hash(other));
}

TEST(Lesson, RefusesFieldsThatAreWrong) {
  EXPECT_THAT(lesson_refusal(R"({"schema": "attnscope.scene/1"})"), HasSubstr("attnscope.lesson"));
  EXPECT_THAT(lesson_refusal(lesson_text("[]")), HasSubstr("steps: 0 steps"));
  EXPECT_THAT(lesson_refusal(lesson_text(R"([{"sya": "x"}])")),
              AllOf(HasSubstr("steps[0]"), HasSubstr("unknown field 'sya'; known: say, then")));
  EXPECT_THAT(lesson_refusal(lesson_text(R"([{"say": 3}])")), HasSubstr("steps[0]: say"));
  EXPECT_THAT(lesson_refusal(lesson_text(R"([{"say": "x", "show": {"panels": ["legder"]}}])")),
              AllOf(HasSubstr("steps[0]: show: panels"), HasSubstr("did you mean 'ledger'")));
  EXPECT_THAT(lesson_refusal(lesson_text(R"([{"say": "x", "show": {"beside": "fa3"}}])")),
              HasSubstr("steps[0]: show: beside"));
  EXPECT_THAT(lesson_refusal(lesson_text(R"([{"say": "x", "show": {"run": "fa3"}}])")),
              HasSubstr("unknown run 'fa3'"));
  EXPECT_THAT(lesson_refusal(lesson_text(R"([{"say": "x", "show": {"highlight": ["Z9"]}}])")),
              HasSubstr("unknown tensor 'Z9'"));
  EXPECT_THAT(lesson_refusal(lesson_text(R"([{"say": "{fa1.flops"}])")),
              HasSubstr("'}' is missing"));
}

TEST(Lesson, HighlightsLinesOfTheLedgerAndHidesPartsOfPanels) {
  const auto lesson = parsed(lesson_text(
      R"([{"say": "x", "show": {"highlight": ["S", "S written", "DRAM read"],
                                "hide": ["time", "safe"]}}])"));
  ASSERT_TRUE(lesson.ok()) << lesson.error().message;
  const Show& show = lesson.value().steps[0].show;
  EXPECT_THAT(show.highlights, testing::ElementsAre("S", "S written", "DRAM read"));
  EXPECT_THAT(show.hidden, testing::ElementsAre("time", "safe"));
  EXPECT_THAT(lesson_refusal(lesson_text(R"([{"say": "x", "show": {"highlight": ["S writen"]}}])")),
              HasSubstr("did you mean 'S written'"));
  EXPECT_THAT(lesson_refusal(lesson_text(R"([{"say": "x", "show": {"hide": ["times"]}}])")),
              AllOf(HasSubstr("steps[0]: show: hide"), HasSubstr("did you mean 'time'")));
}

TEST(Lesson, PlacesThePlayheadBeforeTheAnswerAndAfterIt) {
  const auto lesson = parsed(lesson_text(
      R"json([{"say": "x", "show": {"start": "visit(fa1, 0)", "step": "visit(fa1, 1)"}}])json"));
  ASSERT_TRUE(lesson.ok()) << lesson.error().message;
  const Show& show = lesson.value().steps[0].show;
  ASSERT_TRUE(show.start && show.step);
  EXPECT_EQ(show.start->text(), "visit(fa1, 0)");
  EXPECT_EQ(show.step->text(), "visit(fa1, 1)");
  EXPECT_THAT(
      lesson_refusal(lesson_text(R"json([{"say": "x", "show": {"start": "visit(fa1,"}}])json")),
      HasSubstr("steps[0]: show: start"));
}

TEST(Lesson, RefusesRunsThatAreWrong) {
  const auto with_runs = [](const std::string& runs) {
    return lesson_refusal(R"({"schema": "attnscope.lesson/1", "title": "T", "runs": )" + runs +
                          R"(, "steps": [{"say": "x"}]})");
  };
  EXPECT_THAT(with_runs("{}"), HasSubstr("runs: no run is given"));
  EXPECT_THAT(with_runs(R"({"a": {"set": {"seq_len": 64}}})"),
              AllOf(HasSubstr("runs: a: set"), HasSubstr("did you mean 'seq-len'")));
  EXPECT_THAT(with_runs(R"({"a": {"set": {"seq-len": "many"}}})"),
              AllOf(HasSubstr("runs: a: set: seq-len"), HasSubstr("many")));
  EXPECT_THAT(with_runs(R"({"a": {"set": {"seq-len": 0}}})"), HasSubstr("runs: a: set: seq-len"));
  EXPECT_THAT(with_runs(R"({"a": {"from": "b"}})"), HasSubstr("'b' is not a run"));
  EXPECT_THAT(with_runs(R"({"a": {"from": "b"}, "b": {"from": "a"}})"), HasSubstr("runs: a: from"));
  EXPECT_THAT(with_runs(R"({"a-b": {}})"), HasSubstr("letters, digits"));
}

TEST(Lesson, RefusesQuestionsThatAreWrong) {
  EXPECT_THAT(lesson_refusal(lesson_asking(R"({"answer": "fa1.flops.matmul"})")),
              HasSubstr("steps[0]: ask: a question needs one of number, choice, tile or curve"));
  EXPECT_THAT(lesson_refusal(lesson_asking(R"({"number": "?"})")),
              HasSubstr("steps[0]: ask: 'answer' is missing"));
  EXPECT_THAT(lesson_refusal(lesson_asking(R"({"number": "?", "answer": "fa1.flops +"})")),
              HasSubstr("steps[0]: ask: answer"));
  EXPECT_THAT(lesson_refusal(lesson_asking(R"({"number": "?", "answer": "fa9.flops.matmul"})")),
              HasSubstr("unknown run 'fa9'"));
  EXPECT_THAT(lesson_refusal(lesson_asking(R"({"number": "?", "answer": "1", "within": 0.5})")),
              HasSubstr("steps[0]: ask: within: 0.5 is out of range"));
  EXPECT_THAT(lesson_refusal(
                  lesson_asking(R"({"number": "?", "answer": "1", "mistakes": [{"why": "x"}]})")),
              HasSubstr("steps[0]: ask: mistakes[0]: 'why' without 'is'"));
  EXPECT_THAT(
      lesson_refusal(lesson_asking(R"({"choice": "?", "options": [{"text": "a", "why": "x"}]})")),
      HasSubstr("steps[0]: ask: options[0]: 'when' is missing"));
  EXPECT_THAT(lesson_refusal(
                  lesson_asking(R"({"choice": "?", "options": [{"text": "a", "when": "true"}]})")),
              HasSubstr("two options or more"));
  EXPECT_THAT(lesson_refusal(lesson_asking(
                  R"({"curve": "?", "over": "seq-len", "values": [64], "answer": "1"})")),
              HasSubstr("give 2 or more"));
}

TEST(Lesson, AFieldWithAWrongNameIsNamedRatherThanTheOneThatIsMissing) {
  EXPECT_THAT(lesson_refusal(lesson_asking(R"({"number": "?", "anser": "1"})")),
              HasSubstr("steps[0]: ask: unknown field 'anser'; did you mean 'answer'?"));
}

TEST(Lesson, AllMistakesOfAFileAreCollected) {
  const ScratchFolder folder;
  const std::string path = folder.write("wrong.json", R"({"schema": "attnscope.lesson/1",
    "title": "T", "ordre": 1,
    "runs": {"a": {"set": {"seq_len": 64}}, "b": {"from": "a", "sett": {}}, "c": {}},
    "steps": [{"sya": "x"}, {"say": "{a.flops", "ask": {"number": "?", "answer": "c."}},
              {"say": "{b.flops.matmul}", "show": {"run": "b"}}]})");
  const auto read = read_lesson(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(read.value().mistakes,
              testing::ElementsAre(
                  StartsWith("unknown field 'ordre'"), StartsWith("runs: a: set: seq_len: "),
                  StartsWith("runs: b: unknown field 'sett'"),
                  StartsWith("steps[0]: unknown field 'sya'"), StartsWith("steps[0]: say: "),
                  StartsWith("steps[1]: say: "), StartsWith("steps[1]: ask: answer: ")));
  const auto first = load_lesson(path);
  ASSERT_FALSE(first.ok());
  EXPECT_THAT(first.error().message,
              AllOf(HasSubstr("unknown field 'ordre'"),
                    HasSubstr("and 6 more, see attnscope-cli lesson check")));
}

TEST(Lesson, AMissingSceneIsOneShortLine) {
  const std::string message = lesson_refusal(R"({"schema": "attnscope.lesson/1", "title": "T",
    "runs": {"a": {"scene": "flash1-63"}}, "steps": [{"say": "x"}]})");
  EXPECT_THAT(message, AllOf(StartsWith("test.json: runs: a: scene: 'flash1-63' is neither one of"),
                             HasSubstr("see attnscope-cli list scenes"),
                             HasSubstr("did you mean 'flash1-64'?")));
  EXPECT_LT(message.size(), 200U);
}

TEST(Lesson, AStudentMayChangeTheGpuUnlessARunSetsIt) {
  const auto fields = [](const char* set) {
    const auto lesson = parsed(fmt::format(
        R"({{"schema": "attnscope.lesson/1", "title": "T", "runs": {{"a": {{"set": {{{}}}}}}},
             "vary": {{"seq-len": [64]}}, "steps": [{{"say": "x"}}]}})",
        set));
    std::vector<std::string> options;
    for (const Vary& choice : lesson.value().choices) options.emplace_back(choice.field->option);
    return options;
  };
  EXPECT_THAT(fields(""), testing::ElementsAre("seq-len", "gpu"));
  EXPECT_THAT(fields(R"("gpu": "h200")"), testing::ElementsAre("seq-len"));
}

TEST(Lesson, ARunThatTheAnswerBringsExistsAndFollowsAQuestion) {
  const auto step = [](const char* show, const char* ask) {
    return lesson_text(fmt::format(R"([{{"say": "x", "show": {}{}}}])", show, ask));
  };
  const char* const ask = R"(, "ask": {"number": "?", "answer": "1"})";
  EXPECT_TRUE(parsed(step(R"({"run": "fa1", "reveal": "fa1"})", ask)).ok());
  EXPECT_THAT(lesson_refusal(step(R"({"reveal": "fa9"})", ask)),
              HasSubstr("steps[0]: show: reveal: unknown run 'fa9'"));
  EXPECT_THAT(lesson_refusal(step(R"({"reveal": "fa1"})", "")),
              HasSubstr("steps[0]: show: reveal: this step has no question"));
}

TEST(CheckLesson, FindsAPathThatDoesNotExist) {
  EXPECT_EQ(
      findings(lesson_asking(R"({"number": "?", "answer": "fa1.flops.matmull"})")),
      "steps[0]: ask: fa1.flops.matmull: unknown key 'matmull'; did you mean 'matmul'? known: "
      "matmul, non_matmul, exponentials\n");
  EXPECT_THAT(findings(lesson_asking(R"({"number": "?", "answer": "fa1.flops"})")),
              HasSubstr("an object, not a value"));
  EXPECT_THAT(findings(lesson_asking(R"({"number": "?", "answer": "fa1.flops.matmul.x"})")),
              HasSubstr("has no keys"));
  EXPECT_THAT(findings(lesson_asking(
                  R"({"number": "?", "answer": "fa1.traffic.requested.by_launch[9].read_bytes"})")),
              HasSubstr("has 1 elements"));
  EXPECT_THAT(
      findings(lesson_asking(
          R"({"number": "?", "answer": "fa1.traffic.requested.by_launch[name=x].read_bytes"})")),
      HasSubstr("matches no element"));
  EXPECT_THAT(findings(lesson_text(R"([{"say": "{fa1.nothing}"}])")),
              StartsWith("steps[0]: say: "));
}

TEST(CheckLesson, FindsAQuestionWithNoneOrTwoRightAnswers) {
  const auto choice = [](const char* a, const char* b) {
    return lesson_asking(fmt::format(
        R"({{"choice": "?", "options": [{{"text": "A", "when": "{}"}}, {{"text": "B", "when": "{}"}}]}})",
        a, b));
  };
  EXPECT_EQ(findings(choice("fa1.flops.matmul > 0", "fa1.flops.matmul < 0")), "");
  EXPECT_EQ(findings(choice("fa1.flops.matmul < 0", "fa1.flops.matmul < 0")),
            "steps[0]: ask: no option is right\n");
  EXPECT_EQ(findings(choice("fa1.flops.matmul > 0", "fa1.flops.matmul > 1")),
            "steps[0]: ask: options 'A' and 'B' are both right\n");
  EXPECT_THAT(findings(choice("fa1.flops.matmul", "true")), HasSubstr("not a condition"));
}

TEST(CheckLesson, FindsAMistakeThatIsRightOrIsListedTwice) {
  const auto mistakes = [](const char* list) {
    return findings(lesson_asking(
        fmt::format(R"({{"number": "?", "answer": "fa1.flops.matmul", "mistakes": [{}]}})", list)));
  };
  EXPECT_THAT(mistakes(R"({"is": "1.05 * fa1.flops.matmul", "why": "x"})"),
              StartsWith("steps[0]: ask: mistakes[0]: 275.3 kFLOP would be accepted as right"));
  EXPECT_THAT(mistakes(R"({"is": "2 * fa1.flops.matmul", "why": "x"},
                          {"is": "2.1 * fa1.flops.matmul", "why": "y"})"),
              StartsWith("steps[0]: ask: mistakes[1]: mistakes[0] leads to the same answer"));
}

TEST(CheckLesson, FindsAnAnswerThatDoesNotAgreeWithItsSecondComputation) {
  const auto with = [](const char* agrees) {
    return findings(lesson_asking(
        fmt::format(R"({{"number": "?", "answer": "fa1.flops.matmul", "agrees": "{}"}})", agrees)));
  };
  EXPECT_EQ(with("4 * 64 * 64 * 16"), "");
  EXPECT_THAT(with("2 * 64 * 64 * 16"),
              StartsWith("steps[0]: ask: agrees: the second computation gives 131.1 kFLOP"));
}

TEST(CheckLesson, FindsAFieldThatDoesNotApply) {
  const auto with_run = [](const char* run) {
    return findings(fmt::format(
        R"({{"schema": "attnscope.lesson/1", "title": "T", "runs": {{"a": {}}},
             "steps": [{{"say": "x"}}]}})",
        run));
  };
  EXPECT_THAT(with_run(R"({"set": {"algorithm": "flash2", "splits": 2}})"),
              AllOf(StartsWith("runs: a: "), HasSubstr("--splits")));
}

TEST(CheckLesson, FindsAPlaceThatCannotBeReached) {
  const auto going_to = [](const char* place, int length) {
    return findings(fmt::format(
        R"({{"schema": "attnscope.lesson/1", "title": "T",
             "runs": {{"a": {{"set": {{"algorithm": "flash2", "seq-len": {}, "head-dim": 16,
                                       "block-rows": 16, "block-cols": 16}}}},
                       "same": {{"from": "a"}}}},
             "steps": [{{"say": "x", "show": {{"run": "a", "step": "{}"}}}}]}})",
        length, place));
  };
  EXPECT_EQ(going_to("visit(a, 1)", 2048), "");
  EXPECT_THAT(going_to("visit(a, 99)", 64),
              StartsWith("steps[0]: show: step: visit 99: the run computes 16 tiles"));
  EXPECT_THAT(going_to("visit(a, 1)", 8192),
              StartsWith("steps[0]: show: step: 262144 tiles of scores are too many"));
  EXPECT_THAT(going_to("first_difference(a, same)", 64),
              StartsWith("steps[0]: show: step: no result differs"));
}

TEST(CheckLesson, WalksEveryCombinationOfValues) {
  const auto lesson = parsed(
      R"({"schema": "attnscope.lesson/1", "title": "T",
          "runs": {"a": {"set": {"algorithm": "flash2", "seq-len": 64, "head-dim": 16}}},
          "vary": {"seq-len": [64, 128], "head-dim": [16, 32]},
          "steps": [{"say": "x", "ask": {"choice": "?", "options": [
            {"text": "A", "when": "a.problem.seq_len * a.problem.head_dim < 4096"},
            {"text": "B", "when": "a.problem.seq_len < 128"}]}}]})");
  ASSERT_TRUE(lesson.ok()) << lesson.error().message;
  const LessonCheck check = check_lesson(lesson.value());
  EXPECT_EQ(check.points, 5U);
  ASSERT_EQ(check.findings.size(), 1U);
  EXPECT_EQ(check.findings[0].field, "steps[0]: ask");
}

/// Why the first step's question has no computed answer.
Error error_of_first_answer(const Result<Lesson>& lesson) {
  EXPECT_TRUE(lesson.ok());
  auto runs = LessonRuns::create(lesson.value());
  EXPECT_TRUE(runs.ok());
  const auto truth = truth_of(*lesson.value().steps[0].ask, runs.value());
  EXPECT_FALSE(truth.ok());
  return truth.ok() ? Error{} : truth.error();
}

TEST(CheckLesson, AQuestionAboutTimeIsUnavailableWithoutACalibration) {
  const auto lesson = parsed(
      R"({"schema": "attnscope.lesson/1", "title": "T",
          "runs": {"a": {"set": {"algorithm": "flash2", "seq-len": 1024, "gpu": "t4"}}},
          "steps": [{"say": "x", "ask": {"number": "?", "answer": "a.time.predicted_s"}}]})");
  const Error error = error_of_first_answer(lesson);
  EXPECT_EQ(error.kind, Error::Kind::unavailable);
  EXPECT_THAT(error.message, StartsWith("not calibrated for "));
  EXPECT_THAT(check_lesson(lesson.value()).findings.at(0).message,
              HasSubstr("no combination of values gives an answer"));
}

TEST(CheckLesson, ATimeThatIsNotCalibratedNamesFieldsAsItsReaderDoes) {
  const auto lesson = parsed(
      R"({"schema": "attnscope.lesson/1", "title": "T",
          "runs": {"a": {"set": {"algorithm": "flash2", "seq-len": 256, "head-dim": 300}}},
          "steps": [{"say": "x", "ask": {"number": "?", "answer": "a.time.predicted_s"}}]})");
  const Error error = error_of_first_answer(lesson);
  EXPECT_THAT(words(error, Reader::screen), HasSubstr(": d is 300; "));
  EXPECT_THAT(words(error, Reader::command_line), HasSubstr(": --head-dim is 300; "));
}

}  // namespace
}  // namespace attnscope::lessons
