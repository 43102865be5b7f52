#include "sim/studies/break_quiz.h"

#include <gtest/gtest.h>

#include <set>

#include "sim/resolve.h"

namespace attnscope {
namespace {

SteppedRequest request_for(std::string_view algorithm, PassKind pass) {
  RunSpec spec{.problem = {.N = 12, .N_kv = 12, .d = 4, .dtype = DType::fp32},
               .algorithm = std::string(algorithm),
               .pass = pass,
               .allow_overflow = true};
  spec.set_tiling({4, 4});
  const GpuDescription gpu = gpu_of(spec).value();
  return {.run = resolve(spec, gpu).value(), .gpu = gpu};
}

TEST(BreakQuiz, HasOneRightAnswerAmongDifferentLines) {
  for (const Algorithm& algorithm : algorithms()) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const auto quiz = break_quiz(request_for(algorithm.name, PassKind::forward), seed);
      ASSERT_TRUE(quiz) << quiz.error().message;
      const BreakQuiz& asked = quiz.value();
      EXPECT_TRUE(asked.effect.changes_result());
      EXPECT_EQ(asked.choices.size(), 4U);
      std::set<std::pair<std::size_t, std::uint8_t>> lines;
      for (const PassOperation& choice : asked.choices) lines.insert({choice.launch, choice.line});
      EXPECT_EQ(lines.size(), 4U) << "no line is offered twice";
      const PassOperation& answer = asked.choices[asked.answer];
      ASSERT_TRUE(asked.effect.first_skipped);
      EXPECT_EQ(answer.launch, asked.effect.first_skipped->launch);
      EXPECT_EQ(answer.line, asked.effect.first_skipped->op.line);
      EXPECT_FALSE(asked.line_text(asked.answer).empty());
    }
  }
}

TEST(BreakQuiz, AsksForNoOperationWhoseLossTheScoresDoNotShow) {
  const SteppedRequest request = request_for("flash2", PassKind::forward);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto quiz = break_quiz(request, seed);
    ASSERT_TRUE(quiz);
    bool wrong_output = false;
    for (const ResultDeviation& result : quiz.value().effect.results) {
      wrong_output |= result.tensor == Tensor::O && result.deviation.is_wrong();
    }
    EXPECT_TRUE(wrong_output) << to_string(quiz.value().run.asked.variant.broken);
  }
}

TEST(BreakQuiz, IsTheSameForTheSameSeed) {
  const SteppedRequest request = request_for("flash2", PassKind::both);
  std::set<std::string> breaks;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const auto first = break_quiz(request, seed), second = break_quiz(request, seed);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first.value().run, second.value().run);
    EXPECT_EQ(first.value().choices, second.value().choices);
    EXPECT_EQ(first.value().answer, second.value().answer);
    breaks.insert(to_string(first.value().run.asked.variant.broken));
  }
  EXPECT_GT(breaks.size(), 6U) << "seeds ask different questions";
}

}  // namespace
}  // namespace attnscope
