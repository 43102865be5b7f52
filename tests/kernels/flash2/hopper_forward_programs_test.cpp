/// flash2's forward pass with Hopper's own instructions: which runs use it, and its machine code.
#include <gmock/gmock.h>

#include "kernels/catalog.h"
#include "kernels/flash2/flash2_forward_shared.cuh"
#include "kernels/program_target.h"
#include "tests/kernels/compile/compiled_block.h"
#include "tests/kernels/compile/machine_code.h"

namespace attnscope::kernels {
namespace {

using ::testing::HasSubstr;

ResolvedRun forward_run(const AttentionProblem& problem, const Tiling& tiling) {
  return test::kernel_run("flash2", problem, PassKind::forward, tiling);
}

BlockProgram on_hopper(const AttentionProblem& problem, const Tiling& tiling,
                       const LaunchKind& kind = {}) {
  return launch_program("forward", forward_run(problem, tiling), kind, kMostSharedBytes, "9.0");
}

std::string_view instructions(const AttentionProblem& problem, const Tiling& tiling,
                              const Knobs& knobs = {}) {
  return on_hopper(problem, tiling, {.knobs = knobs}).instructions;
}

TEST(HopperForwardProgram, IsForRowsOf16BytesAndTilesThatFitTheRegistersAndSharedMemory) {
  AttentionProblem problem = problem_of(128, Mask::causal());
  EXPECT_EQ(instructions(problem, {128, 128}), kHopper);
  EXPECT_EQ(instructions(problem, {128, 176}), kHopper);
  EXPECT_EQ(instructions(problem, {192, 80}), kHopper);
  EXPECT_EQ(instructions(problem, {192, 96}), kTensorCores);  // O, S and P exceed the registers
  EXPECT_EQ(instructions(problem, {128, 208}), kTensorCores);
  EXPECT_EQ(instructions(problem, {96, 128}), kTensorCores);  // a consumer needs 64 rows
  EXPECT_EQ(instructions(problem, {128, 64}), kTensorCores);
  EXPECT_EQ(instructions(problem_of(64, Mask::none()), {192, 128}), kHopper);
  EXPECT_EQ(instructions(problem_of(64, Mask::none()), {192, 144}), kTensorCores);
  EXPECT_EQ(instructions(problem_of(64, Mask::none()), {256, 64}), kHopper);
  EXPECT_EQ(instructions(problem_of(64, Mask::none()), {256, 80}), kTensorCores);
  EXPECT_EQ(instructions(problem_of(64, Mask::none()), {192, 64}), kTensorCores);
  EXPECT_EQ(instructions(problem_of(72, Mask::none()), {128, 128}), kHopper);
  EXPECT_EQ(instructions(problem_of(70, Mask::none()), {128, 128}), kTensorCores);
  EXPECT_EQ(instructions(problem_of(128, *parse_mask("window:9")), {128, 128}), kHopper);
  EXPECT_EQ(instructions(problem_of(256, Mask::none()), {128, 80}), kHopper);
  AttentionProblem dropped = problem_of(256, *parse_mask("window:9"));
  dropped.score.dropout.probability = 0.1;  // both use up the shared memory
  EXPECT_EQ(instructions(dropped, {128, 80}), kTensorCores);
  problem = problem_of(128, Mask::none());
  problem.dtype = DType::fp32;
  EXPECT_EQ(instructions(problem, {64, 80}), kCudaCores);
}

TEST(HopperForwardProgram, IsForGpusThatHaveItsInstructionsAndTensorsThatBulkCopiesReach) {
  const ResolvedRun run = forward_run(problem_of(128, Mask::none()), {128, 128});
  for (const char* other : {"8.0", "10.0", "12.0"}) {
    const ProgramTarget target{.compute_capability = other,
                               .shared_bytes_per_block = kMostSharedBytes};
    EXPECT_EQ(instructions_of(programs_of(run, target)), kTensorCores) << other;
  }
  const ProgramTarget strided{.compute_capability = "9.0",
                              .shared_bytes_per_block = kMostSharedBytes,
                              .bulk_copies = false};
  EXPECT_EQ(instructions_of(programs_of(run, strided)), kTensorCores);
}

TEST(HopperForwardProgram, StartsRowTilesOfHeadsWhoseKeysFillAPartOfL2) {
  ResolvedRun run = test::kernel_run("flash2", problem_of(128, Mask::causal()), PassKind::forward,
                                     Tiling{128, 128});
  AttentionProblem& problem = run.problem;
  const auto at_once = [&](Index batch, Index heads, Index kv_heads, Index N) {
    problem.batch = batch;
    problem.heads = heads;
    problem.kv_heads = kv_heads;
    problem.N = problem.N_kv = N;
    return hopper_heads_at_once(run);
  };
  EXPECT_EQ(at_once(16, 16, 16, 1024), 32);  // eight row tiles per head, 256 in turn
  EXPECT_EQ(at_once(2, 16, 16, 8192), 8);    // 4 MiB of K and V per head
  EXPECT_EQ(at_once(1, 16, 16, 16384), 4);
  EXPECT_EQ(at_once(1, 16, 4, 16384), 8);  // two groups
  EXPECT_EQ(at_once(1, 7, 7, 1024), 7);
  EXPECT_EQ(at_once(1, 11, 11, 4096), 1);  // a divisor of the heads
  problem.mask = Mask::none();
  EXPECT_EQ(at_once(16, 16, 16, 1024), 1);
  problem.mask = Mask::causal();
  EXPECT_GT(at_once(16, 16, 16, 1024), 1);
  run.asked.switches["heads"] = "apart";
  EXPECT_EQ(at_once(16, 16, 16, 1024), 1);
}

TEST(HopperForwardProgram, HasTheSwitchesThatItsCodeHas) {
  const AttentionProblem problem = problem_of(128, Mask::causal());
  for (const Knobs& knobs : {Knobs{.stages = 1}, Knobs{.rescale_always = 1}, Knobs{.mask_all = 1},
                             Knobs{.ascending = 1}, Knobs{.overlap = 0}, Knobs{.ping_pong = 0},
                             Knobs{.persistent = 0}, Knobs{.heads_together = 0}, Knobs{.trim = 0},
                             Knobs{.polynomial = 4}, Knobs{.visit_hidden = 1}}) {
    EXPECT_EQ(instructions(problem, {128, 128}, knobs), kHopper);
  }
  for (const Knobs& knobs : {Knobs{.warps = 8}, Knobs{.async_copies = 0}, Knobs{.swizzle = 0},
                             Knobs{.sliced_k = 1}, Knobs{.hopper = 0}}) {
    EXPECT_EQ(instructions(problem, {128, 128}, knobs), kTensorCores);
  }
}

TEST(HopperForwardProgram, IsOtherCodeForEachValueOfItsSwitches) {
  const AttentionProblem problem = problem_of(64, Mask::causal());
  const auto code = [&](const Tiling& tiling, const Knobs& knobs) {
    const CompiledKernel kernel = compiled(on_hopper(problem, tiling, {.knobs = knobs}));
    return std::string(code_of(kernel.cubin, kernel.entry));
  };
  const Tiling three{192, 80}, two{128, 80};  // consumers; narrow tiles are compiled sooner
  const std::string of_three = code(three, {}), of_two = code(two, {});
  for (const std::string_view name : find_kernel("flash2")->forward.hopper_knobs) {
    const Knob& knob = *find_knob(name);
    if (knob.macro.empty()) continue;  // this switch is a parameter of the launch
    const bool needs_two = knob.member == &Knobs::ping_pong;
    for (const KnobValue& value : knob.values.subspan(1)) {
      Knobs knobs;
      knobs.*knob.member = value.value;
      const std::string changed = code(needs_two ? two : three, knobs);
      EXPECT_TRUE(changed != (needs_two ? of_two : of_three)) << name << '=' << value.name;
    }
  }
}

TEST(HopperForwardProgram, NamesWhatTheProblemNeedsAndNoMore) {
  AttentionProblem problem = problem_of(128, Mask::causal());
  problem.dtype = DType::fp16;
  const BlockProgram plain = on_hopper(problem, {128, 176});
  EXPECT_EQ(plain.program.expression,
            "attnscope::kernels::flash2_forward_hopper<attnscope::kernels::device::Fp16, 128, 128, "
            "176, attnscope::kernels::device::Visits::all, attnscope::kernels::device::NoTrace, "
            "attnscope::kernels::ScoreFeatures{false, false, false, false}>");
  EXPECT_EQ(plain.threads, 3 * 128);
  // Qi, two stages of Kj and Vj; two consumers' barriers; two places for the next row tile
  EXPECT_EQ(plain.shared_bytes, (128 + 4 * 176) * 128 * 2 + 17 * 8 + 2 * 16);
  EXPECT_EQ(on_hopper(problem_of(64, Mask::none()), {192, 128}).threads, 4 * 128);
  EXPECT_EQ(on_hopper(problem_of(96, Mask::none()), {128, 128}).shared_bytes,
            (128 + 4 * 128 + 128) * 128 * 2 + 17 * 8 + 2 * 16);  // in panels of 64 columns; Oi
  const Knobs blocks{.persistent = 0};
  EXPECT_EQ(on_hopper(problem_of(96, Mask::none()), {128, 128}, {.knobs = blocks}).shared_bytes,
            (128 + 4 * 128) * 128 * 2 + 17 * 8 + 2 * 16);  // Oi in the rows of Qi
  problem.mask = *parse_mask("window:9");
  const BlockProgram windowed = on_hopper(problem, {128, 128});
  EXPECT_THAT(windowed.program.expression, HasSubstr("ScoreFeatures{true, false, false, false}"));
  EXPECT_THAT(on_hopper(problem, {128, 128}, {.listed = true, .traced = true}).program.expression,
              HasSubstr("Visits::listed, attnscope::kernels::device::BlockTrace"));
}

struct Instance {
  Index d;
  Tiling tiling;
  DType dtype = DType::bf16;
  LaunchKind kind = {};
};

/// A consumer's state fits in its registers, and products run while other work is done. The
/// compiler serializes products where it cannot keep their registers apart: a wait then follows
/// each of them.
TEST(HopperForwardProgram, SpillsNothingAndSerializesNoProduct) {
  constexpr unsigned kWarpgroupWait = 0x9c5;  // also the fence before a product
  const Instance instances[] = {{64, {192, 128}},
                                {64, {256, 64}},
                                {96, {128, 128}},
                                {128, {128, 128}},
                                {128, {128, 128}, DType::fp16, {.listed = true, .traced = true}},
                                {128, {128, 176}},
                                {192, {128, 112}},
                                {256, {128, 80}},
                                {256, {128, 80}, DType::fp16}};
  for (const Instance& instance : instances) {
    AttentionProblem problem = problem_of(instance.d, Mask::causal());
    problem.dtype = instance.dtype;
    const BlockProgram block = on_hopper(problem, instance.tiling, instance.kind);
    SCOPED_TRACE(block.program.expression);
    ASSERT_EQ(block.instructions, kHopper);
    const CompiledKernel kernel = compiled(block);
    EXPECT_EQ(kernel.resources.spill_stores, 0);
    EXPECT_EQ(kernel.resources.stack_bytes, 0);
    EXPECT_LE(kernel.resources.registers * block.threads, 65536);
    const std::vector<unsigned> opcodes = opcodes_of(kernel);
    const auto times = [&](unsigned opcode) { return std::ranges::count(opcodes, opcode); };
    // S of the first row tile, of the next one, of the next after one without keys, and in two
    // loops; O in both loops and at the end
    EXPECT_EQ(times(opcode::kHgmma), 5 * instance.d / 16);
    EXPECT_EQ(times(opcode::kHgmmaRegisters), 3 * instance.tiling.Bc / 16);
    EXPECT_LE(times(kWarpgroupWait), 20);
  }
}

/// Both products of an iteration are started before its exponentials.
TEST(HopperForwardProgram, StartsProductsBeforeTheSoftmax) {
  const CompiledKernel kernel = compiled(on_hopper(problem_of(128, Mask::none()), {128, 128}));
  std::string order;  // S, O: products; e: exponentials; no repetitions
  for (const unsigned opcode : opcodes_of(kernel)) {
    const char kind = opcode == opcode::kHgmma            ? 'S'
                      : opcode == opcode::kHgmmaRegisters ? 'O'
                      : opcode == opcode::kMufu           ? 'e'
                                                          : ' ';
    if (kind != ' ' && !order.ends_with(kind)) order += kind;
  }
  // The first tile; tiles without a mask; tiles with one; the last output, and its row sums
  EXPECT_THAT(order, HasSubstr("SeSOeSOeO"));
}

}  // namespace
}  // namespace attnscope::kernels
