/// No step of a shipped lesson shows its answer before the question is answered.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <set>

#include "app/draw/axis.h"
#include "app/lessons/judge.h"
#include "app/screen/lesson_view.h"
#include "app/ui/theme.h"
#include "tests/app/play/play_lesson.h"
#include "tests/app/screen/screen_session.h"
#include "tests/app/screen/text_on_screen.h"

namespace attnscope::test {
namespace {

/// The numbers in the text as a student would type them, with the unit that follows.
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
        // Counts of less than three digits are everywhere, but not as factors: "24×"
        const bool is_small =
            truth == std::round(truth) && truth < 100.0 && !text.words.ends_with("×");
        if (later <= step || is_small || is_chance(GetParam(), later, text)) continue;
        const lessons::Question& question = *player.lesson().steps[later].ask;
        EXPECT_FALSE(gives_away(text, question, truth, 0.003))
            << "step " << step + 1 << " shows the answer of step " << later + 1 << ", "
            << lessons::answer_text(question, truth) << ": \"" << text.words << '"';
      }
    }
  }
}

/// Lines of the ledger: the run, and the line's label or its name in lessons ("O written").
using Lines = std::set<std::pair<std::string, std::string>>;

/// The line of the ledger that shows the value of the path.
std::optional<std::string> line_of(const lessons::Path& path) {
  const auto& parts = path.parts;
  if (parts.size() < 3 || parts[0].key != "traffic") return std::nullopt;
  const std::string& level = parts[1].key;
  if (level != "requested" && level != "dram") return std::nullopt;
  const bool is_of_tensor = parts.size() == 5 && parts[2].key == "by_tensor";
  const std::string subject = is_of_tensor ? parts[3].key : level == "dram" ? "DRAM" : level;
  return subject + (parts.back().key == "write_bytes" ? " written" : " read");
}

/// The lines of the ledger that would answer a number or a choice.
Lines lines_asked(const lessons::Question& question) {
  Lines lines;
  const auto add = [&](const lessons::Expression& expression) {
    for (const lessons::Path& path : expression.paths()) {
      if (const auto line = line_of(path)) lines.emplace(path.run, *line);
    }
  };
  if (const auto* number = std::get_if<lessons::NumberQuestion>(&question.kind))
    add(number->answer);
  if (const auto* choice = std::get_if<lessons::ChoiceQuestion>(&question.kind)) {
    for (const auto& option : choice->options) add(option.when);
  }
  return lines;
}

/// The lines in the ledgers of the step's runs.
Lines lines_shown(const ScreenSession& session, const lessons::Show& show) {
  Lines lines;
  const auto panel = session.rects().find("panel.ledger");
  if (!panel) return lines;
  const std::string& own = show.reveal.empty() ? show.run : show.reveal;
  for (const ScreenText& text : texts_on_screen()) {
    const bool is_line = text.words.ends_with(" read") || text.words.ends_with(" written");
    if (!is_line || text.rect.min.x < panel->min.x) continue;
    lines.emplace(text.rect.min.x > panel->max.x ? show.beside : own, text.words);
  }
  return lines;
}

/// Whether one of the names, as lines_asked() gives them, means the line.
bool has_name(const Lines& names, const Lines::value_type& line) {
  return std::ranges::any_of(names, [&](const auto& name) {
    // m and l share a line: "l, m written"
    return line.first == name.first && (", " + line.second).ends_with(" " + name.second);
  });
}

/// Whether each of the names means one of the lines.
bool has_all(const Lines& lines, const Lines& names) {
  return std::ranges::all_of(names, [&](const auto& name) {
    return std::ranges::any_of(lines, [&](const auto& line) { return has_name({name}, line); });
  });
}

