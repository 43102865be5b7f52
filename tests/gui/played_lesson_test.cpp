/// Shipped lessons played in a window, from the first step to the last.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/draw/axis.h"
#include "app/lessons/answers_file.h"
#include "tests/app/play/play_lesson.h"
#include "tests/app/screen/screen_session.h"
#include "tests/gui/window_session.h"
#include "tests/support/wait_until.h"

namespace attnscope::app {
namespace {

/// Plays a lesson in a window with the mouse and the keyboard. The same lesson is played in
/// parallel on a screen without a window, which says where the widgets are: both have the size with
/// which the app opens.
class WindowStudent {
 public:
  WindowStudent(const std::string& lesson, std::string answers)
      : answers_(std::move(answers)),
        window_(1600, 900, {.lesson = lesson, .step = 1, .answers = answers_}) {
    player().open(lesson, 0);
    screen_.settle();
  }

  void next() {
    window_.send("key Next");
    window_.rest();
    player().act(LessonPlayer::Action::next);
    screen_.settle();
  }

  /// Gives an answer, and waits until it is in the file.
  void answer(const test::AskedStep& asked, const lessons::Answer& answer) {
    if (const double* number = std::get_if<double>(&answer)) {
      window_.send(
          fmt::format("type --args 1 --delay 20 {:.4g}", *number));  // the field has the focus
    } else if (const auto* chosen = std::get_if<lessons::Chosen>(&answer)) {
      click(rect(fmt::format("lesson.option.{}", lessons::letter_of(chosen->option))));
    } else if (const auto* tile = std::get_if<lessons::TilePlace>(&answer)) {
      click(rect_of(*tile));
    } else {
      draw(asked, std::get<std::vector<double>>(answer));
    }
    if (!std::holds_alternative<lessons::Chosen>(answer)) window_.send("key Return");
    wait_for_record();
    window_.wait_for_new_frames();  // the field for another attempt takes the focus
    test::enter(player(), answer);
    player().act(LessonPlayer::Action::check);
    screen_.settle();
  }

  /// Sets a field that the step depends on to the lesson's own value, so that the question is asked
  /// again; false if the step depends on none.
  bool begin_again() {
    const lessons::Lesson& lesson = player().lesson();
    const auto vary = std::ranges::find_if(lesson.vary, [&](const lessons::Vary& each) {
      return lesson.reaches(*each.field, lesson.steps[player().step()]);
    });
    if (vary == lesson.vary.end()) return false;
    click(rect(fmt::format("lesson.set.{}.lesson", vary->field->option)));
    window_.rest();
    player().change(*vary->field, std::nullopt);
    screen_.settle();
    return true;
  }

  nlohmann::json final_state() { return window_.final_state(); }

 private:
  LessonPlayer& player() { return screen_.app().lesson_player; }
  Rect rect(const std::string& widget) const {
    const auto found = screen_.rects().find(widget);
    if (!found) throw std::runtime_error("no widget " + widget);
    return *found;
  }
  Rect rect_of(const lessons::TilePlace& tile) {
    const Rect grid = rect("scores.grid");
    const RunInfo& run = *screen_.app().snapshot()->run;
    const ImVec2 size{grid.width() / static_cast<float>(run.problem().N_kv),
                      grid.height() / static_cast<float>(run.problem().N)};  // of a score
    const Tiling& tiling = run.tiling();
    const auto row = [&](Index i) {
      return grid.min.y + size.y * static_cast<float>(i * tiling.Br);
    };
    const auto col = [&](Index j) {
      return grid.min.x + size.x * static_cast<float>(j * tiling.Bc);
    };
    return {{col(tile.j), row(tile.i)}, {col(tile.j + 1), row(tile.i + 1)}};
  }

