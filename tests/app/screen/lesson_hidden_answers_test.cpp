/// No step of a shipped lesson shows its answer before the question is answered, and no text of a
/// step is cut off, shortened, covered, crossed by a line, or overlaps another.
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
      R"(\d[\d,]*(\.\d+)?(e[-+]?\d+)?( ?(%|([kMGT]?i?B|bytes|us|µs|ms|s)\b))?)");
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

/// Expects no text above the transport bar to give the number that the question asks for; returns
/// the number of texts.
std::size_t expect_hidden(const ScreenSession& session, const std::vector<ScreenText>& texts,
                          const std::string& lesson, const test::AskedStep& asked) {
  std::size_t compared = 0;
  const float end = session.rects().find("lesson.card")->max.y;
  for (const ScreenText& text : texts) {
    if (text.rect.min.y > end) continue;  // the transport bar: steps and tiles
    if (is_value_to_set(session.rects(), text) || is_chance(lesson, asked.step, text)) continue;
    ++compared;
    EXPECT_FALSE(gives_away(text, asked.question, std::get<double>(asked.truth)))
        << lessons::answer_text(asked.question, asked.truth) << ": \"" << text.words << '"';
  }
  return compared;
}

/// Expects no text, once the step's own answer is shown, to give a number that a later step asks
/// for.
void expect_later_hidden(const ScreenSession& session, const std::vector<ScreenText>& texts,
                         const std::string& lesson, std::size_t step,
                         const std::vector<test::AskedStep>& asked) {
  const float end = session.rects().find("lesson.card")->max.y;
  for (const ScreenText& text : texts) {
    if (text.rect.min.y > end || is_value_to_set(session.rects(), text)) continue;
    for (const test::AskedStep& later : asked) {
      const double* const truth = std::get_if<double>(&later.truth);
      if (truth == nullptr || later.step <= step) continue;
      // Counts of less than three digits are everywhere, but not as factors: "24×"
      const bool is_small =
          *truth == std::round(*truth) && *truth < 100.0 && !text.words.ends_with("×");
      if (is_small || is_chance(lesson, later.step, text)) continue;
      EXPECT_FALSE(gives_away(text, later.question, *truth, 0.003))
          << "shows the answer of step " << later.step + 1 << ", "
          << lessons::answer_text(later.question, later.truth) << ": \"" << text.words << '"';
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
Lines lines_shown(const ScreenSession& session, const std::vector<ScreenText>& texts,
                  const lessons::Show& show) {
  Lines lines;
  const auto panel = session.rects().find("panel.ledger");
  if (!panel) return lines;
  const std::string& own = show.reveal.empty() ? show.run : show.reveal;
  for (const ScreenText& text : texts) {
    const bool is_line = text.words.ends_with(" read") || text.words.ends_with(" written");
    if (!is_line || text.rect.min.x < panel->min.x) continue;
    lines.emplace(text.rect.min.x > panel->max.x ? show.beside : own, text.words);
  }
  return lines;
}

/// Whether one of the names, as lines_asked() gives them, refers to the line.
bool has_name(const Lines& names, const Lines::value_type& line) {
  return std::ranges::any_of(names, [&](const auto& name) {
    // m and l share a line: "l, m written"
    return line.first == name.first && (", " + line.second).ends_with(" " + name.second);
  });
}

/// Whether each of the names refers to one of the lines.
bool has_all(const Lines& lines, const Lines& names) {
  return std::ranges::all_of(names, [&](const auto& name) {
    return std::ranges::any_of(lines, [&](const auto& line) { return has_name({name}, line); });
  });
}

/// The lines of the ledger that a lesson has asked for, and those that it has shown.
struct LedgerLines {
  Lines asked;  ///< so far
  Lines shown;
  Lines due;  ///< those shown when their question had been asked; later ones may combine them

  /// Expects the steps so far not to show the answer of the question.
  void ask(const lessons::Question& question) {
    const Lines lines = lines_asked(question);
    EXPECT_TRUE(lines.empty() || !has_all(shown, lines) || has_all(due, lines))
        << "the steps before this one show its answer";
    asked.insert(lines.begin(), lines.end());
  }
  void show(const Lines& lines) {
    for (const auto& line : lines) {
      shown.insert(line);
      if (has_name(asked, line)) due.insert(line);
    }
  }
};

/// A number that the options of a choice compare.
struct Compared {
  lessons::Question question;  ///< asks for this number
  double number = 0.0;
};

/// The distinct numbers that the options' comparisons have on either side, without constants,
/// conditions and one-digit counts.
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

/// The position of a computed curve's point in the plot of the question.
ImVec2 place_of(const app::Rect& plot, const app::CurveAxis& scale,
                const std::vector<double>& curve, std::size_t n) {
  const app::draw::Axis axis{"", scale.logarithmic, scale.low, scale.high};
  const float share = (static_cast<float>(n) + 0.5f) / static_cast<float>(curve.size());
  return {plot.min.x + plot.width() * share, plot.max.y - plot.height() * axis.position(curve[n])};
}

/// Expects the marks of the answer on the screen, or none.
void expect_marks(ScreenSession& session, lessons::LessonRuns& runs, const test::AskedStep& asked,
                  bool shown) {
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
    const auto at_playhead = runs.tile(player.current().show.run, session.app().view.step);
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

/// Expects the screen to hide at least one of the numbers that the options compare.
void expect_choice_open(const ScreenSession& session, const std::vector<ScreenText>& texts,
                        const lessons::ChoiceQuestion& choice, lessons::LessonRuns& runs) {
  const auto compared = numbers_compared(choice, runs);
  if (compared.empty()) return;
  std::string shown;
  std::size_t count = 0;
  for (const Compared& each : compared) {
    if (!is_shown(session, texts, each)) continue;
    ++count;
    shown += " " + lessons::value_text(each.number, each.question.unit);
  }
  EXPECT_LT(count, compared.size()) << "the step shows" << shown;
}

/// Walks through a lesson once, because simulating its runs takes most of the time: checks each
/// step before and after "Show me".
class LessonSteps : public testing::TestWithParam<std::string> {
 protected:
  /// Expects the question that is on the screen to be open.
  void check_question(const test::AskedStep& asked, lessons::LessonRuns& runs) {
    ASSERT_TRUE(session_.app().lesson_player.hides_answer());
    const std::vector<ScreenText> texts = texts_on_screen();
    if (std::holds_alternative<lessons::NumberQuestion>(asked.question.kind)) {
      texts_compared_ += expect_hidden(session_, texts, GetParam(), asked);
    }
    if (const auto* choice = std::get_if<lessons::ChoiceQuestion>(&asked.question.kind)) {
      expect_choice_open(session_, texts, *choice, runs);
    }
    ledger_.ask(asked.question);
    EXPECT_FALSE(session_.rects().find("lesson.truth"));
    expect_marks(session_, runs, asked, false);
  }

  ScreenSession session_;
  LedgerLines ledger_;
  std::size_t texts_compared_ = 0;  ///< with numbers that are asked for
};

TEST_P(LessonSteps, ShowAnswersOnlyAfterTheQuestionAndNoTextIsCutOrOverlapsAnother) {
  app::LessonPlayer& player = session_.app().lesson_player;
  player.open(GetParam(), 0);
  session_.settle();
  ASSERT_TRUE(player.is_open());
  auto runs = lessons::LessonRuns::create(player.lesson());
  ASSERT_TRUE(runs.ok());
  const std::vector<test::AskedStep> asked = test::asked_steps(GetParam());
  const std::vector<lessons::Step> steps = player.lesson().steps;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const std::string where = fmt::format("{} step {}", GetParam(), step + 1);
    SCOPED_TRACE(where);
    player.open(GetParam(), step);
    session_.settle();
    const auto own = std::ranges::find(asked, step, &test::AskedStep::step);
    ASSERT_EQ(own != asked.end(), steps[step].ask.has_value());
    if (own != asked.end()) {
      ASSERT_NO_FATAL_FAILURE(check_question(*own, runs.value()));
      check_card_texts(session_, where + " asked");
    }

    player.act(app::LessonPlayer::Action::show_me);
    session_.settle();
    const std::vector<ScreenText> texts = texts_on_screen();
    expect_later_hidden(session_, texts, GetParam(), step, asked);
    ledger_.show(lines_shown(session_, texts, player.current().show));
    if (own != asked.end()) {
      EXPECT_TRUE(session_.rects().find("lesson.truth"));
      expect_marks(session_, runs.value(), *own, true);
    }
    check_card_texts(session_, where + " shown");
  }
  EXPECT_GT(texts_compared_, 20U);
  const auto has_ledger = [](const lessons::Step& step) {
    return std::ranges::find(step.show.panels, "ledger") != step.show.panels.end();
  };
  EXPECT_EQ(ledger_.shown.empty(), std::ranges::none_of(steps, has_ledger));
}

/// What expect_choice_open() looks for is present once the question is answered.
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

INSTANTIATE_TEST_SUITE_P(Lessons, LessonSteps, testing::ValuesIn(test::shipped_lessons()),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace attnscope::test
