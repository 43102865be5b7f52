#include "kernels/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/compile/block_program.h"
#include "kernels/default_tilings.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"
#include "tests/kernels/catalog_helpers.h"
#include "tests/support/listed_block_mask.h"

namespace attnscope::kernels {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Index kHeadDims[] = {16, 32, 64, 128};

TEST(KernelCatalog, ListsTheKernelsSimplestFirst) {
  std::vector<std::string_view> names;
  for (const KernelInfo& kernel : catalog()) names.push_back(kernel.name);
  EXPECT_THAT(names,
              ::testing::ElementsAre("standard", "flash1", "flash2", "block_sparse2", "split_kv"));
}

TEST(KernelCatalog, DescribesEveryKernel) {
  for (const KernelInfo& kernel : catalog()) {
    EXPECT_NE(find_algorithm(kernel.name), nullptr) << kernel.name;
    EXPECT_THAT(kernel.idea, ::testing::Not(IsEmpty())) << kernel.name;
    EXPECT_TRUE(kernel.forward.source.starts_with("kernels/")) << kernel.forward.source;
    EXPECT_EQ(find_kernel(kernel.name), &kernel);
  }
  EXPECT_EQ(find_kernel("flash9"), nullptr);
}

TEST(KernelCatalog, RefusesABlockMask) {
  for (const KernelInfo& kernel : catalog()) {
    RunSpec spec = test::kernel_run(kernel.name, problem_of(DType::bf16, 64)).asked;
    spec.block_mask = parse_block_pattern("butterfly").value();
    const std::string message = answer(spec);
    if (kernel.takes_block_mask) {
      EXPECT_EQ(message, "accepted");
    } else {
      EXPECT_THAT(message, HasSubstr("block_mask is for block_sparse and block_sparse2"));
    }
  }
}

TEST(KernelCatalog, EveryKernelTakesEveryDTypeAndHeadDimInItsOwnTilings) {
  for (const KernelInfo& kernel : catalog()) {
    for (DType dtype : kDTypes) {
      if (is_16_bit_only(kernel) && dtype == DType::fp32) continue;
      for (Index d : kHeadDims) {
        const auto tilings = default_tilings(kernel, PassKind::forward, problem_of(dtype, d));
        ASSERT_FALSE(tilings.empty()) << kernel.name << to_string(dtype) << d;
        EXPECT_EQ(refusal(kernel, problem_of(dtype, d)), "accepted");
        for (const Tiling& tiling : tilings) {
          EXPECT_EQ(tiling.Br % 16, 0) << kernel.name;
          EXPECT_EQ(tiling.Bc % 16, 0) << kernel.name;
          EXPECT_EQ(refusal(kernel, problem_of(dtype, d), tiling), "accepted");
        }
      }
    }
  }
}

TEST(KernelCatalog, TheScenesTilingsExist) {
  for (std::string_view name : {"flash1", "flash2"}) {
    for (DType dtype : kDTypes) {
      EXPECT_EQ(refusal(kernel_named(name), problem_of(dtype, 16), Tiling{16, 16}), "accepted");
      EXPECT_EQ(refusal(kernel_named(name), problem_of(dtype, 64), Tiling{32, 32}), "accepted");
    }
  }
}

TEST(KernelCatalog, RefusesAHeadDimensionAbove256) {
  EXPECT_THAT(
      default_tilings(kernel_named("flash1"), PassKind::forward, problem_of(DType::bf16, 257)),
      IsEmpty());
  EXPECT_EQ(refusal(kernel_named("flash1"), problem_of(DType::bf16, 257)),
            "head_dim is 257; kernel flash1 takes 1 to 256");
  EXPECT_EQ(refusal(kernel_named("flash2"), problem_of(DType::fp32, 257)),
            "head_dim is 257; kernel flash2 takes 1 to 256");
  EXPECT_EQ(refusal(kernel_named("standard"), problem_of(DType::fp32, 300)),
            "head_dim is 300; kernel standard takes 1 to 256");
  EXPECT_EQ(backward_refusal(kernel_named("flash2"), problem_of(DType::bf16, 300)),
            "head_dim is 300; the backward pass of kernel flash2 takes 1 to 256");
  EXPECT_EQ(backward_refusal(kernel_named("flash1"), problem_of(DType::bf16, 300)),
            "head_dim is 300; the backward pass of kernel flash1 takes 1 to 256");
}

TEST(KernelCatalog, EveryKernelTakesEveryHeadDimensionByPadding) {
  for (const KernelInfo& kernel : catalog()) {
    for (const DType dtype : kDTypes) {
      if (is_16_bit_only(kernel) && dtype == DType::fp32) continue;
      for (Index d = 1; d <= 256; ++d) {
        const AttentionProblem problem = problem_of(dtype, d);
        EXPECT_EQ(refusal(kernel, problem), "accepted") << kernel.name << d;
        if (!kernel.has_backward() || (dtype == DType::fp32 && kernel.name != "flash2")) continue;
        EXPECT_EQ(backward_refusal(kernel, problem), "accepted") << kernel.name << d;
      }
    }
  }
}

/// Shared memory of a block on compute capability 9.0, 8.0 and 8.6 or 8.9.
constexpr Index kHopperBytes = Index{227} * 1024, kAmpereBytes = Index{163} * 1024,
                kAdaBytes = Index{99} * 1024;

constexpr PassKind kPasses[] = {PassKind::forward, PassKind::backward};

/// The shared memory of a block in its default tiling on a GPU whose blocks have `most_bytes`.
Index default_bytes(const KernelInfo& kernel, PassKind pass, const AttentionProblem& problem,
                    Index most_bytes, Carry carry = Carry::problem) {
  ResolvedRun run = test::kernel_run(kernel.name, problem, pass, {}, carry);
  run.tiling = *default_tiling(run, {"", most_bytes});
  const auto programs = programs_of(run, {"", most_bytes});
  return launch_with_products(programs)->block.shared_bytes;
}

TEST(KernelCatalog, EveryDefaultTilingHasABlock) {
  for (const KernelInfo& kernel : catalog()) {
    for (const PassKind pass : kPasses) {
      if (!takes_pass(kernel, pass, DType::bf16) || kernel.pass(pass).uses_cublas()) continue;
      for (const DType dtype : kDTypes) {
        if (!takes_pass(kernel, pass, dtype)) continue;
        for (Index d = 1; d <= 256; ++d) {
          const AttentionProblem problem = problem_of(dtype, d);
          EXPECT_LE(default_bytes(kernel, pass, problem, kHopperBytes), kHopperBytes)
              << kernel.name << d;
          std::vector<Tiling> tilings = default_tilings(kernel, pass, problem);
          ASSERT_FALSE(tilings.empty()) << kernel.name << d;
          for (std::size_t a = 0; a < tilings.size(); ++a) {
            for (std::size_t b = 0; b < a; ++b) EXPECT_FALSE(tilings[a] == tilings[b]) << d;
          }
        }
      }
    }
  }
}

TEST(KernelCatalog, SmallerSharedMemoryGetsTheNextTiling) {
  const AttentionProblem wide = problem_of(DType::bf16, 64);
  const auto of_flash1 = [&](Carry carry, Index most_bytes) {
    return default_tiling(test::kernel_run("flash1", wide, PassKind::forward, {}, carry),
                          {"", most_bytes});
  };
  EXPECT_EQ(of_flash1(Carry::problem, kHopperBytes), (Tiling{128, 256}));
  EXPECT_EQ(of_flash1(Carry::fp32, kHopperBytes), (Tiling{128, 256}));
  EXPECT_EQ(of_flash1(Carry::problem, kAdaBytes), (Tiling{128, 256}));
  EXPECT_EQ(of_flash1(Carry::fp32, kAdaBytes), (Tiling{128, 128}));
  const auto flash2 = test::kernel_run("flash2", problem_of(DType::bf16, 128), PassKind::backward);
  EXPECT_EQ(default_tiling(flash2, {"", kAdaBytes}), (Tiling{32, 64}));
}

/// The problem with every score feature.
AttentionProblem scored(AttentionProblem problem) {
  problem.mask = Mask::window(16, 0);
  problem.score.soft_cap = 30.0;
  problem.score.alibi_slopes = standard_alibi_slopes(problem.heads);
  problem.score.dropout.probability = 0.1;
  return problem;
}

TEST(KernelCatalog, OneDefaultOfEveryPassFitsEveryGpu) {
  int compared = 0;
  for (const KernelInfo& kernel : catalog()) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
      if (!takes_pass(kernel, pass, DType::bf16) || kernel.pass(pass).uses_cublas()) continue;
      for (Index d = 1; d <= 256; ++d) {
        for (const Carry carry : {Carry::problem, Carry::fp32}) {
          for (const AttentionProblem& problem :
               {problem_of(DType::bf16, d), scored(problem_of(DType::bf16, d)),
                problem_of(DType::fp32, d)}) {
            if (!takes_pass(kernel, pass, problem.dtype)) continue;
            for (const Index most_bytes : {kHopperBytes, kAmpereBytes, kAdaBytes}) {
              EXPECT_LE(default_bytes(kernel, pass, problem, most_bytes, carry), most_bytes)
                  << kernel.name << " " << to_string(pass) << " " << d << " " << to_string(carry);
              ++compared;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 9 * 256 * 3 * 2);
}

TEST(KernelCatalog, TakesAnyTilingOrNamesItsLimit) {
  const AttentionProblem problem = problem_of(DType::bf16, 64);
  const KernelInfo& flash2 = kernel_named("flash2");
  for (const Tiling& tiling : {Tiling{48, 16}, {80, 112}, {256, 16}, {16, 256}, {256, 256}}) {
    EXPECT_EQ(refusal(flash2, problem, tiling), "accepted") << tiling.Br << " " << tiling.Bc;
  }
  EXPECT_EQ(refusal(flash2, problem, Tiling{24, 64}),
            "kernel flash2, forward, cannot compute tiles of 24x64 for bf16 at head_dim 64: the "
            "sides of a tile are multiples of 16 up to 256; its default is 128x128");
  for (const Tiling& tiling : {Tiling{0, 64}, {64, -16}, {272, 64}, {64, 1024}}) {
    EXPECT_THAT(refusal(flash2, problem, tiling), HasSubstr("multiples of 16 up to 256"));
    EXPECT_THAT(backward_refusal(flash2, problem, tiling), HasSubstr("multiples of 16 up to 256"));
  }
  for (const KernelInfo& kernel : catalog()) {
    AttentionProblem capped = problem;
    capped.score.soft_cap = 30;
    for (const Index side : {0, 1, 8, 24, 100, 272}) {
      if (kernel.name == "standard") continue;
      EXPECT_THAT(refusal(kernel, capped, Tiling{side, 64}), HasSubstr("its default is"));
      if (!kernel.has_backward()) continue;
      EXPECT_THAT(backward_refusal(kernel, capped, Tiling{side, 64}), HasSubstr("its default is"));
      EXPECT_THAT(backward_refusal(kernel, problem, Tiling{64, side}), HasSubstr("its default is"));
    }
  }
  EXPECT_THAT(backward_refusal(flash2, problem, Tiling{256, 256}),
              HasSubstr("kernel flash2, backward, cannot compute tiles of 256x256 for bf16 at "
                        "head_dim 64: a thread block would need 462848 bytes of shared memory, and "
                        "no GPU has more than 232448; its default is 128x128"));
  EXPECT_THAT(backward_refusal(flash2, problem_of(DType::fp32, 64), Tiling{64, 32}),
              HasSubstr("in fp32 a tile has as many rows as columns"));
  EXPECT_THAT(refusal(kernel_named("split_kv"), problem, Tiling{32, 64}),
              HasSubstr("a tile of split_kv has 16 rows"));
  EXPECT_THAT(refusal(kernel_named("standard"), problem, Tiling{16, 16}),
              HasSubstr("cuBLAS chooses"));
  AttentionProblem window = problem;
  window.mask = Mask::window(9, 0);
  EXPECT_THAT(refusal(flash2, window, Tiling{8, 8}),
              HasSubstr("head_dim 64 with mask window:9,0:"));
}

TEST(KernelCatalog, RefusesAWindowIfNoKernelWasCompiledForIt) {
  AttentionProblem problem = problem_of(DType::bf16, 64);
  problem.mask = Mask::window(16, 0);
  for (const KernelInfo& kernel : catalog()) EXPECT_EQ(refusal(kernel, problem), "accepted");
  problem.dtype = DType::fp32;
  EXPECT_EQ(refusal(kernel_named("standard"), problem), "accepted");
  for (std::string_view name : {"flash1", "flash2"}) {
    EXPECT_THAT(refusal(kernel_named(name), problem),
                AllOf(HasSubstr("window:16,0"),
                      HasSubstr("in fp32, kernel " + std::string(name) + " takes only")));
  }
}

TEST(KernelCatalog, TakesBothCausalAlignments) {
  AttentionProblem problem = problem_of(DType::fp16, 128);
  for (auto alignment : {Mask::Alignment::bottom_right, Mask::Alignment::top_left}) {
    problem.mask = Mask::causal(alignment);
    for (const KernelInfo& kernel : catalog()) EXPECT_EQ(refusal(kernel, problem), "accepted");
  }
}

TEST(KernelCatalog, TakesTheFp32CarryOnlyWhereOTravels) {
  const AttentionProblem problem = problem_of(DType::bf16, 64);
  EXPECT_EQ(refusal(kernel_named("flash1"), problem, std::nullopt, Carry::fp32), "accepted");
  const auto carrying = test::kernel_run("flash2", problem, PassKind::forward, {}, Carry::fp32);
  EXPECT_THAT(answer(carrying.asked), HasSubstr("carry fp32 is for flash1"));
  EXPECT_EQ(
      refusal(kernel_named("flash1"), problem_of(DType::bf16, 256), std::nullopt, Carry::fp32),
      "accepted");
}

TEST(KernelCatalog, SplitKvIsForwardAloneIn16Bits) {
  const KernelInfo& split_kv = kernel_named("split_kv");
  EXPECT_EQ(refusal(split_kv, problem_of(DType::fp32, 64)),
            "dtype is fp32; kernel split_kv takes fp16 or bf16");
  const auto backward =
      test::kernel_run("split_kv", problem_of(DType::bf16, 64), PassKind::backward);
  EXPECT_THAT(answer(backward.asked),
              HasSubstr("pass backward is for all algorithms but split_kv"));
  EXPECT_TRUE(supports(backward));
}

TEST(KernelCatalog, BlockSparseRunsInTheTilesOfItsMask) {
  const KernelInfo& kernel = kernel_named("block_sparse2");
  AttentionProblem problem = problem_of(DType::bf16, 64);
  EXPECT_EQ(refusal(kernel, problem), "accepted") << "no block mask: all tiles";
  EXPECT_GT(possible_tilings(test::kernel_run("block_sparse2", problem)).size(), 1u);
  problem.block_mask = test::listed_block_mask({128, 128}, 8, std::vector(8, std::vector{0, 3}));
  EXPECT_EQ(possible_tilings(test::kernel_run("block_sparse2", problem)),
            (std::vector{Tiling{128, 128}}));
  EXPECT_EQ(refusal(kernel, problem), "accepted");
  EXPECT_EQ(backward_refusal(kernel, problem, Tiling{128, 128}), "accepted");
  EXPECT_EQ(refusal(kernel, problem, Tiling{32, 32}),
            "the block mask has tiles of 128x128, the tiling is 32x32; kernel block_sparse2 "
            "computes the mask's tiles");
  problem.block_mask = test::listed_block_mask({256, 256}, 4, std::vector(4, std::vector{0}));
  EXPECT_EQ(refusal(kernel, problem), "accepted");
  EXPECT_THAT(backward_refusal(kernel, problem),
              AllOf(HasSubstr("tiles of 256x256"), HasSubstr("bytes of shared memory")));
  EXPECT_THAT(refusal(kernel, problem_of(DType::fp32, 64)), HasSubstr("dtype is fp32"));
}

TEST(KernelCatalog, BlockSparsesPassesShareABlockMask) {
  const KernelInfo& kernel = kernel_named("block_sparse2");
  for (Index d = 1; d <= 256; ++d) {
    const AttentionProblem problem = problem_of(DType::bf16, d);
    for (const Tiling& tiling : default_tilings(kernel, PassKind::backward, problem)) {
      EXPECT_EQ(refusal(kernel, problem, tiling), "accepted") << d;
    }
  }
}

TEST(KernelCatalog, BlockSparseWithoutAMaskListsNoMoreTilesThanItsNumbersHold) {
  AttentionProblem problem = problem_of(DType::bf16, 64);
  problem.N = problem.N_kv = Index{1} << 18;
  EXPECT_THAT(refusal(kernel_named("block_sparse2"), problem), HasSubstr("without a block mask"));
  EXPECT_EQ(refusal(kernel_named("flash2"), problem), "accepted");
}

TEST(KernelCatalog, EveryOtherKernelHasABackwardPassThatCarriesNothingInFp32) {
  for (const KernelInfo& kernel : catalog()) {
    if (kernel.name == "split_kv") continue;
    EXPECT_TRUE(kernel.has_backward()) << kernel.name;
    EXPECT_EQ(backward_refusal(kernel, problem_of(DType::bf16, 64)), "accepted");
    const auto error = supports(test::kernel_run(kernel.name, problem_of(DType::bf16, 64),
                                                 PassKind::backward, std::nullopt, Carry::fp32));
    ASSERT_TRUE(error);
    EXPECT_THAT(words(*error, Reader::file), HasSubstr("carry is fp32"));
  }
}

TEST(KernelCatalog, Flash2AloneHasABackwardPassInFp32) {
  for (const KernelInfo& kernel : catalog()) {
    if (!kernel.has_backward()) continue;
    const bool takes = kernel.name == "flash2";
    EXPECT_EQ(takes_pass(kernel, PassKind::backward, DType::fp32), takes) << kernel.name;
    EXPECT_THAT(backward_refusal(kernel, problem_of(DType::fp32, 64)),
                HasSubstr(takes ? "accepted" : "takes fp16 or bf16, that of flash2 also fp32"));
  }
}

TEST(KernelCatalog, TheBackwardPassRefusesWhatItsLaunchCannotHold) {
  const KernelInfo& flash2 = kernel_named("flash2");
  AttentionProblem window = problem_of(DType::fp32, 64);
  window.mask = Mask::window(3, 3);
  EXPECT_THAT(backward_refusal(flash2, window), HasSubstr("causal:top-left"));
  AttentionProblem many_keys = problem_of(DType::bf16, 64);
  many_keys.batch = 64;
  many_keys.N_kv = kMaxSequenceLength;
  EXPECT_THAT(backward_refusal(flash2, many_keys), HasSubstr("rows in one launch"));
}

TEST(KernelCatalog, RefusesAnInvalidProblem) {
  AttentionProblem problem = problem_of(DType::bf16, 64);
  problem.heads = 6;
  problem.kv_heads = 4;
  EXPECT_THAT(refusal(kernel_named("flash2"), problem), HasSubstr("must divide"));
}

TEST(KernelCatalog, ADeterministicDQTakesMasksWhoseTilesComeInOrder) {
  const auto message = [](std::string_view kernel, const AttentionProblem& problem) {
    ResolvedRun run = test::kernel_run(kernel, problem, PassKind::backward);
    run.asked.deterministic = true;
    const auto error = supports(run);
    return error ? words(*error, Reader::file) : std::string("accepted");
  };
  AttentionProblem problem = problem_of(DType::bf16, 64);
  for (const Mask& mask : {Mask::none(), Mask::causal()}) {
    problem.mask = mask;
    for (std::string_view name : {"standard", "flash1", "flash2"}) {
      EXPECT_EQ(message(name, problem), "accepted") << name;
    }
  }
  EXPECT_THAT(message("block_sparse2", problem), HasSubstr("in an arbitrary order"));
  problem.mask = Mask::window(16, 0);
  EXPECT_EQ(message("flash2", problem),
            "with deterministic dQ, kernel flash2 takes only plain softmax attention over whole "
            "sequences "
            "with mask none, causal or causal:top-left; standard takes all");
  for (const auto& [scored, text] : scored_problems(DType::bf16)) {
    EXPECT_THAT(message("flash2", scored), HasSubstr("plain softmax")) << text;
    EXPECT_EQ(message("standard", scored), "accepted") << text;
  }
}

TEST(KernelCatalog, NeedsAGpuThatIsNotTooOld) {
  const auto old = check_compute_capability("Tesla T4", "7.5");
  ASSERT_TRUE(old);
  EXPECT_EQ(old->kind, Error::Kind::unavailable);
  EXPECT_EQ(old->message,
            "Tesla T4 has compute capability 7.5; the kernels need a GPU with 8.0 or newer");
  EXPECT_FALSE(check_compute_capability("NVIDIA L4", "8.9"));
}

TEST(KernelCatalog, RefusesMoreRowsThanOneGridHolds) {
  AttentionProblem problem = problem_of(DType::bf16, 64);
  problem.N = kMaxSequenceLength;
  problem.batch = 64;
  EXPECT_THAT(refusal(kernel_named("flash2"), problem), HasSubstr("batch x heads x seq_len"));
}

}  // namespace
}  // namespace attnscope::kernels