  void move_mouse(ImVec2 to) {
    window_.send(fmt::format("mousemove {} {}", std::lround(to.x), std::lround(to.y)));
  }
  void click(const Rect& rect) {
    move_mouse(rect.center());
    window_.send("mousedown 1");
    window_.send("mouseup 1");
  }
  void draw(const test::AskedStep& asked, const std::vector<double>& curve) {
    const Rect plot = rect("lesson.curve");
    const draw::Axis axis{"", asked.axis->logarithmic, asked.axis->low, asked.axis->high};
    const auto place_of = [&](std::size_t n) {
      const float share = (static_cast<float>(n) + 0.5f) / static_cast<float>(curve.size());
      return ImVec2{plot.min.x + plot.width() * share,
                    plot.max.y - plot.height() * axis.position(curve[n])};
    };
    move_mouse(place_of(0));
    window_.send("mousedown 1");
    for (std::size_t n = 1; n < curve.size(); ++n) move_mouse(place_of(n));
    window_.send("mouseup 1");
  }

  void wait_for_record() {
    ++records_;
    const auto recorded = [&] {
      const auto read = lessons::read_answers(answers_);
      return read && read.value().records.size() >= records_;
    };
    if (test::wait_until(recorded)) return;
    throw std::runtime_error(fmt::format("answer {} is not in the file", records_));
  }

  std::string answers_;
  std::size_t records_ = 0;  ///< in the file
  WindowSession window_;
  test::ScreenSession screen_;
};

/// The two lessons together have every kind of question.
class WindowLesson : public testing::TestWithParam<const char*> {
 protected:
  struct Given {
    std::size_t step;
    Index attempt;
    bool right;
  };

  /// Plays the lesson from first to last step. `give` answers each question and returns its answer.
  /// Expects that the file has exactly these answers.
  template <typename Give>
  std::vector<Given> play(const std::string& file, const Give& give) const {
    const std::string answers = folder_ / file;
    WindowStudent student(GetParam(), answers);
    std::vector<Given> given;
    auto next = asked_.begin();
    for (std::size_t step = 0; step < steps_; ++step) {
      if (step > 0) student.next();
      if (next == asked_.end() || next->step != step) continue;
      std::ranges::copy(give(student, *next), std::back_inserter(given));
      ++next;
    }
    EXPECT_TRUE(next == asked_.end());
    const auto state = student.final_state();
    EXPECT_EQ(state["lesson"]["step"], steps_);
    EXPECT_EQ(state["lesson"]["phase"], "revealed");
    expect_records(answers, given);
    return given;
  }

  const std::vector<test::AskedStep> asked_ = test::asked_steps(GetParam());

 private:
  static void expect_records(const std::string& answers, const std::vector<Given>& given) {
    const auto read = lessons::read_answers(answers);
    ASSERT_TRUE(read.ok());
    ASSERT_EQ(read.value().records.size(), given.size());
    for (std::size_t n = 0; n < given.size(); ++n) {
      const lessons::AnswerRecord& record = read.value().records[n];
      EXPECT_EQ(record.step, given[n].step);
      EXPECT_EQ(record.attempt.number, given[n].attempt);
      EXPECT_EQ(record.outcome == "right", given[n].right) << record.step << ": " << record.text;
      EXPECT_NE(record.outcome, "shown");
    }
  }

  const std::size_t steps_ = lessons::load_lesson(GetParam()).value().steps.size();
  const ScratchFolder folder_;
};

TEST_P(WindowLesson, IsPlayedWithAWrongAndThenARightAnswerToEachQuestion) {
  ASSERT_FALSE(asked_.empty());
  const auto wrong_then_right = [](WindowStudent& student, const test::AskedStep& asked) {
    student.answer(asked, test::wrong_answer(asked.question, asked.truth));
    std::vector<Given> given = {{asked.step, 1, false}};
    if (student.begin_again()) {
      student.answer(asked, asked.truth);
      given.push_back({asked.step, 2, true});
    }
    return given;
  };
  const auto given = play("wrong.jsonl", wrong_then_right);
  EXPECT_GT(given.size(), asked_.size());
  if (given.size() == 2 * asked_.size()) return;
  // Another student answers those questions that cannot be asked again
  play("right.jsonl", [](WindowStudent& student, const test::AskedStep& asked) {
    student.answer(asked, asked.truth);
    return std::vector<Given>{{asked.step, 1, true}};
  });
}

INSTANTIATE_TEST_SUITE_P(Window, WindowLesson, testing::Values("swap-the-loops", "double-the-sram"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace attnscope::app