TEST_P(HiddenAnswers, NoLedgerHasTheLinesOfALaterQuestion) {
  ScreenSession session;
  app::LessonPlayer& player = session.app().lesson_player;
  player.open(GetParam(), 0);
  session.settle();
  ASSERT_TRUE(player.is_open());
  Lines asked;  // so far
  Lines shown;
  Lines due;  // those shown when their question had been asked; later ones may combine them
  for (std::size_t step = 0; step < player.lesson().steps.size(); ++step) {
    player.open(GetParam(), step);
    session.settle();
    const auto& ask = player.current().ask;
    const Lines lines = ask ? lines_asked(*ask) : Lines{};
    EXPECT_TRUE(lines.empty() || !has_all(shown, lines) || has_all(due, lines))
        << "the steps before step " << step + 1 << " show its answer";
    asked.insert(lines.begin(), lines.end());
    player.act(app::LessonPlayer::Action::show_me);
    session.settle();
    for (const auto& line : lines_shown(session, player.current().show)) {
      shown.insert(line);
      if (has_name(asked, line)) due.insert(line);
    }
  }
  const auto has_ledger = [](const lessons::Step& step) {
    return std::ranges::find(step.show.panels, "ledger") != step.show.panels.end();
  };
  EXPECT_EQ(shown.empty(), std::ranges::none_of(player.lesson().steps, has_ledger));
}

/// A number that the options of a choice compare.
struct Compared {
  lessons::Question question;  ///< that would ask for it
  double number = 0.0;
};

/// The different numbers on the sides of the options' comparisons. Not constants, conditions, and
/// counts of one digit.
std::vector<Compared> numbers_compared(const lessons::ChoiceQuestion& choice,
                                       lessons::LessonRuns& runs) {
  static const std::regex between(R"( (<=?|>=?|==|and|or) )");
  std::map<std::string, Compared> compared;
  for (const auto& option : choice.options) {
    const std::string& when = option.when.text();
    for (std::sregex_token_iterator it(when.begin(), when.end(), between, -1), end; it != end;
         ++it) {
      const auto side = lessons::Expression::parse(it->str());
      if (!side || side.value().paths().empty()) continue;
      const auto number = side.value().number(runs);
      if (!number) continue;
      const bool is_digit = number.value() == std::round(number.value());
      if (is_digit && std::abs(number.value()) < 10.0) continue;
      compared[it->str()] = {{.text = "",
                              .kind = lessons::NumberQuestion{.answer = side.value()},
                              .unit = side.value().unit()},
                             number.value()};
    }
  }
  std::vector<Compared> numbers;
  for (auto& [text, each] : compared) numbers.push_back(std::move(each));
  return numbers;
}

/// Whether the text of a panel contains the number. The card may give numbers to reason with.
bool is_shown(const ScreenSession& session, const std::vector<ScreenText>& texts,
              const Compared& compared) {
  const app::Rect card = *session.rects().find("lesson.card");
  return std::ranges::any_of(texts, [&](const ScreenText& text) {
    return text.rect.min.y <= card.max.y && !card.contains(text.rect.center()) &&
           gives_away(text, compared.question, compared.number);
  });
}

/// What marks an option of a choice: the colour of its left edge.
ImU32 mark_of(const ScreenSession& session, std::size_t option) {
  const auto rect =
      session.rects().find(fmt::format("lesson.option.{}", lessons::letter_of(option)));
  return rect ? session.color_at({rect->min.x + 0.5f, rect->center().y}) : 0;
}

/// The place of a computed curve's point in the plot of the question.
ImVec2 place_of(const app::Rect& plot, const app::CurveAxis& scale,
                const std::vector<double>& curve, std::size_t n) {
  const app::draw::Axis axis{"", scale.logarithmic, scale.low, scale.high};
  const float share = (static_cast<float>(n) + 0.5f) / static_cast<float>(curve.size());
  return {plot.min.x + plot.width() * share, plot.max.y - plot.height() * axis.position(curve[n])};
}

