/// attnscope-cli lesson: in a terminal, as a student and a lecturer use it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/app/cli/cli_process.h"
#include "tests/support/wait_until.h"

namespace attnscope {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// The lesson's first two questions: FA1 writes 10.24 kB, FA2 less.
constexpr const char* kLesson = R"({"schema": "attnscope.lesson/1", "title": "Small",
  "runs": {
    "fa1": {"set": {"algorithm": "flash1", "seq-len": 64, "head-dim": 16, "block-rows": 16,
                    "block-cols": 16}},
    "fa2": {"from": "fa1", "set": {"algorithm": "flash2"}}},
  "vary": {"head-dim": [16, 32]},
  "steps": [
    {"say": "Each pass over j writes O, m and l of {fa1.problem.seq_len} rows.",
     "ask": {"number": "How many bytes does FA1 write?",
             "answer": "fa1.traffic.requested.write_bytes",
             "mistakes": [{"is": "fa2.traffic.requested.write_bytes", "why": "That writes O once."}]},
     "then": "FA2 writes {fa2.traffic.requested.write_bytes}."},
    {"say": "Compare.",
     "ask": {"choice": "Who writes more?", "options": [
       {"text": "FA1", "when": "fa1.traffic.requested.write_bytes > fa2.traffic.requested.write_bytes"},
       {"text": "FA2", "when": "fa1.traffic.requested.write_bytes < fa2.traffic.requested.write_bytes"}]}}]})";

/// Plays the lesson with these lines as standard input.
CliOutcome play(const ScratchFolder& folder, const std::string& lines, const std::string& options) {
  folder.write("small.json", kLesson);
  folder.write("in", lines);
  return run_shell("CLI lesson run small.json " + options + " < in", folder);
}

std::vector<json> answers_in(const ScratchFolder& folder) {
  std::vector<json> lines;
  std::istringstream text(read_text(folder.file("ann.jsonl")));
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
  return lines;
}

TEST(LessonCommand, AsksNamesTheMistakeAndReveals) {
  const ScratchFolder folder;
  const auto outcome = play(folder, "2304\nwhat\n10.24 kB\na\n", "--answers ann.jsonl");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Each pass over j writes O, m and l of 64 rows."));
  EXPECT_THAT(outcome.out, HasSubstr("Not 2.304 kB. That writes O once. Try again, or type show."));
  EXPECT_THAT(outcome.out, HasSubstr("'what' is not an answer; use a number of bytes"));
  EXPECT_THAT(outcome.out, HasSubstr("Right. The answer is 10.24 kB (modelled)."));
  EXPECT_THAT(outcome.out, HasSubstr("FA2 writes 2.304 kB."));
  EXPECT_THAT(outcome.out, HasSubstr("  b) FA2"));
  EXPECT_THAT(outcome.out, HasSubstr("1 of 2 questions right on the first attempt"));
  const auto answers = answers_in(folder);
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0].at("outcome"), "mistake");
  EXPECT_EQ(answers[1].at("attempt"), 2);
  EXPECT_EQ(answers[1].at("outcome"), "right");
  EXPECT_EQ(answers[2].at("step"), 2);
  EXPECT_EQ(answers[2].at("answer").at("option"), 0);
  EXPECT_EQ(answers[2].at("gpu"), "h200");
}

/// Text keeps its own line breaks, and the line after one is as long as any other.
TEST(LessonCommand, KeepsTheLinesOfAText) {
  const ScratchFolder folder;
  const std::string first(60, 'a');
  const std::string second = "the second line has room for all of its words";
  std::string lesson = kLesson;
  const std::string then = "FA2 writes {fa2.traffic.requested.write_bytes}.";
  lesson.replace(lesson.find(then), then.size(), first + "\\n" + second);
  folder.write("lines.json", lesson);
  folder.write("in", "show\n");
  const auto outcome = run_shell("CLI lesson run lines.json < in", folder);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\n" + first + "\n" + second + "\n"));
}

TEST(LessonCommand, SaysWhereThePanelsAreAndHowATileIsTyped) {
  const ScratchFolder folder;
  folder.write("in", "");
  const auto outcome = run_shell("CLI lesson run flash1-loops --step 2 < in", folder);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              StartsWith("The window shows the panels: attnscope --lesson flash1-loops\n"));
  EXPECT_THAT(outcome.out, HasSubstr("  row, column =\n> "));
}

