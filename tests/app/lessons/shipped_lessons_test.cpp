/// The lessons of assets/lessons, played from their first to their last step without a screen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "app/lessons/check_lesson.h"
#include "reference/field_rules.h"
#include "sim/device/assets.h"

namespace attnscope::lessons {
namespace {

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

/// A student may choose every shipped GPU; a value that it does not have has a reason.
TEST_P(Shipped, SaysWhyAGpuHasNoAnswer) {
  const Lesson played = lesson();
  for (const std::string& gpu : list_assets("gpus")) {
    SCOPED_TRACE(gpu);
    auto created = LessonRuns::create(played, {{&run_field("gpu"), gpu}});
    ASSERT_TRUE(created.ok()) << created.error().message;
    for (const Step& step : played.steps) {
      EXPECT_TRUE(text_of(step.say, created.value()).ok());
      EXPECT_TRUE(text_of(step.then, created.value()).ok());
      if (!step.ask) continue;
      const auto truth = truth_of(*step.ask, created.value());
      if (truth) continue;
      EXPECT_EQ(truth.error().kind, Error::Kind::unavailable) << truth.error().message;
      EXPECT_THAT(truth.error().message,
                  testing::AnyOf(testing::StartsWith("not calibrated for NVIDIA"),
                                 testing::StartsWith("not measured: no shipped recording"),
                                 testing::StartsWith("the tiling does not fit"),
                                 testing::HasSubstr("has no tensor cores for bf16")));
    }
  }
}

/// The ledger beside a step's text shows the predicted time, so the text does too: an estimate from
/// rates only where the calibration lacks the run's steps.
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

}  // namespace
}  // namespace attnscope::lessons
