/// The lessons of assets/lessons, played from their first to their last step without a screen.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "app/lessons/check_lesson.h"
#include "reference/field_rules.h"
#include "reference/json/json_document.h"
#include "sim/device/assets.h"

namespace attnscope::lessons {
namespace {

using nlohmann::json;

std::vector<std::string> names() {
  return list_assets("lessons");
}

class Shipped : public testing::TestWithParam<std::string> {
 protected:
  Lesson lesson() const {
    auto read = load_lesson(GetParam());
    EXPECT_TRUE(read.ok()) << (read ? "" : read.error().message);
    return read ? std::move(read).value() : Lesson();
  }
};

TEST(ShippedLessons, ThereAreTwelveInALearningOrder) {
  const auto all = list_shipped_lessons();
  ASSERT_EQ(all.size(), 12U);
  for (std::size_t n = 0; n < all.size(); ++n) {
    ASSERT_TRUE(all[n].lesson.ok()) << all[n].lesson.error().message;
    EXPECT_EQ(all[n].lesson.value().order, static_cast<Index>(n) + 1) << all[n].name;
  }
}

TEST_P(Shipped, HoldsForEveryValueThatAStudentMaySet) {
  const LessonCheck check = check_lesson(lesson());
  for (const Finding& finding : check.findings) ADD_FAILURE() << finding.line();
  EXPECT_GT(check.questions, 0U);
}

/// Right answers are accepted as computed and as a student would type them; the answer of each
/// mistake gets its reason; any other answer is wrong.
TEST_P(Shipped, IsPlayedWithRightAndWrongAnswers) {
  const Lesson played = lesson();
  auto created = LessonRuns::create(played);
  ASSERT_TRUE(created.ok());
  LessonRuns& runs = created.value();
  for (std::size_t n = 0; n < played.steps.size(); ++n) {
    SCOPED_TRACE(testing::Message() << "step " << n + 1);
    const Step& step = played.steps[n];
    ASSERT_TRUE(text_of(step.say, runs).ok());
    ASSERT_TRUE(text_of(step.then, runs).ok());
    if (!step.ask) continue;
    const Question& question = *step.ask;
    const auto truth = truth_of(question, runs);
    ASSERT_TRUE(truth.ok()) << truth.error().message;
    const auto kind_of = [&](const Answer& answer) {
      const auto verdict = judge(question, answer, runs);
      EXPECT_TRUE(verdict.ok());
      return verdict ? verdict.value().kind : Verdict::Kind::wrong;
    };
    EXPECT_EQ(kind_of(truth.value()), Verdict::Kind::right);

    for (const Mistake& mistake : mistakes_of(question)) {
      const auto answer = answer_by(question, mistake.is, runs);
      ASSERT_TRUE(answer.ok()) << answer.error().message;
      const auto verdict = judge(question, answer.value(), runs);
      ASSERT_TRUE(verdict.ok());
      EXPECT_EQ(verdict.value().kind, Verdict::Kind::mistake) << mistake.is.text();
      EXPECT_EQ(verdict.value().why, mistake.why);
    }
    if (const auto* choice = std::get_if<ChoiceQuestion>(&question.kind)) {
      for (std::size_t k = 0; k < choice->options.size(); ++k) {
        if (Answer(Chosen{k}) == truth.value()) continue;
        EXPECT_EQ(kind_of(Chosen{k}), Verdict::Kind::mistake) << choice->options[k].text;
        EXPECT_NE(choice->options[k].why, "") << "the misconception has to be named";
      }
    } else {
      EXPECT_FALSE(mistakes_of(question).empty()) << "a misconception has to be named";
    }
    if (std::holds_alternative<NumberQuestion>(question.kind)) {
      EXPECT_EQ(kind_of(-12345.678), Verdict::Kind::wrong);
    }
    const std::string typed = answer_text(question, truth.value());
    if (std::holds_alternative<NumberQuestion>(question.kind)) {
      const auto parsed = parse_answer(question, typed);
      ASSERT_TRUE(parsed.ok()) << typed;
      EXPECT_EQ(kind_of(parsed.value()), Verdict::Kind::right) << typed;
    }
  }
}

TEST_P(Shipped, SaysNotCalibratedForAGpuThatIsNot) {
  const Lesson played = lesson();
  auto created = LessonRuns::create(played, {{&run_field("gpu"), "a100-80gb"}});
  ASSERT_TRUE(created.ok());
  for (const Step& step : played.steps) {
    if (!step.ask) continue;
    const auto truth = truth_of(*step.ask, created.value());
    if (truth) continue;
    EXPECT_EQ(truth.error().kind, Error::Kind::unavailable) << truth.error().message;
    EXPECT_THAT(truth.error().message, testing::AnyOf(testing::StartsWith("not calibrated for "),
                                                      testing::StartsWith("no shipped recording")));
  }
}

/// The ledger beside a text shows the predicted time, so the text does too: an estimate from rates
/// only where the calibration lacks the run's steps.
TEST_P(Shipped, PrintsThePredictedTimeWhereTheStepsAreCalibrated) {
  const Lesson played = lesson();
  auto created = LessonRuns::create(played);
  ASSERT_TRUE(created.ok());
  const auto expect_no_estimate = [&](const Text& text) {
    for (const Text::Piece& piece : text.pieces) {
      if (!piece.value || !piece.value->text().ends_with(".time.primitives_s")) continue;
      const std::string run = piece.value->text().substr(0, piece.value->text().find('.'));
      const auto predicted = Expression::parse(run + ".time.predicted_s");
      ASSERT_TRUE(predicted.ok());
      EXPECT_FALSE(predicted.value().evaluate(created.value()).ok()) << piece.value->text();
    }
  };
  for (const Step& step : played.steps) {
    expect_no_estimate(step.say);
    expect_no_estimate(step.then);
  }
}

TEST_P(Shipped, AsksForARatioWithoutAUnit) {
  constexpr std::string_view kRatios[] = {"How many times", "by what factor", "By what factor",
                                          "Which share"};
  for (const Step& step : lesson().steps) {
    if (!step.ask) continue;
    const bool is_ratio = std::ranges::any_of(kRatios, [&](std::string_view words) {
      return step.ask->text.find(words) != std::string::npos;
    });
    if (is_ratio) {
      EXPECT_EQ(step.ask->unit, "") << step.ask->text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Shipped, testing::ValuesIn(names()));

// Mutation test: the check must detect an answer whose path is replaced with another one.

/// Groups of words of a path: each word may be replaced with another one of its group.
const std::vector<std::vector<std::string>> kAlike = {{"read_bytes", "write_bytes"},
                                                      {"paper", "requested", "bound", "dram"},
                                                      {"matmul", "non_matmul"},
                                                      {"m", "m_prev", "row_max"},
                                                      {"l", "l_prev", "row_sum"},
                                                      {"Tr", "Tc"},
                                                      {"Br", "Bc"},
                                                      {"S", "P", "O", "Q", "K"}};

/// All variants of the path with one of its words replaced, and those with each other run, unless
/// that run is too large for values.
std::vector<std::string> mutants_of(const Path& path, const Lesson& lesson) {
  std::vector<std::string> mutants;
  const std::string& first = path.parts.front().key;
  const bool has_values = first == "orders" || first == "softmax" || first == "online_softmax";
  for (const RunRecipe& run : lesson.runs) {
    if (run.name != path.run && !has_values)
      mutants.push_back(run.name + path.text.substr(path.run.size()));
  }
  for (const std::string selection : {"method=naive", "method=safe", "dtype=fp16", "j=1"}) {
    const std::size_t at = path.text.find(selection);
    if (at == std::string::npos) continue;
    const std::string other = selection == "j=1"           ? "j=2"
                              : selection == "dtype=fp16"  ? "dtype=fp32"
                              : selection == "method=safe" ? "method=naive"
                                                           : "method=online";
    std::string mutant = path.text;
    mutants.push_back(mutant.replace(at, selection.size(), other));
  }
  for (const PathPart& part : path.parts) {
    for (const auto& group : kAlike) {
      if (std::ranges::find(group, part.key) == group.end()) continue;
      const std::size_t at = path.text.find("." + part.key) + 1;
      for (const std::string& word : group) {
        if (word == part.key) continue;
        std::string mutant = path.text;
        mutants.push_back(mutant.replace(at, part.key.size(), word));
      }
    }
  }
  return mutants;
}

/// The expressions of the question's answer, or of its options' conditions, in its JSON.
std::vector<json*> answers_in(json& ask) {
  if (ask.contains("answer")) return {&ask["answer"]};
  std::vector<json*> conditions;
  for (json& option : ask["options"]) conditions.push_back(&option["when"]);
  return conditions;
}

/// Whether the check finds a mistake in the question.
bool is_found(const Question& question, LessonRuns& runs) {
  return !check_question(question, runs, "ask").empty();
}

/// Counts the mutants of each question that change its answer, and those that the check finds.
struct Mutation {
  std::size_t changed = 0;
  std::size_t found = 0;
};

Mutation mutate(const json& document, std::size_t step, const Lesson& lesson, LessonRuns& runs) {
  Mutation mutation;
  const Question& original = *lesson.steps[step].ask;
  const Answer truth = truth_of(original, runs).value();
  json mutated = document;
  for (json* const text : answers_in(mutated["steps"][step]["ask"])) {
    const std::string before = text->get<std::string>();
    for (const Path& path : Expression::parse(before).value().paths()) {
      for (const std::string& mutant : mutants_of(path, lesson)) {
        std::string changed = before;
        *text = changed.replace(path.begin, path.text.size(), mutant);
        const auto other = parse_lesson(mutated.dump(), "mutant.json");
        *text = before;
        if (!other) continue;
        const Question& question = *other.value().steps[step].ask;
        const bool is_choice = std::holds_alternative<ChoiceQuestion>(question.kind);
        const auto answer = truth_of(question, runs);
        const bool is_valid =
            answer.ok() || (is_choice && answer.error().message.find("right") != std::string::npos);
        if (!is_valid) continue;  // not a path of this run
        const bool is_same = answer.ok() && is_right(original, answer.value(), truth);
        if (is_same) continue;  // equally right: the question does not distinguish them
        ++mutation.changed;
        mutation.found += is_found(question, runs) ? 1 : 0;
      }
    }
  }
  return mutation;
}

/// Questions without mutants, because only one path leads to the answer, or with mutants that the
/// check cannot find, such as places of tiles.
const std::set<std::string>& exceptions() {
  static const std::set<std::string> steps = {
      "a-quarter-of-d:2",                        // no other path has the unit of exponentials
      "backward-pass:5",  "softmax-overflow:5",  // each path leads to the same option
      "flash1-loops:2",   "swap-the-loops:2",    // places of tiles
      "flash1-loops:5",   "forgetting-alpha:3",  // equal values
      "merging-tiles:4",  "merging-tiles:6"};
  return steps;
}

TEST_P(Shipped, AnAnswerWithAnotherPathIsFoundByTheCheck) {
  const Lesson shipped = lesson();
  const json document = read_json_file(find_asset("lessons", GetParam()).value()).value();
  auto runs = LessonRuns::create(shipped);
  ASSERT_TRUE(runs.ok());
  for (std::size_t n = 0; n < shipped.steps.size(); ++n) {
    if (!shipped.steps[n].ask) continue;
    const Mutation mutation = mutate(document, n, shipped, runs.value());
    const std::string step = GetParam() + ":" + std::to_string(n + 1);
    RecordProperty(step, fmt::format("{} of {} found", mutation.found, mutation.changed));
    const bool is_found = mutation.found == mutation.changed && mutation.changed > 0;
    EXPECT_EQ(is_found, !exceptions().contains(step))
        << step << ": " << mutation.found << " of " << mutation.changed << " found";
  }
}

}  // namespace
}  // namespace attnscope::lessons
