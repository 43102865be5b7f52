#include "app/lessons/answers_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "app/lessons/grade.h"
#include "app/lessons/progress.h"
#include "tests/app/cli/cli_process.h"
#include "tests/app/lessons/lesson_texts.h"

namespace attnscope::lessons {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

Lesson two_questions() {
  return parsed(lesson_text(R"([
    {"say": "a", "ask": {"number": "?", "answer": "fa1.flops.matmul"}},
    {"say": "b", "ask": {"choice": "?", "options": [
      {"text": "A", "when": "fa1.flops.matmul > 0"}, {"text": "B", "when": "fa1.flops.matmul < 0"}]}}])"))
      .value();
}

/// Adds the answers as if a student had typed them; "show" asks to see the answer.
void answer(const Lesson& lesson, const AnswersFile& file, std::size_t step,
            const std::vector<std::string>& texts) {
  auto runs = LessonRuns::create(lesson).value();
  const Question& question = *lesson.steps[step].ask;
  Index attempt = 0;
  for (const std::string& text : texts) {
    ++attempt;
    if (text == "show") {
      ASSERT_FALSE(file.add(
          record_of(lesson, step, runs, {attempt, TruthShown::after}, std::nullopt, std::nullopt)));
      continue;
    }
    const Answer given = parse_answer(question, text).value();
    const Verdict verdict = judge(question, given, runs).value();
    const bool is_right = verdict.kind == Verdict::Kind::right;
    const Attempt made{attempt, is_right ? TruthShown::after : TruthShown::no};
    ASSERT_FALSE(file.add(record_of(lesson, step, runs, made, given, verdict)));
  }
}

TEST(AnswersFile, EachAnswerIsALineWithWhatIsNeededToMarkIt) {
  const ScratchFolder folder;
  const Lesson lesson = two_questions();
  const auto file = AnswersFile::open(folder.file("ann.jsonl"));
  ASSERT_TRUE(file.ok());
  answer(lesson, file.value(), 0, {"1", "262144"});
  answer(lesson, file.value(), 1, {"b"});
  const auto read = read_answers(folder.file("ann.jsonl"));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().unreadable, 0U);
  ASSERT_EQ(read.value().records.size(), 3U);
  const AnswerRecord& second = read.value().records[1];
  EXPECT_EQ(second.lesson, "test");
  EXPECT_EQ(second.lesson_hash, lesson.hash);
  EXPECT_EQ(second.step, 0U);
  EXPECT_EQ(second.attempt.number, 2);
  EXPECT_EQ(second.attempt.truth_shown, TruthShown::after);
  EXPECT_EQ(second.gpu, "h200");
  EXPECT_EQ(second.outcome, "right");
  EXPECT_EQ(second.answer, Answer(262144.0));
  EXPECT_THAT(second.run, HasSubstr("\"algorithm\":\"flash1\""));
  EXPECT_EQ(read.value().records[2].answer, Answer(Chosen{1}));
  EXPECT_EQ(read.value().records[2].outcome, "wrong");
}

TEST(AnswersFile, CountsTheEarlierAttemptsAtAQuestionOfTheLessonAsItIs) {
  const ScratchFolder folder;
  Lesson lesson = two_questions();
  const auto file = AnswersFile::open(folder.file("ann.jsonl")).value();
  const auto earlier = [&](std::size_t step) {
    return file.earlier_attempts(lesson, step).value();
  };
  EXPECT_EQ(earlier(0).count, 0);
  answer(lesson, file, 0, {"1", "2"});
  answer(lesson, file, 1, {"show"});
  EXPECT_EQ(earlier(0).count, 2);
  EXPECT_FALSE(earlier(0).truth_shown);
  EXPECT_EQ(earlier(1).count, 1);
  EXPECT_TRUE(earlier(1).truth_shown);
  ++lesson.hash;
  EXPECT_EQ(earlier(0).count, 0);
}

TEST(AnswersFile, RefusesAFileThatCannotBeWrittenOrContainsSomethingElse) {
  const ScratchFolder folder;
  const auto missing = AnswersFile::open(folder.file("none/ann.jsonl"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, Error::Kind::invalid_request);
  EXPECT_THAT(missing.error().message, HasSubstr("cannot be written"));
  const auto other = AnswersFile::open(folder.write("notes.txt", "my notes\n"));
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("something other than answers"));
  EXPECT_EQ(attnscope::read_text(folder.file("notes.txt")), "my notes\n");
}

/// Whatever a crash leaves at the end of the file, the answers before it are kept and new ones are
/// added on a new line.
TEST(AnswersFile, ATornLastLineLosesNothingElse) {
  const ScratchFolder folder;
  const Lesson lesson = two_questions();
  const std::string path = folder.file("ann.jsonl");
  const auto file = AnswersFile::open(path);
  ASSERT_TRUE(file.ok());
  answer(lesson, file.value(), 0, {"1", "262144"});
  const std::string whole = attnscope::read_text(path);
  const std::size_t second = whole.find('\n') + 1;
  for (std::size_t size = second; size < whole.size(); size += 37) {
    folder.write("ann.jsonl", whole.substr(0, size));
    const auto again = AnswersFile::open(path);
    ASSERT_TRUE(again.ok()) << size;
    answer(lesson, again.value(), 1, {"a"});
    const auto read = read_answers(path);
    ASSERT_TRUE(read.ok());
    ASSERT_GE(read.value().records.size(), 2U) << size;
    EXPECT_EQ(read.value().records.front().text, "1 FLOP");
    EXPECT_EQ(read.value().records.back().answer, Answer(Chosen{0})) << size;
  }
}

