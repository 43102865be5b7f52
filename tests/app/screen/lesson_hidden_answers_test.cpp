/// No step of a shipped lesson shows its answer before the question is answered.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>

#include "app/lessons/judge.h"
#include "tests/app/screen/screen_session.h"
#include "tests/app/screen/text_on_screen.h"

namespace attnscope::test {
namespace {

std::vector<std::string> shipped_lessons() {
  std::vector<std::string> names;
  for (const auto& lesson : lessons::list_shipped_lessons()) names.push_back(lesson.name);
  return names;
}

/// The numbers of a text as a student would type them, with the unit that follows.
std::vector<std::string> numbers_in(const std::string& words) {
  static const std::regex number(
      R"(\d[\d,]*(\.\d+)?(e[-+]?\d+)?( ?([kMGT]?i?B|bytes|us|µs|ms|s)\b)?)");
  std::vector<std::string> numbers;
  for (std::sregex_iterator it(words.begin(), words.end(), number), end; it != end; ++it) {
    std::string typed = it->str();
    std::erase(typed, ',');
    numbers.push_back(typed);
  }
  return numbers;
}

/// Whether the text contains the number, off by at most the share. One-digit numbers are left out:
/// they count steps, tiles and heads everywhere on the screen.
bool gives_away(const ScreenText& text, const lessons::Question& question, double truth,
                double share = 0.01) {
  return std::ranges::any_of(numbers_in(text.words), [&](const std::string& typed) {
    const auto answer = lessons::parse_answer(question, typed);
    if (typed.size() < 2 || !answer) return false;
    return std::abs(std::get<double>(answer.value()) - truth) <= share * std::abs(truth);
  });
}

/// Whether the text contains the number by chance, or among several other numbers.
bool is_chance(const std::string& lesson, std::size_t step, const ScreenText& text) {
  if (text.words == "The backward pass: 2, 2.5 or 3 times?") return true;
  if (text.words.ends_with("of 256 KiB")) return true;  // the registers of an SM
  if (text.words.starts_with("SM ")) return true;       // the number of a lane
  // How many times a tensor is read, not the number of thread blocks
  if (lesson == "swap-the-loops" && step == 6 && text.words == "256×") return true;
  // 2 N / d is 32 for N = 1024 and d = 64
  return lesson == "standard-writes-s-and-p" && step == 3 && text.words == "32";
}

/// Whether the text is on a button for a value that the student may set.
bool is_value_to_set(const app::NamedRects& rects, const ScreenText& text) {
  return std::ranges::any_of(rects.all(), [&](const auto& named) {
    return std::string_view(named.first).starts_with("lesson.set.") &&
           named.second.contains(text.rect.center());
  });
}

class HiddenAnswers : public testing::TestWithParam<std::string> {};

TEST_P(HiddenAnswers, NoTextHasTheNumberThatIsAskedFor) {
  ScreenSession session;
  app::LessonPlayer& player = session.app().lesson_player;
  player.open(GetParam(), 0);
  session.settle();
  ASSERT_TRUE(player.is_open());
  auto runs = lessons::LessonRuns::create(player.lesson());
  ASSERT_TRUE(runs.ok());
  std::size_t compared = 0;
  for (std::size_t step = 0; step < player.lesson().steps.size(); ++step) {
    player.open(GetParam(), step);
    session.settle();
    const auto& ask = player.current().ask;
    if (!ask || !std::holds_alternative<lessons::NumberQuestion>(ask->kind)) continue;
    ASSERT_TRUE(player.hides_answer());
    const auto truth = lessons::truth_of(*ask, runs.value());
    ASSERT_TRUE(truth.ok()) << truth.error().message;
    const float end = session.rects().find("lesson.card")->max.y;
    for (const ScreenText& text : texts_on_screen()) {
      if (text.rect.min.y > end) continue;  // the transport bar: steps and tiles
      if (is_value_to_set(session.rects(), text) || is_chance(GetParam(), step, text)) continue;
      ++compared;
      EXPECT_FALSE(gives_away(text, *ask, std::get<double>(truth.value())))
          << "step " << step + 1 << ", " << lessons::answer_text(*ask, truth.value()) << ": \""
          << text.words << '"';
    }
  }
  EXPECT_GT(compared, 20U);
}

/// The numbers that a lesson asks for, by step.
std::map<std::size_t, double> numbers_asked(const lessons::Lesson& lesson) {
  std::map<std::size_t, double> asked;
  auto runs = lessons::LessonRuns::create(lesson);
  for (std::size_t step = 0; step < lesson.steps.size(); ++step) {
    const auto& ask = lesson.steps[step].ask;
    if (!ask || !std::holds_alternative<lessons::NumberQuestion>(ask->kind)) continue;
    asked[step] = std::get<double>(lessons::truth_of(*ask, runs.value()).value());
  }
  return asked;
}

TEST_P(HiddenAnswers, NoStepShowsTheNumberOfALaterQuestion) {
  ScreenSession session;
  app::LessonPlayer& player = session.app().lesson_player;
  player.open(GetParam(), 0);
  session.settle();
  ASSERT_TRUE(player.is_open());
  const auto asked = numbers_asked(player.lesson());
  for (std::size_t step = 0; step < player.lesson().steps.size(); ++step) {
    player.open(GetParam(), step);
    session.settle();
    player.act(app::LessonPlayer::Action::show_me);
    session.settle();
    const float end = session.rects().find("lesson.card")->max.y;
    for (const ScreenText& text : texts_on_screen()) {
      if (text.rect.min.y > end || is_value_to_set(session.rects(), text)) continue;
      for (const auto& [later, truth] : asked) {
        // Counts of less than three digits are everywhere
        const bool is_small = truth == std::round(truth) && truth < 100.0;
        if (later <= step || is_small || is_chance(GetParam(), later, text)) continue;
        const lessons::Question& question = *player.lesson().steps[later].ask;
        EXPECT_FALSE(gives_away(text, question, truth, 0.003))
            << "step " << step + 1 << " shows the answer of step " << later + 1 << ", "
            << lessons::answer_text(question, truth) << ": \"" << text.words << '"';
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lessons, HiddenAnswers, testing::ValuesIn(shipped_lessons()),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace attnscope::test
