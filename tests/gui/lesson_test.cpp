/// Lessons in the real program: pictures of every step, and a lesson played in a window.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/lessons/answers_file.h"
#include "tests/gui/window_session.h"

namespace attnscope::app {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

TEST(RenderLesson, DrawsEveryStepBeforeAndAfterItsAnswer) {
  const ScratchFolder folder;
  const std::filesystem::path out = folder / "pictures";
  const Finished finished = run({ATTNSCOPE_PROGRAM, "render", "--lesson", ATTNSCOPE_LESSON_FILE,
                                 "--size", "1280x720", "--out", out});
  ASSERT_EQ(finished.status, 0) << finished.errors;
  EXPECT_EQ(finished.errors, "");
  EXPECT_THAT(names_in(out), UnorderedElementsAre("two-loops-1-shown.png", "two-loops-2-asked.png",
                                                  "two-loops-2-shown.png", "two-loops-3-asked.png",
                                                  "two-loops-3-shown.png", "two-loops-4-asked.png",
                                                  "two-loops-4-shown.png", "two-loops-5-asked.png",
                                                  "two-loops-5-shown.png"));
  for (const std::string& name : names_in(out)) {
    const Picture picture = read_picture(out / name);
    EXPECT_EQ(picture.width, 1280) << name;
    EXPECT_EQ(picture.height, 720) << name;
  }
  for (const char* step : {"2", "3", "4", "5"}) {
    const std::string stem = fmt::format("two-loops-{}", step);
    EXPECT_GT(count_different(read_picture(out / (stem + "-asked.png")),
                              read_picture(out / (stem + "-shown.png")), {{0, 0}, {1280, 720}}),
              500)
        << step;
  }
}

TEST(RenderLesson, AStepDrawnAloneLooksTheSame) {
  const ScratchFolder folder;
  for (const char* out : {"all", "one"}) {
    std::vector<std::string> words{ATTNSCOPE_PROGRAM, "render",   "--lesson", ATTNSCOPE_LESSON_FILE,
                                   "--size",          "1280x720", "--out",    folder / out};
    if (std::string(out) == "one") words.insert(words.end(), {"--step", "5"});
    ASSERT_EQ(run(words).status, 0);
  }
  EXPECT_THAT(names_in(folder / "one"),
              UnorderedElementsAre("two-loops-5-asked.png", "two-loops-5-shown.png"));
  // Only the card may differ, which marks the steps that were answered before
  const Picture one = read_picture(folder / "one" / "two-loops-5-asked.png");
  const Picture all = read_picture(folder / "all" / "two-loops-5-asked.png");
  EXPECT_EQ(count_different(one, all, {{420, 0}, {1280, 720}}), 0);
}

TEST(RenderLesson, BadRequestsGetOneLineAndStatusTwo) {
  const ScratchFolder folder;
  const std::string file = folder / "file";
  ASSERT_EQ(run({"touch", file}).status, 0);
  const std::string lesson = ATTNSCOPE_LESSON_FILE;
  const auto wrong =
      [&](const char* name, const char* set, const char* answer) {
        std::ofstream(folder / name)
            << R"({"schema": "attnscope.lesson/1", "title": "T", "runs": {"a": {)" << set
            << R"(}}, "steps": [{"say": "x"}, {"say": "x", "ask": {"number": "?", "answer": ")"
            << answer << R"("}}]})";
        return folder / name;
      };
  const std::string no_path = wrong("path.json", "", "a.flops.matmull");
  const std::string no_scene = wrong("scene.json", R"("scene": "nowhere")", "a.flops.matmul");
  const std::string no_run = wrong("run.json", R"("set": {"splits": 2})", "a.flops.matmul");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"render", "--lesson", no_path, "--out", folder / "x"}, "path.json: steps[1]: ask: a.flops"},
      {{"render", "--lesson", no_scene, "--out", folder / "x"}, "scene.json: runs: a: scene: "},
      {{"render", "--lesson", no_run, "--out", folder / "x"}, "run.json: runs: a: "},
      {{"--lesson", "no-such-lesson"}, "no-such-lesson"},
      {{"--lesson", lesson, "--step", "9"}, "has 5 steps"},
      {{"--lesson", lesson, "--step", "0"}, "whole numbers from 1"},
      {{"--lesson", lesson, "--answers", folder / "no/such/file"}, "cannot be written"},
      {{"--lesson", lesson, "--scene", "default"}, "--scene"},
      {{"render", "--lesson", "no-such-lesson", "--out", folder / "x"}, "no-such-lesson"},
      {{"render", "--lesson", lesson, "--out", file}, "not a folder"},
      {{"render", "--lesson", lesson, "--gif", folder / "x.gif"}, "--lesson"}};
  for (const auto& [words, part] : cases) {
    std::vector<std::string> all{ATTNSCOPE_PROGRAM};
    all.insert(all.end(), words.begin(), words.end());
    const Finished finished = run(all);
    EXPECT_EQ(finished.status, 2) << part << finished.errors;
    EXPECT_THAT(finished.errors, HasSubstr(part));
    EXPECT_EQ(std::ranges::count(finished.errors, '\n'), 1) << finished.errors;
  }
}

TEST(Window, ALessonIsPlayedByKeyboardAndMouse) {
  const ScratchFolder folder;
  const std::string answers = folder / "student.jsonl";
  WindowSession window(kWindowWidth, kWindowHeight,
                       {.lesson = ATTNSCOPE_LESSON_FILE, .step = 2, .answers = answers});
  window.type("1GB");  // the field has the focus
  window.key("Return");
  window.key("Next");
  window.key("Next");
  window.click("lesson.back");
  const auto dump = window.final_dump();
  EXPECT_EQ(dump["state"]["lesson"]["step"], 3);
  EXPECT_EQ(dump["state"]["lesson"]["phase"], "asking");
  EXPECT_TRUE(dump["rects"].contains("lesson.cover.ledger"));
  EXPECT_EQ(dump["state"]["algorithm"], "flash2");
  const auto read = lessons::read_answers(answers);
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read.value().records.size(), 1U);
  EXPECT_EQ(read.value().records[0].step, 1U);
  EXPECT_EQ(read.value().records[0].outcome, "wrong");
}

TEST(Window, ARevealedStepShowsItsNumbersAndItsPlace) {
  WindowSession window(kWindowWidth, kWindowHeight, {.lesson = ATTNSCOPE_LESSON_FILE, .step = 2});
  window.click("lesson.show");
  const auto dump = window.final_dump();
  EXPECT_EQ(dump["state"]["lesson"]["phase"], "revealed");
  EXPECT_TRUE(dump["rects"].contains("panel.ledger"));
  EXPECT_TRUE(dump["rects"].contains("lesson.truth"));
  EXPECT_GT(dump["state"]["step"], 0);
}

TEST(Window, EscapeLeavesALesson) {
  WindowSession window(kWindowWidth, kWindowHeight, {.lesson = ATTNSCOPE_LESSON_FILE});
  window.key("Escape");
  const auto dump = window.final_dump();
  EXPECT_FALSE(dump["state"].contains("lesson"));
  EXPECT_TRUE(dump["rects"].contains("panel.timeline"));
}

}  // namespace
}  // namespace attnscope::app