TEST(Grade, MarksAreComputedFromTheLessonAndNotReadFromTheFile) {
  const ScratchFolder folder;
  const Lesson lesson = two_questions();
  answer(lesson, AnswersFile::open(folder.file("ann.jsonl")).value(), 0, {"262144"});
  answer(lesson, AnswersFile::open(folder.file("ann.jsonl")).value(), 1, {"b", "a"});
  answer(lesson, AnswersFile::open(folder.file("bob.jsonl")).value(), 0, {"7", "show", "262144"});
  // A student who edits the outcome gains nothing
  std::string text = attnscope::read_text(folder.file("bob.jsonl"));
  text.replace(text.find("\"wrong\""), 7, "\"right\"");
  folder.write("bob.jsonl", text + "not an answer\n");

  const auto marks = grade(folder.path(), {lesson});
  ASSERT_TRUE(marks.ok()) << marks.error().message;
  ASSERT_EQ(marks.value().size(), 2U);
  const StudentMarks& ann = marks.value()[0];
  EXPECT_EQ(ann.student, "ann");
  EXPECT_EQ(ann.total().questions, 2U);
  EXPECT_EQ(ann.total().answered, 2U);
  EXPECT_EQ(ann.total().right_first, 1U);
  EXPECT_EQ(ann.total().right, 2U);
  const StudentMarks& bob = marks.value()[1];
  EXPECT_EQ(bob.total().answered, 1U);
  EXPECT_EQ(bob.total().right, 0U);
  EXPECT_EQ(bob.unreadable, 1U);

  const auto of_others = grade(folder.path(), {});
  ASSERT_TRUE(of_others.ok());
  EXPECT_EQ(of_others.value()[0].other_version, 3U);
}

/// The app shows the truth after a wrong answer as well; a later session asks again.
TEST(Grade, ARightAnswerAfterTheTruthWasShownDoesNotCount) {
  const ScratchFolder folder;
  const Lesson lesson = two_questions();
  auto runs = LessonRuns::create(lesson).value();
  const auto add = [&](const char* name, double number, Attempt attempt) {
    const Verdict verdict = judge(*lesson.steps[0].ask, number, runs).value();
    const auto file = AnswersFile::open(folder.file(name)).value();
    ASSERT_FALSE(file.add(record_of(lesson, 0, runs, attempt, number, verdict)));
  };
  add("ann.jsonl", 1.0, {1, TruthShown::after});
  add("ann.jsonl", 262144.0, {2, TruthShown::before});
  add("bob.jsonl", 262144.0, {1, TruthShown::before});  // it was shown in a session without a file
  add("cat.jsonl", 1.0, {1, TruthShown::no});
  add("cat.jsonl", 262144.0, {2, TruthShown::after});
  const auto marks = grade(folder.path(), {lesson}).value();
  ASSERT_EQ(marks.size(), 3U);
  for (const StudentMarks& student : marks) EXPECT_EQ(student.total().answered, 1U);
  EXPECT_EQ(marks[0].total().right, 0U);
  EXPECT_EQ(marks[1].total().right, 0U);
  EXPECT_EQ(marks[2].total().right, 1U);
}

TEST(Grade, RefusesAFolderWithoutAnswers) {
  const ScratchFolder folder;
  EXPECT_THAT(grade(folder.path(), {}).error().message, HasSubstr("no file NAME.jsonl"));
  EXPECT_THAT(grade(folder.path() / "none", {}).error().message, HasSubstr("cannot be read"));
}

TEST(Progress, IsBesideTheAppsState) {
  EXPECT_EQ(progress_file_beside("/a/state.json"), "/a/state.lessons.json");
}

TEST(Progress, IsKeptUntilTheLessonChanges) {
  const ScratchFolder folder;
  const fs::path file = folder.path() / "state" / "lessons.json";
  Lesson lesson = two_questions();
  {
    Progress progress(file);
    EXPECT_EQ(progress.find(lesson).step, 0U);
    ASSERT_FALSE(progress.keep(lesson, {.step = 1, .answered = {0}, .right = {0}}));
  }
  EXPECT_EQ(Progress(file).find(lesson).step, 1U);
  EXPECT_EQ(Progress(file).find(lesson).answered, std::set<std::size_t>{0});
  ++lesson.hash;
  EXPECT_EQ(Progress(file).find(lesson).step, 0U);
  std::ofstream(file) << "{";
  EXPECT_EQ(Progress(file).find(two_questions()).step, 0U);
}

}  // namespace
}  // namespace attnscope::lessons