TEST(LessonCommand, SaysOnceThatTheGpuIsNotCalibrated) {
  const ScratchFolder folder;
  folder.write("in", "quit\n");
  const auto outcome =
      run_shell("CLI lesson run when-is-the-gpu-full --step 2 --set gpu=a100-80gb < in", folder);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::string second = outcome.out.substr(0, outcome.out.find("step 3 of"));
  const std::string reason =
      "Not calibrated for NVIDIA A100 SXM4 80 GB: the GPU is not calibrated.";
  EXPECT_THAT(second, HasSubstr("take as one?\n" + reason + "\n"));
  EXPECT_EQ(second.find("not calibrated", second.find(reason) + reason.size()), std::string::npos);
  EXPECT_EQ(second.find("almost free"), std::string::npos) << "that follows the answer";
}

/// No part of the answer is printed before the student answers.
TEST(LessonCommand, RevealsNothingBeforeAnAnswer) {
  const ScratchFolder folder;
  const auto outcome = play(folder, "", "");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("How many bytes does FA1 write?"));
  EXPECT_EQ(outcome.out.find("10.24"), std::string::npos) << outcome.out;
}

TEST(LessonCommand, ChangesAreMadeAndRecorded) {
  const ScratchFolder folder;
  const auto outcome = play(folder, "show\n", "--step 1 --set head-dim=32 --answers ann.jsonl");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("The answer is 18.43 kB"));
  ASSERT_EQ(answers_in(folder).size(), 1U);
  EXPECT_EQ(answers_in(folder)[0].at("changes"), json({{"head-dim", "32"}}));
  EXPECT_EQ(answers_in(folder)[0].at("run").at("problem").at("head_dim"), 32);
  EXPECT_EQ(answers_in(folder)[0].at("outcome"), "shown");
}

TEST(LessonCommand, RefusesInOneLine) {
  const ScratchFolder folder;
  const auto refused = [&](const std::string& options) {
    const auto outcome = play(folder, "", options);
    EXPECT_EQ(outcome.status, 2) << options;
    EXPECT_EQ(outcome.error_lines(), 1) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(refused("--answers none/ann.jsonl"), HasSubstr("cannot be written"));
  EXPECT_THAT(refused("--answers small.json"), HasSubstr("something other than answers"));
  EXPECT_THAT(refused("--step 3"), HasSubstr("from 1 to 2"));
  EXPECT_THAT(refused("--set seq-len=32"),
              HasSubstr("not a field that this lesson lets you change"));
  EXPECT_THAT(refused("--set head-dim"), HasSubstr("FIELD=VALUE"));
  EXPECT_THAT(refused("--json -"), HasSubstr("--json"));
  EXPECT_THAT(run_cli("lesson").err, HasSubstr("list, run, grade, check"));
  EXPECT_THAT(run_cli("lesson run").err, HasSubstr("needs the name or the file"));
  EXPECT_THAT(run_cli("lesson check swap-the-lops").err, HasSubstr("swap-the-loops"));
  EXPECT_THAT(run_cli("lesson grade /nowhere").err, HasSubstr("cannot be read"));
}

TEST(LessonCommand, ChecksAFile) {
  const ScratchFolder folder;
  folder.write("small.json", kLesson);
  const auto good = run_shell("CLI lesson check small.json", folder);
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_EQ(good.out, "small: 2 questions at 3 points, no mistakes\n");
  std::string text = kLesson;
  text.replace(text.find("requested.write"), 9, "requestet");
  folder.write("bad.json", text);
  const auto bad = run_shell("CLI lesson check bad.json", folder);
  EXPECT_EQ(bad.status, 2);
  EXPECT_EQ(bad.error_lines(), 1);
  EXPECT_THAT(bad.out, StartsWith("steps[0]: ask: fa1.traffic.requestet.write_bytes: unknown key"));
}

/// Each mistake is reported once, whether reading or computing reveals it.
TEST(LessonCommand, ChecksPrintsEachMistakeOnce) {
  const ScratchFolder folder;
  std::string text = kLesson;
  text.replace(text.find("requested.write"), 9, "requestet");
  folder.write("path.json", text);
  const auto path = run_shell("CLI lesson check path.json", folder);
  EXPECT_EQ(path.status, 2);
  EXPECT_EQ(path.err, "error: path.json: 1 mistake\n");
  EXPECT_EQ(path.out.find("requestet"), path.out.rfind("requestet.write_bytes")) << path.out;

  text = kLesson;
  text.replace(text.find("seq-len"), 7, "seq_len");
  text.replace(text.find("answer"), 6, "anser");
  text.replace(text.rfind("when"), 4, "wenn");
  folder.write("fields.json", text);
  const auto fields = run_shell("CLI lesson check fields.json", folder);
  EXPECT_EQ(fields.status, 2);
  EXPECT_EQ(fields.err, "error: fields.json: 3 mistakes\n");
  EXPECT_EQ(std::ranges::count(fields.out, '\n'), 3) << fields.out;
  EXPECT_THAT(fields.out, AllOf(HasSubstr("runs: fa1: set: seq_len: "),
                                HasSubstr("steps[0]: ask: unknown field 'anser'"),
                                HasSubstr("steps[1]: ask: options[1]: unknown field 'wenn'")));
}

TEST(LessonCommand, AMistakeThatIsMetInPlayHasItsFileAndStep) {
  const ScratchFolder folder;
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = kLesson;
    text.replace(text.find(from), from.size(), to);
    folder.write("bad.json", text);
    folder.write("in", "show\n");
    const auto outcome = run_shell("CLI lesson run bad.json < in", folder);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.error_lines(), 1) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(refused("fa1.traffic.requested", "fa1.traffic.requestet"),
              StartsWith("error: bad.json: steps[0]: ask: fa1.traffic.requestet.write_bytes: "));
  EXPECT_THAT(refused("{fa1.problem", "{fa1.problm"),
              StartsWith("error: bad.json: steps[0]: say: "));
  EXPECT_THAT(refused("{fa2.traffic", "{fa2.trafic"),
              StartsWith("error: bad.json: steps[0]: then: "));
  EXPECT_THAT(refused("\"algorithm\": \"flash1\"", "\"splits\": 2"),
              StartsWith("error: bad.json: runs: fa1: "));
}