/// Expects the marks of the answer on the screen, or none.
void expect_marks(ScreenSession& session, const test::AskedStep& asked, bool shown) {
  const app::Theme& theme = app::theme(session.app().view.theme);
  if (const auto* chosen = std::get_if<lessons::Chosen>(&asked.truth)) {
    const auto& choice = std::get<lessons::ChoiceQuestion>(asked.question.kind);
    for (std::size_t n = 0; n < choice.options.size(); ++n) {
      const ImU32 mark = mark_of(session, n);
      EXPECT_NE(mark, theme.warning) << n;
      EXPECT_EQ(mark == theme.good, shown && n == chosen->option) << n;
    }
  } else if (const auto* tile = std::get_if<lessons::TilePlace>(&asked.truth)) {
    EXPECT_EQ(app::lesson_tile(session.app()).has_value(), shown);
    EXPECT_EQ(session.app().view.pointed.has_value(), shown);
    const app::LessonPlayer& player = session.app().lesson_player;
    auto runs = lessons::LessonRuns::create(player.lesson());
    const auto at_playhead = runs.value().tile(player.current().show.run, session.app().view.step);
    EXPECT_EQ(at_playhead.ok() && at_playhead.value() == *tile, shown);
  } else if (const auto* curve = std::get_if<std::vector<double>>(&asked.truth)) {
    const app::Rect plot = session.rects().find("lesson.curve").value_or(app::Rect{});
    EXPECT_EQ(session.rects().find("lesson.curve.value.0").has_value(), shown);
    EXPECT_TRUE(shown || !session.rects().find("panel.charts"));
    for (std::size_t n = 0; n < curve->size(); ++n) {
      const ImU32 color = session.color_at(place_of(plot, *asked.axis, *curve, n));
      EXPECT_EQ(color == theme.good, shown) << n;
    }
  }
}

TEST_P(HiddenAnswers, NothingMarksTheOptionTheTileOrTheCurve) {
  ScreenSession session;
  app::LessonPlayer& player = session.app().lesson_player;
  for (const test::AskedStep& asked : test::asked_steps(GetParam())) {
    SCOPED_TRACE(fmt::format("step {}", asked.step + 1));
    player.open(GetParam(), asked.step);
    session.settle();
    ASSERT_TRUE(player.hides_answer());
    EXPECT_FALSE(session.rects().find("lesson.truth"));
    expect_marks(session, asked, false);
    player.act(app::LessonPlayer::Action::show_me);
    session.settle();
    EXPECT_TRUE(session.rects().find("lesson.truth"));
    expect_marks(session, asked, true);
  }
}

TEST_P(HiddenAnswers, NoChoiceIsBetweenNumbersOnTheScreen) {
  ScreenSession session;
  app::LessonPlayer& player = session.app().lesson_player;
  player.open(GetParam(), 0);
  session.settle();
  ASSERT_TRUE(player.is_open());
  auto runs = lessons::LessonRuns::create(player.lesson());
  ASSERT_TRUE(runs.ok());
  for (std::size_t step = 0; step < player.lesson().steps.size(); ++step) {
    const auto& ask = player.lesson().steps[step].ask;
    if (!ask || !std::holds_alternative<lessons::ChoiceQuestion>(ask->kind)) continue;
    const auto compared =
        numbers_compared(std::get<lessons::ChoiceQuestion>(ask->kind), runs.value());
    if (compared.empty()) continue;
    player.open(GetParam(), step);
    session.settle();
    ASSERT_TRUE(player.hides_answer());
    const std::vector<ScreenText> texts = texts_on_screen();
    std::string shown;
    std::size_t count = 0;
    for (const Compared& each : compared) {
      if (!is_shown(session, texts, each)) continue;
      ++count;
      shown += " " + lessons::value_text(each.number, each.question.unit);
    }
    EXPECT_LT(count, compared.size()) << "step " << step + 1 << " shows" << shown;
  }
}

/// What the previous test looks for is present once the question is answered.
TEST(ShownAnswers, TheNumbersOfAChoiceAreOnTheScreen) {
  ScreenSession session;
  app::LessonPlayer& player = session.app().lesson_player;
  player.open("swap-the-loops", 4);
  session.settle();
  session.click("lesson.show");
  auto runs = lessons::LessonRuns::create(player.lesson());
  ASSERT_TRUE(runs.ok());
  const auto compared =
      numbers_compared(std::get<lessons::ChoiceQuestion>(player.current().ask->kind), runs.value());
  EXPECT_EQ(compared.size(), 2U);
  const std::vector<ScreenText> texts = texts_on_screen();
  for (const Compared& each : compared) EXPECT_TRUE(is_shown(session, texts, each)) << each.number;
}

INSTANTIATE_TEST_SUITE_P(Lessons, HiddenAnswers, testing::ValuesIn(test::shipped_lessons()),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace attnscope::test
