/// flash2's backward pass with Hopper's own instructions: which runs use it, and its machine code.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/kernels/compile/compiled_block.h"
#include "tests/kernels/compile/machine_code.h"

namespace attnscope::kernels {
namespace {

bool runs_on_hopper(const AttentionProblem& problem, const Tiling& tiling) {
  return has_hopper_program(test::kernel_run("flash2", problem, PassKind::backward, tiling), {});
}

TEST(HopperBackwardProgram, IsForPlainScoresInTilesThatFitTheRegisters) {
  AttentionProblem problem = problem_of(128, Mask::causal());
  EXPECT_TRUE(runs_on_hopper(problem, {64, 128}));
  EXPECT_FALSE(runs_on_hopper(problem, {64, 64}));
  EXPECT_FALSE(runs_on_hopper(problem, {128, 128}));
  problem.dtype = DType::fp32;
  EXPECT_FALSE(runs_on_hopper(problem, {64, 128}));
  EXPECT_TRUE(runs_on_hopper(problem_of(64, Mask::none()), {128, 128}));
  EXPECT_FALSE(runs_on_hopper(problem_of(64, Mask::none()), {64, 128}));  // half of dQ each
  EXPECT_TRUE(runs_on_hopper(problem_of(96, Mask::none()), {64, 128}));
  EXPECT_TRUE(runs_on_hopper(problem_of(120, Mask::none()), {64, 128}));
  EXPECT_FALSE(runs_on_hopper(problem_of(121, Mask::none()), {64, 128}));  // rows of 242 bytes
  EXPECT_TRUE(runs_on_hopper(problem_of(192, Mask::none()), {64, 64}));
  EXPECT_TRUE(runs_on_hopper(problem_of(256, Mask::causal()), {64, 64}));
  EXPECT_FALSE(runs_on_hopper(problem_of(256, Mask::causal()), {32, 64}));
  EXPECT_FALSE(runs_on_hopper(problem_of(128, *parse_mask("window:9")), {64, 128}));
}

/// If the program supports the default tiling, the default run uses it.
TEST(HopperBackwardProgram, IsThatOfItsTilings) {
  const auto instructions = [](Index d, const Tiling& tiling, const LaunchKind& kind = {}) {
    return launch_program(
               "backward",
               test::kernel_run("flash2", problem_of(d, Mask::none()), PassKind::backward, tiling),
               kind, kMostSharedBytes, "9.0")
        .instructions;
  };
  EXPECT_EQ(instructions(64, {128, 128}), kHopper);
  EXPECT_EQ(instructions(64, {64, 64}), kTensorCores);
  EXPECT_EQ(instructions(128, {64, 128}), kHopper);
  EXPECT_EQ(instructions(192, {64, 64}), kHopper);
  EXPECT_EQ(instructions(256, {32, 64}), kTensorCores);
  EXPECT_EQ(instructions(192, {64, 64}, {.knobs = {.hopper = 0}}), kTensorCores);
}

/// The sums, scores and operands of a consumer fill its registers, and products run while other
/// work is done. The compiler serializes products where it cannot keep their registers apart: a
/// wait then follows each of them.
TEST(HopperBackwardProgram, SpillsNothingAndSerializesNoProduct) {
  constexpr unsigned kWarpgroupWait = 0x9c5;  // also the fence before a product
  struct Instance {
    Index d;
    Tiling tiling;
    int most_waits;
    DType dtype = DType::bf16;
    LaunchKind kind = {};
  };
  for (const Instance& instance :
       {Instance{64, {128, 128}, 20}, Instance{96, {64, 128}, 20}, Instance{128, {64, 128}, 20},
        Instance{128, {64, 128}, 20, DType::fp16, {.listed = true}}, Instance{192, {64, 64}, 36},
        Instance{256, {64, 64}, 36}}) {
    AttentionProblem problem = problem_of(instance.d, Mask::causal());
    problem.dtype = instance.dtype;
    const BlockProgram block = launch_program(
        "backward", test::kernel_run("flash2", problem, PassKind::backward, instance.tiling),
        instance.kind, kMostSharedBytes, "9.0");
    SCOPED_TRACE(block.program.expression);
    ASSERT_EQ(block.instructions, kHopper);
    const CompiledKernel made = compiled(block);
    EXPECT_EQ(made.resources.registers, 168);
    EXPECT_EQ(made.resources.spill_stores, 0);
    EXPECT_LE(std::ranges::count(opcodes_of(made), kWarpgroupWait), instance.most_waits);
  }
}

}  // namespace
}  // namespace attnscope::kernels
