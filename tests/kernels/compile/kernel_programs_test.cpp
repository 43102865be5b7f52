/// The instances that problems need, compiled for compute capability 9.0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/catalog.h"
#include "kernels/compiled_tilings.h"
#include "kernels/flash2/flash2_forward_program.h"

namespace attnscope::kernels {
namespace {

using ::testing::HasSubstr;

AttentionProblem problem_of(Index d, const Mask& mask) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 1024;
  problem.d = d;
  problem.dtype = DType::bf16;
  problem.mask = mask;
  return problem;
}

CompiledKernel compiled(const BlockProgram& block) {
  KernelProgram program = block.program;
  program.architecture = "sm_90a";
  auto kernel = compile(program);
  EXPECT_TRUE(kernel.ok()) << (kernel.ok() ? "" : kernel.error().message);
  return kernel.ok() ? std::move(kernel).value() : CompiledKernel();
}

TEST(Flash2ForwardProgram, NamesWhatTheProblemNeedsAndNoMore) {
  AttentionProblem problem = problem_of(80, Mask::causal());
  problem.dtype = DType::fp16;
  const BlockProgram plain = flash2_forward_program(problem, {128, 64}, false, false);
  EXPECT_EQ(plain.program.expression,
            "attnscope::kernels::flash2_forward<attnscope::kernels::device::Fp16, 96, 128, 64, 4, "
            "attnscope::kernels::device::Columns::first, attnscope::kernels::device::Visits::all, "
            "attnscope::kernels::device::NoTrace, attnscope::kernels::device::PlainScores>");
  EXPECT_EQ(plain.threads, 128);
  EXPECT_EQ(plain.shared_bytes, (128 + 4 * 64) * 96 * 2);

  problem.mask = *parse_mask("window:100");
  const BlockProgram scored = flash2_forward_program(problem, {128, 128}, true, true);
  for (const char* part : {"Visits::listed", "BlockTrace", "ScoreFunctions", "96, 128, 128, 8,"}) {
    EXPECT_THAT(scored.program.expression, HasSubstr(part));
  }
  EXPECT_EQ(scored.threads, 256);
  EXPECT_GT(scored.shared_bytes, (128 + 4 * 128) * 96 * 2);
}

struct Case {
  const char* kernel;
  const char* mask;
};

class Flash2ForwardInstances : public testing::TestWithParam<Case> {};

TEST_P(Flash2ForwardInstances, OfTheCatalogSpillNoRegister) {
  const KernelInfo& kernel = *find_kernel(GetParam().kernel);
  for (const Index d : {64, 128, 256}) {
    const AttentionProblem problem = problem_of(d, *parse_mask(GetParam().mask));
    for (const Tiling& tiling : kernel_tilings(kernel, problem)) {
      const auto block = flash2_forward_program(problem, tiling, kernel.takes_block_mask, false);
      const CompiledKernel made = compiled(block);
      EXPECT_GT(made.resources.registers, 0);
      EXPECT_EQ(made.resources.spill_stores, 0) << block.program.expression;
      EXPECT_LE(made.resources.registers * block.threads, 65536) << block.program.expression;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Flash2ForwardInstances,
                         testing::Values(Case{"flash2", "causal"}, Case{"flash2", "window:256"},
                                         Case{"block_sparse2", "none"},
                                         Case{"block_sparse2", "window:256"}));

}  // namespace
}  // namespace attnscope::kernels
