/// The instances of flash1's kernels that problems need, compiled for compute capability 9.0.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/catalog.h"
#include "kernels/default_tilings.h"
#include "kernels/flash1/flash1_backward_shared.cuh"
#include "kernels/program_target.h"
#include "kernels/run_programs.h"
#include "tests/kernels/compile/compiled_block.h"

namespace attnscope::kernels {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

AttentionProblem flash1_problem(Index d, const char* mask, DType dtype = DType::bf16) {
  AttentionProblem problem;
  problem.N = problem.N_kv = 1024;
  problem.d = d;
  problem.dtype = dtype;
  problem.mask = *parse_mask(mask);
  return problem;
}

BlockProgram flash1_forward_program(const AttentionProblem& problem, const Tiling& tiling,
                                    Carry carry, Index shared_bytes_per_block,
                                    const LaunchKind& kind = {}) {
  return launch_program("forward",
                        test::kernel_run("flash1", problem, PassKind::forward, tiling, carry), kind,
                        shared_bytes_per_block);
}

BlockProgram flash1_backward_program(const AttentionProblem& problem, const Tiling& tiling,
                                     bool on_hopper, const LaunchKind& kind = {}) {
  return launch_program("backward", test::kernel_run("flash1", problem, PassKind::backward, tiling),
                        kind, kMostSharedBytes, on_hopper ? "9.0" : "8.0");
}

bool backward_runs_on_hopper(const AttentionProblem& problem, const Tiling& tiling,
                             const Knobs& knobs = {}) {
  return has_hopper_program(test::kernel_run("flash1", problem, PassKind::backward, tiling), knobs);
}

/// The template arguments without their namespaces.
std::string arguments_of(const BlockProgram& block) {
  std::string text = block.program.expression;
  for (const std::string_view prefix : {"attnscope::kernels::", "device::"}) {
    for (std::size_t at = text.find(prefix); at != text.npos; at = text.find(prefix)) {
      text.erase(at, prefix.size());
    }
  }
  return text;
}

constexpr std::string_view kPlain = "ScoreFeatures{false, false, false, false}";
constexpr std::string_view kWindowed = "ScoreFeatures{true, false, false, false}";

TEST(Flash1Programs, NameWhatTheProblemNeedsAndNoMore) {
  const auto plain = flash1_forward_program(flash1_problem(80, "causal", DType::fp16), {128, 128},
                                            Carry::problem, kMostSharedBytes);
  EXPECT_EQ(plain.program.expression,
            "attnscope::kernels::flash1_forward<attnscope::kernels::device::Fp16, "
            "attnscope::kernels::device::Fp16, 96, 128, 128, 4, "
            "attnscope::kernels::device::Columns::chunks, attnscope::kernels::device::NoTrace, "
            "attnscope::kernels::ScoreFeatures{false, false, false, false}>");
  EXPECT_EQ(plain.threads, 256);
  EXPECT_EQ(plain.shared_bytes, (2 * 128 + 4 * 128) * 96 * 2);

  const auto scored = flash1_forward_program(flash1_problem(64, "window:100"), {128, 256},
                                             Carry::fp32, kMostSharedBytes, {.traced = true});
  EXPECT_EQ(arguments_of(scored),
            "flash1_forward<Bf16, float, 64, 128, 256, 4, Columns::all, BlockTrace, "
            "ScoreFeatures{true, false, false, false}>");
  const auto fp32 = flash1_forward_program(flash1_problem(20, "none", DType::fp32), {64, 64},
                                           Carry::problem, kMostSharedBytes);
  EXPECT_EQ(arguments_of(fp32), "flash1_forward_fp32<32, 64, 64, NoTrace>");
  EXPECT_EQ(fp32.threads, 256);
}

/// A tiling, and the template arguments of its instance.
struct Choice {
  Index d;
  Tiling tiling;
  const char* arguments;
};

TEST(Flash1Programs, OfTheForwardPassHaveTheChosenWidths) {
  const Choice plain[] = {
      {16, {128, 128}, "16, 128, 128, 4, Columns::all"},
      {9, {128, 128}, "16, 128, 128, 4, Columns::first"},
      {16, {16, 16}, "16, 16, 16, 4, Columns::all"},
      {32, {128, 128}, "32, 128, 128, 4, Columns::all"},
      {24, {128, 128}, "32, 128, 128, 4, Columns::chunks"},
      {64, {128, 256}, "64, 128, 256, 4, Columns::all"},
      {64, {128, 128}, "64, 128, 128, 4, Columns::all"},
      {40, {128, 128}, "64, 128, 128, 4, Columns::chunks"},
      {64, {32, 32}, "64, 32, 32, 4, Columns::all"},
      {96, {128, 128}, "96, 128, 128, 4, Columns::chunks"},
      {128, {128, 256}, "128, 128, 256, 3, Columns::all"},
      {100, {128, 64}, "128, 128, 64, 4, Columns::first"},
      {192, {128, 64}, "192, 128, 64, 3, Columns::chunks"},
      {256, {64, 32}, "256, 64, 32, 4, Columns::chunks"},
  };
  for (const Choice& choice : plain) {
    const auto block = flash1_forward_program(flash1_problem(choice.d, "causal"), choice.tiling,
                                              Carry::problem, kMostSharedBytes);
    EXPECT_EQ(arguments_of(block),
              fmt::format("flash1_forward<Bf16, Bf16, {}, NoTrace, {}>", choice.arguments, kPlain));
    EXPECT_EQ(block.threads, choice.tiling.Br * 2);
  }
}

TEST(Flash1Programs, HaveAsManyStagesAsTheGpuHasRoomFor) {
  constexpr Index kAmpere = Index{163} * 1024, kAda = Index{99} * 1024;
  const auto block = [](const AttentionProblem& problem, const Tiling& tiling, Carry carry,
                        Index most_bytes) {
    const auto made = flash1_forward_program(problem, tiling, carry, most_bytes);
    EXPECT_LE(made.shared_bytes, most_bytes) << made.program.expression;
    return made;
  };
  EXPECT_EQ(arguments_of(block(flash1_problem(128, "none"), {128, 64}, Carry::problem, kAda)),
            fmt::format("flash1_forward<Bf16, Bf16, 128, 128, 64, 2, Columns::all, NoTrace, {}>",
                        kPlain));
  EXPECT_EQ(arguments_of(block(flash1_problem(128, "none"), {128, 64}, Carry::fp32, kAmpere)),
            fmt::format("flash1_forward<Bf16, float, 128, 128, 64, 3, Columns::all, NoTrace, {}>",
                        kPlain));
  // Three stages fit beside the data of a window, two beside the bits of dropout
  AttentionProblem dropped = flash1_problem(128, "none");
  dropped.score.dropout.probability = 0.1;
  const auto stages_of = [&](const AttentionProblem& problem) {
    return arguments_of(block(problem, {128, 256}, Carry::problem, kMostSharedBytes));
  };
  EXPECT_THAT(stages_of(flash1_problem(128, "window:100")), HasSubstr("128, 128, 256, 3,"));
  EXPECT_THAT(stages_of(dropped), HasSubstr("128, 128, 256, 2,"));
}

TEST(Flash1Programs, OfTheBackwardPassHaveTheChosenWidthsAndWarps) {
  const Choice plain[] = {
      {16, {128, 128}, "16, 128, 128, 8, Columns::all"},
      {9, {128, 128}, "16, 128, 128, 8, Columns::first"},
      {16, {16, 16}, "16, 16, 16, 1, Columns::all"},
      {32, {64, 128}, "32, 64, 128, 8, Columns::all"},
      {24, {64, 128}, "32, 64, 128, 8, Columns::first"},
      {64, {64, 128}, "64, 64, 128, 8, Columns::all"},
      {40, {64, 128}, "64, 64, 128, 8, Columns::first"},
      {64, {32, 32}, "64, 32, 32, 2, Columns::all"},
      {96, {64, 64}, "96, 64, 64, 8, Columns::first"},
      {128, {64, 128}, "128, 64, 128, 8, Columns::all"},
      {100, {64, 64}, "128, 64, 64, 8, Columns::first"},
      {192, {32, 64}, "192, 32, 64, 8, Columns::first"},
      {256, {32, 64}, "256, 32, 64, 8, Columns::first"},
  };
  for (const Choice& choice : plain) {
    const auto block =
        flash1_backward_program(flash1_problem(choice.d, "none"), choice.tiling, false);
    EXPECT_EQ(arguments_of(block),
              fmt::format("flash1_backward<Bf16, {}, NoTrace, {}>", choice.arguments, kPlain));
  }
  // With score functions there are always eight warps
  const Choice scored[] = {
      {16, {64, 128}, "32, 64, 128, 8, Columns::first"},
      {32, {64, 128}, "32, 64, 128, 8, Columns::all"},
      {64, {64, 128}, "64, 64, 128, 8, Columns::all"},
      {40, {64, 64}, "64, 64, 64, 8, Columns::first"},
      {96, {64, 64}, "96, 64, 64, 8, Columns::first"},
      {128, {64, 128}, "128, 64, 128, 8, Columns::all"},
      {100, {64, 64}, "128, 64, 64, 8, Columns::first"},
      {192, {32, 64}, "192, 32, 64, 8, Columns::first"},
      {256, {32, 64}, "256, 32, 64, 8, Columns::first"},
  };
  for (const Choice& choice : scored) {
    const auto block = flash1_backward_program(flash1_problem(choice.d, "window:8"), choice.tiling,
                                               false, {.traced = true});
    EXPECT_EQ(arguments_of(block), fmt::format("flash1_backward<Bf16, {}, BlockTrace, {}>",
                                               choice.arguments, kWindowed));
    EXPECT_EQ(block.threads, 256);
  }
}

TEST(Flash1Programs, TakeHopperInstructionsWhereTheyFit) {
  const AttentionProblem problem = flash1_problem(128, "causal");
  EXPECT_TRUE(backward_runs_on_hopper(problem, {64, 128}));
  EXPECT_FALSE(backward_runs_on_hopper(problem, {64, 64}));
  EXPECT_FALSE(backward_runs_on_hopper(problem, {64, 128}, {.swizzle = 0}));
  EXPECT_FALSE(backward_runs_on_hopper(flash1_problem(127, "causal"), {64, 128}));
  EXPECT_FALSE(backward_runs_on_hopper(flash1_problem(128, "window:9"), {64, 128}));

  ResolvedRun run{.problem = problem, .tiling = {64, 128}};
  run.asked.kernel = "flash1";
  run.asked.pass = PassKind::backward;
  const auto is_hopper = [&](std::string_view compute_capability) {
    const auto programs = programs_of(run, {std::string(compute_capability), kMostSharedBytes});
    EXPECT_EQ(programs.at(1).launch, "backward");
    return programs.at(1).block.program.expression.find("hopper") != std::string::npos;
  };
  EXPECT_TRUE(is_hopper("9.0"));
  EXPECT_FALSE(is_hopper("8.0"));
  EXPECT_FALSE(is_hopper("10.0"));
  EXPECT_EQ(arguments_of(flash1_backward_program(problem, {64, 128}, true)),
            "flash1_backward_hopper<Bf16, 128, 64, 128, NoTrace>");
}

TEST(Flash1Programs, OfARunAreThoseOfItsLaunches) {
  ResolvedRun run;
  run.asked.kernel = "flash1";
  run.asked.variant.carry = Carry::fp32;
  run.problem = flash1_problem(128, "none");
  run.tiling = {128, 256};
  std::vector<std::string> launches;
  const auto forward = programs_of(run, {"9.0", kMostSharedBytes});
  for (const LaunchProgram& program : forward) launches.push_back(program.launch);
  EXPECT_THAT(launches, ElementsAre("initialise", "forward", "convert", "lse"));

  run.asked.variant.carry = Carry::problem;
  run.asked.pass = PassKind::backward;
  run.tiling = {64, 128};
  const auto backward = programs_of(run, {"9.0", kMostSharedBytes});
  ASSERT_EQ(backward.size(), 2u);
  EXPECT_EQ(backward[0].launch, "initialise");
  EXPECT_THAT(backward[1].block.program.expression, HasSubstr("flash1_backward_hopper"));
}

TEST(Flash1Programs, ShareTilesOfAnySizeAmongTheWarps) {
  for (const int d : {16, 32, 64, 96, 128, 192, 256}) {
    for (Index Br = 16; Br <= 256; Br += 16) {
      for (Index Bc = 16; Bc <= 256; Bc += 16) {
        const int warps = flash1_backward_warps(d, {Br, Bc});
        EXPECT_TRUE(flash1_backward_warps_fit(d, {Br, Bc}, warps)) << d << " " << Br << "x" << Bc;
      }
    }
  }
}

struct Group {
  const char* name;
  const char* mask;
  PassKind pass = PassKind::forward;
  DType dtype = DType::bf16;
  Carry carry = Carry::problem;
};

std::ostream& operator<<(std::ostream& out, const Group& group) {
  return out << group.name;
}

/// The launch that the problem's tiling is for, as a GPU of compute capability 9.0 runs it.
BlockProgram main_program(const Group& group, const AttentionProblem& problem,
                          const Tiling& tiling) {
  if (group.pass == PassKind::forward) {
    return flash1_forward_program(problem, tiling, group.carry, kMostSharedBytes);
  }
  return flash1_backward_program(problem, tiling, backward_runs_on_hopper(problem, tiling));
}

class Flash1Instances : public testing::TestWithParam<Group> {};

TEST_P(Flash1Instances, OfDefaultTilingsSpillNoRegister) {
  const Group& group = GetParam();
  const KernelInfo& kernel = *find_kernel("flash1");
  for (const Index d : {64, 128, 256}) {
    const AttentionProblem problem = flash1_problem(d, group.mask, group.dtype);
    const Tiling tiling = default_tilings(kernel, group.pass, problem).front();
    const BlockProgram block = main_program(group, problem, tiling);
    const CompiledKernel made = compiled(block);
    EXPECT_GT(made.resources.registers, 0);
    EXPECT_EQ(made.resources.spill_stores, 0) << block.program.expression;
    EXPECT_LE(made.resources.registers * block.threads, 65536) << block.program.expression;
    EXPECT_LE(block.shared_bytes + made.resources.static_shared_bytes, 227 * 1024)
        << block.program.expression;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, Flash1Instances,
    testing::Values(Group{"forward", "causal"}, Group{"scored_forward", "window:256"},
                    Group{"forward_in_fp32", "causal", PassKind::forward, DType::fp32},
                    Group{"forward_with_O_in_fp32", "none", PassKind::forward, DType::bf16,
                          Carry::fp32},
                    Group{"backward", "causal", PassKind::backward},
                    Group{"scored_backward", "window:256", PassKind::backward}),
    [](const auto& group) { return std::string(group.param.name); });

TEST(Flash1Instances, OfTheOtherLaunchesAreCompiled) {
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    const AttentionProblem problem = flash1_problem(64, "none", dtype);
    const ResolvedRun run =
        test::kernel_run("flash1", problem, PassKind::forward, Tiling{64, 64}, Carry::fp32);
    for (const char* const launch : {"initialise", "convert", "lse"}) {
      EXPECT_GT(compiled(launch_program(launch, run)).resources.registers, 0) << launch;
    }
  }
  const ResolvedRun backward =
      test::kernel_run("flash1", flash1_problem(64, "none"), PassKind::backward, Tiling{64, 64});
  EXPECT_GT(compiled(launch_program("initialise", backward)).resources.registers, 0);
}

/// Tile sizes that are neither powers of two nor multiples of the rows that the threads copy at a
/// time.
TEST(Flash1Instances, OfOddTilingsAreCompiled) {
  const AttentionProblem problem = flash1_problem(64, "causal");
  const AttentionProblem scored = flash1_problem(64, "window:64");
  EXPECT_GT(compiled(flash1_forward_program(problem, {48, 80}, Carry::problem, kMostSharedBytes,
                                            {.traced = true}))
                .resources.registers,
            0);
  EXPECT_GT(compiled(flash1_backward_program(problem, {48, 48}, false, {.traced = true}))
                .resources.registers,
            0);
  EXPECT_GT(compiled(flash1_backward_program(scored, {128, 32}, false, {.traced = true}))
                .resources.registers,
            0);
}

}  // namespace
}  // namespace attnscope::kernels
