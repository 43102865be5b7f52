/// Fusion step by step, beside the bytes that arXiv 2205.14135, Figure 2 prints.

#include <gtest/gtest.h>

#include "sim/studies/fusion.h"

namespace attnscope {
namespace {

FusionStep step_named(const std::vector<FusionStep>& steps, std::string_view name) {
  for (const FusionStep& step : steps) {
    if (step.name == name) return step;
  }
  ADD_FAILURE() << "no step " << name;
  return steps.front();
}

std::vector<FusionStep> steps_of(const AttentionProblem& problem) {
  auto steps = fusion_steps(problem, {64, 256}, load_gpu("a100-40gb").value());
  EXPECT_TRUE(steps.ok()) << steps.error().message;
  return std::move(steps).value();
}

TEST(FusionSteps, LargerLaunchesMoveFewerBytes) {
  AttentionProblem problem = figure2_problem();
  problem.mask = Mask::causal();
  const std::vector<FusionStep> steps = steps_of(problem);
  const char* const chain[] = {"separate", "pairs", "rows", "flash1", "flash1, refined"};
  for (std::size_t s = 1; s < std::size(chain); ++s) {
    EXPECT_LT(step_named(steps, chain[s]).paper_bytes(),
              step_named(steps, chain[s - 1]).paper_bytes())
        << chain[s];
  }
  EXPECT_LT(step_named(steps, "pairs").launches(), step_named(steps, "separate").launches());
  EXPECT_LT(step_named(steps, "rows").launches(), step_named(steps, "pairs").launches());
}

TEST(FusionSteps, LeaveOutStepsThatEqualAnotherStep) {
  using Names = std::vector<std::string>;
  struct Case {
    bool masked, drops;
    Names of_standard;
    std::string_view words;
    std::string_view pairs;
  };
  const Case cases[] = {
      {false, false, {"separate", "rows"}, "no mask, no dropout: their launches are left out", ""},
      {true,
       false,
       {"separate", "pairs", "rows"},
       "no dropout: its launches are left out",
       "two operations per launch: scale and mask"},
      {false,
       true,
       {"separate", "pairs", "rows"},
       "no mask: its launches are left out",
       "two operations per launch: softmax and dropout"},
      {true,
       true,
       {"separate", "figure2", "pairs", "rows"},
       "",
       "two operations per launch: scale and mask, softmax and dropout"}};
  for (const Case& each : cases) {
    SCOPED_TRACE(each.words);
    AttentionProblem problem{.N = 256, .N_kv = 256, .d = 32, .dtype = DType::fp16};
    if (each.masked) problem.mask = Mask::causal();
    if (each.drops) problem.score.dropout.probability = 0.1;
    EXPECT_EQ(left_out_of_fusion(problem), each.words);
    Names of_standard;
    Index bytes_before = 0;
    for (const FusionStep& step : steps_of(problem)) {
      if (step.forward.run.algorithm() != "standard") continue;
      of_standard.push_back(step.name);
      if (step.name == "pairs") {
        EXPECT_EQ(step.idea, each.pairs);
      }
      if (step.name == "figure2") continue;  // figure2 is not a step
      if (bytes_before > 0) {
        EXPECT_LT(step.paper_bytes(), bytes_before) << step.name;
      }
      bytes_before = step.paper_bytes();
    }
    EXPECT_EQ(of_standard, each.of_standard);
  }
}

TEST(FusionSteps, StandardAtFigure2Is18PassesOverTheScoresAnd12OverAMatrix) {
  const FusionStep step = step_named(steps_of(figure2_problem()), "figure2");
  const double scores = 1024.0 * 1024 * 1024 * 2;
  const double matrix = 1024.0 * 1024 * 64 * 2;
  EXPECT_EQ(static_cast<double>(step.forward.paper.total()), 8.5 * scores + 4 * matrix);
  EXPECT_EQ(static_cast<double>(step.backward.paper.total()), 9.5 * scores + 8 * matrix);
  EXPECT_NEAR(static_cast<double>(step.paper_bytes()), 40.3e9, 0.05e9);
  EXPECT_EQ(figure2_printed_bytes(step), 40.3e9);
}

TEST(FusionSteps, Flash1AtFigure2Is38PassesOverAMatrixAnd34WhenRefined) {
  const std::vector<FusionStep> steps = steps_of(figure2_problem());
  const double pass = 1024.0 * 1024 * 64 * 2;  // N d of 1024 heads, fp16
  EXPECT_EQ(static_cast<double>(step_named(steps, "flash1").matrix_bytes()), 38 * pass);
  EXPECT_EQ(static_cast<double>(step_named(steps, "flash1, refined").matrix_bytes()), 34 * pass);
  EXPECT_NEAR(38 * pass, 5.1e9, 0.01e9);
  EXPECT_NEAR(34 * pass, 4.56e9, 0.01e9);
}

TEST(FusionSteps, CanBeCancelledBetweenTwo) {
  std::vector<double> heard;
  const auto steps =
      fusion_steps(figure2_problem(), {64, 256}, load_gpu("a100-40gb").value(), [&](double done) {
        heard.push_back(done);
        return heard.size() < 3;
      });
  EXPECT_FALSE(steps.ok());
  ASSERT_EQ(heard.size(), 3U);
  EXPECT_EQ(heard[0], 0.0);
  EXPECT_LT(heard[1], heard[2]);
}

}  // namespace
}  // namespace attnscope
