/// block_sparse2 under block masks, both passes, in every tiling, against the reference by the
/// tolerance rule.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string_view>

#include "kernels/resolve.h"
#include "reference/block_pattern.h"
#include "tests/kernels/reference_check.h"
#include "tests/kernels/tested_tilings.h"
#include "tests/support/kernel_run.h"
#include "tests/support/listed_block_mask.h"

namespace attnscope::kernels {
namespace {

const KernelInfo& kernel() {
  return *find_kernel("block_sparse2");
}

/// Checks the forward pass, and the backward pass if it supports the mask's tiling.
void check(const AttentionProblem& problem, std::uint64_t seed) {
  const Tiling& tiling = problem.block_mask->tiling();
  SCOPED_TRACE(describe(problem) + ", " + problem.block_mask->text() + " in tiles of " +
               std::to_string(tiling.Br) + "x" + std::to_string(tiling.Bc));
  const AttentionInputs inputs = make_inputs(problem, {.seed = seed});
  const ForwardResult reference = naive_forward(problem, inputs);
  check_forward({.kernel = &kernel()}, problem, inputs, reference);
  if (supports(test::kernel_run(kernel().name, problem, PassKind::backward))) return;
  check_backward({.kernel = &kernel()}, problem, inputs, reference);
}

struct Precision {
  DType dtype;
  Index d;
};

class BlockSparseKernels : public ::testing::TestWithParam<Precision> {
 protected:
  AttentionProblem problem(Index N, Index N_kv, Mask mask = Mask::none()) const {
    return {.batch = 2,
            .heads = 4,
            .kv_heads = 2,
            .N = N,
            .N_kv = N_kv,
            .d = GetParam().d,
            .dtype = GetParam().dtype,
            .mask = mask};
  }
  std::vector<Tiling> tilings(PassKind pass) const {
    return tested_tilings(kernel(), pass, problem(512, 512));
  }
};

TEST_P(BlockSparseKernels, AgreeWithTheReferenceUnderEveryPatternAndMask) {
  ATTNSCOPE_NEEDS_GPU();
  std::uint64_t seed = 1;
  for (const Tiling& tiling : tilings(PassKind::forward)) {
    for (const auto& [N, N_kv] : {std::pair<Index, Index>{512, 512}, {203, 611}, {799, 130}}) {
      for (const Mask& mask :
           {Mask::none(), Mask::causal(), Mask::causal(Mask::Alignment::top_left)}) {
        for (const char* text : {"butterfly", "local-global:1,1", "random:0.4,7", "uniform:0.3"}) {
          AttentionProblem sparse = problem(N, N_kv, mask);
          sparse.block_mask =
              make_block_mask(parse_block_pattern(text).value(), N, N_kv, tiling).value();
          check(sparse, seed++);
        }
      }
    }
  }
}

TEST_P(BlockSparseKernels, AgreeWithTheReferenceAtLongSizes) {
  ATTNSCOPE_NEEDS_GPU();
  std::uint64_t seed = 100;
  for (const Tiling& tiling : tilings(PassKind::forward)) {
    for (const auto& [N, N_kv] :
         {std::pair<Index, Index>{1023, 1024}, {1024, 1023}, {2048, 2048}}) {
      for (const Mask& mask : {Mask::none(), Mask::causal()}) {
        AttentionProblem sparse = problem(N, N_kv, mask);
        sparse.batch = sparse.kv_heads = 1;
        sparse.heads = 2;
        sparse.block_mask =
            make_block_mask(parse_block_pattern("random:0.4,7").value(), N, N_kv, tiling).value();
        check(sparse, seed++);
      }
    }
  }
}

/// Row tile 1 sees nothing, and no row tile sees column tile 1.
AttentionProblem with_empty_tiles(AttentionProblem problem, const Tiling& tiling) {
  problem.N = 3 * tiling.Br - 5;
  problem.N_kv = 3 * tiling.Bc - 3;
  problem.block_mask = test::listed_block_mask(tiling, 3, {{0, 2}, {}, {2}});
  return problem;
}

TEST_P(BlockSparseKernels, GiveZeroWhereTheBlockMaskLeavesNothing) {
  ATTNSCOPE_NEEDS_GPU();
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  for (const Tiling& tiling : tilings(PassKind::forward)) {
    const AttentionProblem sparse = with_empty_tiles(problem(1, 1), tiling);
    const AttentionInputs inputs = make_inputs(sparse, {.seed = 500});
    const ForwardResult forward = run_forward({.kernel = &kernel()}, sparse, inputs).result;
    for (Index row = tiling.Br; row < 2 * tiling.Br; ++row) {
      ASSERT_EQ(forward.O.at(1, 3, row, 0), 0.0) << row;
      ASSERT_EQ(forward.O.at(1, 3, row, sparse.d - 1), 0.0) << row;
      ASSERT_EQ(forward.LSE.at(1, 3, row, 0), kNone) << row;
    }
    check(sparse, 501);
    if (supports(test::kernel_run(kernel().name, sparse, PassKind::backward))) continue;
    const Gradients gradients =
        run_backward({.kernel = &kernel()}, sparse, inputs, naive_forward(sparse, inputs))
            .gradients;
    for (const Index col : {Index{0}, sparse.d - 1}) {
      for (Index row = tiling.Br; row < 2 * tiling.Br; ++row) {
        ASSERT_EQ(gradients.dQ.at(1, 3, row, col), 0.0) << row;
      }
      for (Index key = tiling.Bc; key < 2 * tiling.Bc; ++key) {
        ASSERT_EQ(gradients.dK.at(1, 1, key, col), 0.0) << key;
        ASSERT_EQ(gradients.dV.at(1, 1, key, col), 0.0) << key;
      }
    }
  }
}

TEST_P(BlockSparseKernels, GiveTheSameBitsOnEveryRunButForQueryGradients) {
  ATTNSCOPE_NEEDS_GPU();
  for (const Tiling& tiling : tilings(PassKind::backward)) {
    AttentionProblem sparse = problem(512, 777, Mask::causal());
    sparse.block_mask =
        make_block_mask(parse_block_pattern("random:0.5,3").value(), 512, 777, tiling).value();
    const AttentionInputs inputs = make_inputs(sparse, {.seed = 700});
    SCOPED_TRACE(describe(sparse) + " in tiles of " + std::to_string(tiling.Br) + "x" +
                 std::to_string(tiling.Bc));
    const ForwardRun forward = run_forward({.kernel = &kernel(), .runs = kRepeats}, sparse, inputs);
    EXPECT_EQ(forward.runs_of_other_bits, 0);
    const BackwardRun once = run_backward({.kernel = &kernel()}, sparse, inputs, forward.result);
    const BackwardRun last =
        run_backward({.kernel = &kernel(), .passes = kRepeats}, sparse, inputs, forward.result);
    EXPECT_EQ(last.passes_of_other_dK_dV, 0);
    EXPECT_TRUE(once.dK_bytes == last.dK_bytes);
    EXPECT_TRUE(once.dV_bytes == last.dV_bytes);
  }
}

std::vector<Precision> precisions() {
  std::vector<Precision> all;
  for (DType dtype : {DType::fp16, DType::bf16}) {
    for (Index d : {16, 32, 64, 128}) all.push_back({dtype, d});
  }
  return all;
}

std::vector<Precision> padded_precisions() {
  return {{DType::bf16, 8},   {DType::fp16, 24},  {DType::bf16, 59},
          {DType::bf16, 96},  {DType::fp16, 100}, {DType::bf16, 111},
          {DType::fp16, 192}, {DType::fp16, 224}, {DType::bf16, 250}};
}

INSTANTIATE_TEST_SUITE_P(PaddedPrecisions, BlockSparseKernels,
                         ::testing::ValuesIn(padded_precisions()), [](const auto& test) {
                           return std::string(to_string(test.param.dtype)) + "_d" +
                                  std::to_string(test.param.d);
                         });

INSTANTIATE_TEST_SUITE_P(SixteenBits, BlockSparseKernels, ::testing::ValuesIn(precisions()),
                         [](const auto& test) {
                           return std::string(to_string(test.param.dtype)) + "_d" +
                                  std::to_string(test.param.d);
                         });

}  // namespace
}  // namespace attnscope::kernels