TEST(LessonCommand, AttemptsAreCountedOverSessions) {
  const ScratchFolder folder;
  play(folder, "1\nquit\n", "--answers ann.jsonl");
  play(folder, "2\n10.24 kB\nquit\n", "--answers ann.jsonl");
  play(folder, "10.24 kB\nquit\n", "--answers ann.jsonl");
  const auto answers = answers_in(folder);
  ASSERT_EQ(answers.size(), 4U);
  const char* const shown[] = {"no", "no", "after", "before"};
  for (std::size_t n = 0; n < answers.size(); ++n) {
    EXPECT_EQ(answers[n].at("attempt"), n + 1);
    EXPECT_EQ(answers[n].at("truth_shown"), shown[n]);
  }
}

TEST(LessonCommand, GradesOneRowPerStudent) {
  const ScratchFolder folder;
  play(folder, "10.24 kB\nb\na\n", "--answers ann.jsonl");
  play(folder, "1\nshow\nquit\n", "--answers bob.jsonl");
  const auto outcome = run_shell("CLI lesson grade . --lesson small.json --csv -", folder);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(
      outcome.out,
      "student,questions,answered,right_first,right,measured,other_version,unmarked,unreadable,"
      "small.right_first,small.right,small.questions\n"
      "ann,2,2,1,2,0,0,0,0,1,2,2\n"
      "bob,2,1,0,0,0,0,0,0,0,0,2\n");
}

/// If the program is killed while the student types, every earlier answer is in the file.
TEST(LessonCommand, AKilledProgramLosesOnlyTheAnswerBeingTyped) {
  const ScratchFolder folder;
  folder.write("small.json", kLesson);
  ASSERT_EQ(::mkfifo(folder.file("in").c_str(), 0600), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string command = "cd " + folder.path().string() + " && exec " +
                                ATTNSCOPE_CLI_PROGRAM +
                                " lesson run small.json --answers ann.jsonl < in > out 2> err";
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  FILE* const keys = std::fopen(folder.file("in").c_str(), "w");
  ASSERT_NE(keys, nullptr);
  std::fputs("2304\n10240\na", keys);  // the last one is being typed
  std::fflush(keys);
  const auto asks_again = [&] {
    return read_text(folder.file("out")).find("Who writes more?") != std::string::npos;
  };
  EXPECT_TRUE(test::wait_until(asks_again, child));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  std::fclose(keys);
  EXPECT_TRUE(WIFSIGNALED(status));
  const auto answers = answers_in(folder);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[1].at("outcome"), "right");
}

}  // namespace
}  // namespace attnscope
