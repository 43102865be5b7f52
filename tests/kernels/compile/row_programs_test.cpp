/// The instances of kernels that work on whole rows or elements: standard's softmax and its
/// gradient, sums over heads, and those of measurements.
#include <gmock/gmock.h>

#include "kernels/measure/measuring_programs.h"
#include "tests/kernels/compile/compiled_block.h"

namespace attnscope::kernels {
namespace {

using ::testing::HasSubstr;

AttentionProblem row_problem(Index N_kv, DType dtype, std::string_view mask = "none") {
  AttentionProblem problem = problem_of(64, *parse_mask(mask));
  problem.N_kv = N_kv;
  problem.dtype = dtype;
  return problem;
}

BlockProgram softmax_forward_program(const AttentionProblem& problem) {
  return launch_program("softmax", test::kernel_run("standard", problem));
}

BlockProgram softmax_gradient_program(const AttentionProblem& problem) {
  return launch_program("dS", test::kernel_run("standard", problem, PassKind::backward));
}

constexpr std::string_view kScored = "window:100";

struct RowCase {
  Index N_kv;
  DType dtype;
  std::string_view mask;
  const char* arguments;  ///< template arguments after the type
  int threads;
};

void expect_programs(BlockProgram (*program_of)(const AttentionProblem&),
                     std::initializer_list<RowCase> cases) {
  for (const RowCase& row : cases) {
    const BlockProgram block = program_of(row_problem(row.N_kv, row.dtype, row.mask));
    EXPECT_THAT(block.program.expression,
                HasSubstr(argument_text(row.dtype) + ", " + row.arguments))
        << row.N_kv;
    EXPECT_EQ(block.threads, row.threads) << row.N_kv;
  }
}

TEST(SoftmaxForwardProgram, HoldsARowInAsFewRegistersAsItNeeds) {
  expect_programs(softmax_forward_program, {{8, DType::bf16, "none", "32, 8, 8,", 128},
                                            {256, DType::bf16, "none", "32, 8, 8,", 128},
                                            {264, DType::fp16, "none", "32, 16, 8,", 128},
                                            {513, DType::bf16, "none", "32, 32, 1,", 128},
                                            {1024, DType::fp32, "none", "32, 32, 4,", 128},
                                            {1032, DType::bf16, "causal", "128, 16, 8,", 128},
                                            {4096, DType::bf16, "none", "256, 16, 8,", 256},
                                            {8192, DType::bf16, "none", "256, 32, 8,", 256},
                                            {16384, DType::bf16, "none", "512, 32, 8,", 512},
                                            {32768, DType::fp32, "none", "1024, 32, 4,", 1024},
                                            {100, DType::bf16, kScored, "32, 32, 1,", 128},
                                            {2048, DType::bf16, kScored, "256, 16, 8,", 256},
                                            {8192, DType::bf16, kScored, "512, 32, 8,", 512},
                                            {32768, DType::bf16, kScored, "1024, 32, 8,", 1024}});
}

TEST(SoftmaxForwardProgram, LeavesRegistersForSixBlocksOfRowsOf4096Keys) {
  for (const DType dtype : {DType::bf16, DType::fp16}) {
    const BlockProgram block = softmax_forward_program(row_problem(4096, dtype, "causal"));
    expect_no_spill(block);
    EXPECT_LE(6 * compiled(block).resources.registers * block.threads, 65536);
  }
}

TEST(SoftmaxPrograms, TakeTheScoreFeaturesThatTheyStillCompute) {
  AttentionProblem problem = row_problem(256, DType::bf16, kScored);
  problem.score.soft_cap = 30.0;
  EXPECT_THAT(softmax_forward_program(problem).program.expression,
              HasSubstr("ScoreFeatures{true, true, false, false}"));
  // P has been masked
  EXPECT_THAT(softmax_gradient_program(problem).program.expression,
              HasSubstr("ScoreFeatures{false, true, false, false}"));
}

TEST(SoftmaxForwardProgram, ReadsARowTwiceThatNoBlockHolds) {
  expect_programs(softmax_forward_program, {{16385, DType::bf16, "none", "1024, 1, ", 1024},
                                            {32776, DType::bf16, "none", "1024, 8, ", 1024},
                                            {16388, DType::fp32, kScored, "1024, 4, ", 1024},
                                            {16385, DType::bf16, kScored, "1024, 1, ", 1024}});
  EXPECT_THAT(softmax_forward_program(row_problem(32776, DType::bf16)).program.expression,
              HasSubstr("::softmax_forward_two_sweeps<"));
}

TEST(SoftmaxGradientProgram, HoldsARowOrReadsItTwice) {
  expect_programs(softmax_gradient_program, {{256, DType::bf16, "none", "32, 8, 8,", 128},
                                             {264, DType::fp16, "none", "32, 32, 8,", 128},
                                             {1025, DType::bf16, "none", "256, 16, 1,", 256},
                                             {4104, DType::bf16, "none", "512, 32, 8,", 512},
                                             {16392, DType::bf16, "none", "1024, 8, ", 1024},
                                             {8, DType::bf16, kScored, "32, 8, 8,", 128}});
  const auto expression_of = [](Index N_kv, const ScoreFunction& score) {
    AttentionProblem problem = row_problem(N_kv, DType::bf16);
    problem.score = score;
    return softmax_gradient_program(problem).program.expression;
  };
  ScoreFunction capped, dropped;
  capped.soft_cap = 30.0;
  dropped.dropout.probability = 0.1;
  EXPECT_THAT(expression_of(1032, capped), HasSubstr("512, 32, 8, attnscope"));
  EXPECT_THAT(expression_of(8200, capped), HasSubstr("::softmax_gradient_two_sweeps<"));
  EXPECT_THAT(expression_of(8, dropped), HasSubstr("32, 32, 8, attnscope"));
  EXPECT_THAT(expression_of(8200, dropped), HasSubstr("512, 32, 8, attnscope"));
}

TEST(RowPrograms, SpillNoRegister) {
  for (const std::string_view mask : {std::string_view("causal"), kScored}) {
    for (const Index N_kv : {1024, 32776}) {
      expect_no_spill(softmax_forward_program(row_problem(N_kv, DType::bf16, mask)));
      expect_no_spill(softmax_gradient_program(row_problem(N_kv, DType::bf16, mask)));
    }
  }
  AttentionProblem grouped = row_problem(1024, DType::bf16);
  grouped.heads = 2 * grouped.kv_heads;
  const auto programs = programs_of(test::kernel_run("standard", grouped, PassKind::backward),
                                    {"9.0", kMostSharedBytes});
  EXPECT_EQ(programs.back().launch, "sum_heads");
  expect_no_spill(programs.back().block);
  expect_no_spill(input_program(DType::fp16));
  expect_no_spill(sweep_cache_program());
  expect_no_spill(head_start_program());
}

TEST(ClockProgram, IsCompiledForOldAndNewGpusWithoutSpills) {
  expect_no_spill(sm_clock_program());
  for (const char* architecture : {"sm_80", "sm_90a"}) {
    KernelProgram program = sm_clock_program().program;
    program.architecture = architecture;
    const auto kernel = compile(program);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    EXPECT_FALSE(kernel.value().cubin.empty()) << architecture;
    EXPECT_EQ(kernel.value().resources.spill_stores, 0) << architecture;
    EXPECT_EQ(kernel.value().resources.stack_bytes, 0) << architecture;
    EXPECT_EQ(kernel.value().resources.static_shared_bytes, 0) << architecture;
  }
}

}  // namespace
}  // namespace attnscope::kernels
