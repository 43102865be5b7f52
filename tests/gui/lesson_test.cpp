/// Lessons in the real program: pictures of every step, and a lesson played in a window.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "app/draw/axis.h"
#include "app/lessons/answers_file.h"
#include "tests/app/play/play_lesson.h"
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
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
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
  WindowSession window(1600, 900,
                       std::vector<std::string>{"--lesson", ATTNSCOPE_LESSON_FILE, "--step", "2",
                                                "--answers", answers});
  window.type("1GB");  // the field has the keyboard
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
  WindowSession window(1280, 720,
                       std::vector<std::string>{"--lesson", ATTNSCOPE_LESSON_FILE, "--step", "2"});
  window.click("lesson.show");
  const auto dump = window.final_dump();
  EXPECT_EQ(dump["state"]["lesson"]["phase"], "revealed");
  EXPECT_TRUE(dump["rects"].contains("panel.ledger"));
  EXPECT_TRUE(dump["rects"].contains("lesson.truth"));
  EXPECT_GT(dump["state"]["step"], 0);
}

TEST(Window, EscapeLeavesALesson) {
  WindowSession window(1600, 900, std::vector<std::string>{"--lesson", ATTNSCOPE_LESSON_FILE});
  window.key("Escape");
  const auto dump = window.final_dump();
  EXPECT_FALSE(dump["state"].contains("lesson"));
  EXPECT_TRUE(dump["rects"].contains("panel.timeline"));
}

/// Answers the questions of a shipped lesson in a window, with the mouse and the keyboard.
class WindowStudent {
 public:
  WindowStudent(std::string lesson, const std::string& answers)
      : lesson_(std::move(lesson)),
        window_(
            kWidth, kHeight,
            std::vector<std::string>{"--lesson", lesson_, "--step", "1", "--answers", answers}) {}

  void next() { window_.key("Next"); }
  void give(const test::AskedStep& asked, const lessons::Answer& answer) {
    if (const double* number = std::get_if<double>(&answer)) {
      window_.type(fmt::format("{:.4g}", *number));  // the field has the keyboard
    } else if (const auto* chosen = std::get_if<lessons::Chosen>(&answer)) {
      const std::string option =
          fmt::format("lesson.option.{}", lessons::letter_of(chosen->option));
      return window_.click_at(rect_of(asked.step, option));  // which also checks it
    } else if (const auto* tile = std::get_if<lessons::TilePlace>(&answer)) {
      click(asked.step, *tile);
    } else {
      draw(asked, std::get<std::vector<double>>(answer));
    }
    window_.key("Return");
  }
  nlohmann::json final_state() { return window_.final_state(); }

 private:
  static constexpr int kWidth = 1600;
  static constexpr int kHeight = 900;

  /// The lesson at this step, as a fresh app shows it.
  const nlohmann::json& dump_of(std::size_t step) {
    const auto found = dumps_.find(step);
    if (found != dumps_.end()) return found->second;
    return dumps_[step] =
               window_.dump_of({"--size", fmt::format("{}x{}", kWidth, kHeight), "--lesson",
                                lesson_, "--step", std::to_string(step + 1)});
  }
  Rect rect_of(std::size_t step, const std::string& widget) {
    return rect_in(dump_of(step), widget);
  }
  /// Clicks the middle of a tile of a problem with 4 x 4 tiles.
  void click(std::size_t step, const lessons::TilePlace& tile) {
    const Rect grid = rect_of(step, "scores.grid");
    const ImVec2 size{grid.width() / 4.0f, grid.height() / 4.0f};
    const ImVec2 corner{grid.min.x + size.x * static_cast<float>(tile.j),
                        grid.min.y + size.y * static_cast<float>(tile.i)};
    window_.click_at({corner, {corner.x + size.x, corner.y + size.y}});
  }
  /// Draws a curve with the mouse held down.
  void draw(const test::AskedStep& asked, const std::vector<double>& curve) {
    const Rect plot = rect_of(asked.step, "lesson.curve");
    const draw::Axis axis{"", asked.axis->logarithmic, asked.axis->low, asked.axis->high};
    const auto count = static_cast<float>(curve.size());
    std::vector<ImVec2> way;
    for (const double value : curve) {
      const float column = static_cast<float>(way.size()) + 0.5f;
      way.push_back({plot.min.x + plot.width() * column / count,
                     plot.max.y - plot.height() * axis.position(value)});
    }
    window_.drag_along(way);
  }

  std::string lesson_;
  WindowSession window_;
  std::map<std::size_t, nlohmann::json> dumps_;
};

/// Together they have every kind of question.
class WindowLesson : public testing::TestWithParam<const char*> {};

TEST_P(WindowLesson, IsPlayedFromItsFirstToItsLastStep) {
  const std::vector<test::AskedStep> asked = test::asked_steps(GetParam());
  ASSERT_FALSE(asked.empty());
  const std::size_t steps = lessons::load_lesson(GetParam()).value().steps.size();
  for (const bool right : {false, true}) {
    SCOPED_TRACE(right ? "right answers" : "wrong answers");
    const ScratchFolder folder;
    const std::string answers = folder / "student.jsonl";
    WindowStudent student(GetParam(), answers);
    auto next = asked.begin();
    for (std::size_t step = 0; step < steps; ++step) {
      if (step > 0) student.next();
      if (next == asked.end() || next->step != step) continue;
      student.give(*next, right ? next->truth : test::wrong_answer(next->question, next->truth));
      ++next;
    }
    const auto state = student.final_state();
    EXPECT_EQ(state["lesson"]["step"], steps);
    EXPECT_EQ(state["lesson"]["phase"], "revealed");

    const auto read = lessons::read_answers(answers);
    ASSERT_TRUE(read.ok());
    ASSERT_EQ(read.value().records.size(), asked.size());
    for (std::size_t n = 0; n < asked.size(); ++n) {
      const lessons::AnswerRecord& record = read.value().records[n];
      EXPECT_EQ(record.step, asked[n].step);
      EXPECT_TRUE(record.answer) << record.step;
      EXPECT_EQ(record.outcome == "right", right) << record.step << ": " << record.text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Window, WindowLesson, testing::Values("swap-the-loops", "double-the-sram"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace attnscope::app
