/// The instances that problems need, compiled for compute capability 9.0.
#include <gmock/gmock.h>

#include "kernels/catalog.h"
#include "kernels/default_tilings.h"
#include "kernels/resolve.h"
#include "tests/kernels/compile/compiled_block.h"

namespace attnscope::kernels {
namespace {

using ::testing::HasSubstr;

BlockProgram flash2_forward_program(const AttentionProblem& problem, const Tiling& tiling,
                                    const LaunchKind& kind = {}) {
  return launch_program("forward", test::kernel_run("flash2", problem, PassKind::forward, tiling),
                        kind);
}

/// A launch of the pass; "backward" is the program that runs on every GPU.
BlockProgram flash2_backward_program(const AttentionProblem& problem, const Tiling& tiling,
                                     const LaunchKind& kind = {},
                                     std::string_view launch = "backward") {
  return launch_program(launch, test::kernel_run("flash2", problem, PassKind::backward, tiling),
                        kind);
}

TEST(Flash2ForwardProgram, NamesWhatTheProblemNeedsAndNoMore) {
  AttentionProblem problem = problem_of(80, Mask::causal());
  problem.dtype = DType::fp16;
  const BlockProgram plain = flash2_forward_program(problem, {128, 64});
  EXPECT_EQ(plain.program.expression,
            "attnscope::kernels::flash2_forward<attnscope::kernels::device::Fp16, 96, 128, 64, 4, "
            "attnscope::kernels::device::Columns::first, attnscope::kernels::device::Visits::all, "
            "attnscope::kernels::device::NoTrace, attnscope::kernels::ScoreFeatures{false, false, "
            "false, false}>");
  EXPECT_EQ(plain.threads, 128);
  EXPECT_EQ(plain.shared_bytes, (128 + 4 * 64) * 96 * 2);

  problem.mask = *parse_mask("window:100");
  const BlockProgram scored =
      flash2_forward_program(problem, {128, 128}, {.listed = true, .traced = true});
  for (const char* part : {"Visits::listed", "BlockTrace",
                           "ScoreFeatures{true, false, false, false}", "96, 128, 128, 8,"}) {
    EXPECT_THAT(scored.program.expression, HasSubstr(part));
  }
  EXPECT_EQ(scored.threads, 256);
  EXPECT_GT(scored.shared_bytes, (128 + 4 * 128) * 96 * 2);
}

TEST(Flash2BackwardProgram, HasWarpsThatHoldItsSums) {
  const auto threads = [](Index d, const Tiling& tiling) {
    return flash2_backward_program(problem_of(d, Mask::none()), tiling).threads / 32;
  };
  EXPECT_EQ(threads(16, {16, 16}), 1);
  EXPECT_EQ(threads(64, {32, 32}), 2);
  EXPECT_EQ(threads(96, {64, 64}), 4);
  EXPECT_EQ(threads(128, {32, 64}), 4);
  EXPECT_EQ(threads(192, {32, 32}), 4);
  for (const auto& [d, tiling] : std::vector<std::pair<Index, Tiling>>{{32, {128, 128}},
                                                                       {64, {128, 128}},
                                                                       {128, {64, 128}},
                                                                       {128, {64, 64}},
                                                                       {192, {64, 64}},
                                                                       {256, {32, 64}}}) {
    EXPECT_EQ(threads(d, tiling), 8) << d;
  }
}

/// The launches of a default tiling, in fp32 too.
TEST(Flash2BackwardProgram, RowsAndCudaCoresAreCompiled) {
  for (const DType dtype : {DType::bf16, DType::fp32}) {
    AttentionProblem problem = problem_of(64, Mask::none());
    problem.dtype = dtype;
    for (const BlockProgram& block :
         {flash2_backward_program(problem, {64, 64}, {}, "preprocess"),
          flash2_backward_program(problem, {64, 64}, {}, "convert"),
          flash2_backward_program(problem, {64, 64}), flash2_forward_program(problem, {64, 64})}) {
      EXPECT_EQ(compiled(block).resources.spill_stores, 0) << block.program.expression;
    }
  }
}

/// Tile sizes that are not powers of two, and tiles with fewer parts than warps.
TEST(Flash2Programs, OfOddTilingsAreCompiled) {
  for (const char* mask : {"causal", "window:256"}) {
    const AttentionProblem problem = problem_of(80, *parse_mask(mask));
    for (const Tiling& tiling : {Tiling{48, 80}, {112, 16}, {16, 144}}) {
      EXPECT_GT(compiled(flash2_forward_program(problem, tiling)).resources.registers, 0);
      EXPECT_GT(
          compiled(flash2_backward_program(problem, tiling, {.traced = true})).resources.registers,
          0);
    }
  }
}

struct Case {
  const char* kernel;
  const char* mask;
};

class Flash2Instances : public testing::TestWithParam<Case> {
 protected:
  /// Compiles the program that `program_of` returns for each tiling that `tilings_of` returns.
  template <typename Tilings, typename Program>
  void expect_no_spills(const Tilings& tilings_of, const Program& program_of) {
    const KernelInfo& kernel = *find_kernel(GetParam().kernel);
    for (const Index d : {64, 128, 256}) {
      const AttentionProblem problem = problem_of(d, *parse_mask(GetParam().mask));
      for (const Tiling& tiling : tilings_of(kernel, problem)) {
        const BlockProgram block = program_of(problem, tiling, {.listed = kernel.takes_block_mask});
        expect_no_spill(block);
      }
    }
  }
};

constexpr auto kForwardTilings = [](const KernelInfo& kernel, const AttentionProblem& problem) {
  return default_tilings(kernel, PassKind::forward, problem);
};
constexpr auto kBackwardTilings = [](const KernelInfo& kernel, const AttentionProblem& problem) {
  return default_tilings(kernel, PassKind::backward, problem);
};

TEST_P(Flash2Instances, OfTheForwardPassSpillNoRegister) {
  expect_no_spills(kForwardTilings, flash2_forward_program);
}

TEST_P(Flash2Instances, OfTheBackwardPassSpillNoRegister) {
  expect_no_spills(kBackwardTilings,
                   [](const auto& problem, const Tiling& tiling, const LaunchKind& kind) {
                     return flash2_backward_program(problem, tiling, kind);
                   });
}

INSTANTIATE_TEST_SUITE_P(Kernels, Flash2Instances,
                         testing::Values(Case{"flash2", "causal"}, Case{"flash2", "window:256"},
                                         Case{"block_sparse2", "none"},
                                         Case{"block_sparse2", "window:256"}));

TEST(KnobPrograms, AreOtherCodeForEachValue) {
  const AttentionProblem problem = problem_of(32, Mask::causal());
  const auto program_of = [&](const Knobs& knobs) {
    return flash2_forward_program(problem, {128, 64}, {.knobs = knobs});
  };
  const CompiledKernel plain = compiled(program_of({}));
  for (const Knob* const knob : find_kernel("flash2")->knobs(PassKind::forward)) {
    if (knob->name == kInstructionsKnob || knob->hopper_only) continue;
    for (const KnobValue& value : knob->values.subspan(1)) {
      if (knob->name == "warps" && value.value == 4) continue;  // the rule's choice here
      Knobs knobs;
      knobs.*knob->member = value.value;
      const BlockProgram block = program_of(knobs);
      const CompiledKernel kernel = compiled(block);
      EXPECT_NE(kernel.cubin, plain.cubin) << knob->name << '=' << value.name;
      EXPECT_LE(kernel.resources.registers * block.threads, 65536) << knob->name;
    }
  }
  EXPECT_NE(compiled(program_of({.visit_hidden = 1})).cubin, plain.cubin);
  EXPECT_EQ(program_of({.stages = 3}).shared_bytes, (128 + 6 * 64) * 32 * 2);
  EXPECT_EQ(program_of({.warps = 2}).threads, 64);
  const ResolvedRun run = test::kernel_run("flash2", problem_of(128, Mask::none()),
                                           PassKind::backward, Tiling{64, 128});
  EXPECT_FALSE(has_hopper_program(run, {.hopper = 0}));
  EXPECT_TRUE(has_hopper_program(run, {.visit_hidden = 1}));
}

/// What a run without further choices launches on a Hopper GPU, in bf16.
class DefaultPrograms : public ::testing::TestWithParam<Index> {};

TEST_P(DefaultPrograms, OfEveryKernelAndPassAreCompiledWithoutSpills) {
  const ProgramTarget hopper{"9.0"};
  std::vector<KernelProgram> programs;
  for (const KernelInfo& kernel : catalog()) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      if (!takes_pass(kernel, pass, DType::bf16)) continue;
      for (const Mask& mask : {Mask::none(), Mask::causal()}) {
        RunSpec spec{.problem = problem_of(GetParam(), mask), .pass = pass};
        spec.algorithm = spec.kernel = kernel.name;
        if (kernel.takes_block_mask) spec.block_mask = parse_block_pattern("uniform:0.5").value();
        const auto run = resolve(spec, hopper);
        ASSERT_TRUE(run.ok()) << kernel.name << ": " << run.error().message;
        for (const LaunchProgram& launch : programs_of(run.value(), hopper)) {
          programs.push_back(launch.block.program);
          programs.back().architecture = "sm_90a";
        }
      }
    }
  }
  const auto error = shared_compiler().obtain_all(programs, {});
  ASSERT_FALSE(error) << error->message;
  for (const KernelProgram& program : programs) {
    const auto obtained = shared_compiler().obtain(program);
    ASSERT_TRUE(obtained.ok());
    EXPECT_EQ(obtained.value().kernel->resources.spill_stores, 0) << program.expression;
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, DefaultPrograms, ::testing::Values(64, 128, 256),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace attnscope::kernels
