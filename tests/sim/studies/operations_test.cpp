/// Operations outside matrix products, compared with closed forms: which of them FlashAttention-2
/// saves.

#include <gtest/gtest.h>

#include <numeric>

#include "sim/schedule/algorithm.h"
#include "sim/studies/operations.h"

namespace attnscope {
namespace {

constexpr Index kHeads = Index{2} * 3;
constexpr Index N = 100, N_kv = 70, d = 16;
constexpr Tiling kTiling{32, 24};
constexpr Index kTc = 3;

OperationCount count_of(std::string_view algorithm, PassKind pass) {
  const auto count = count_operations({.problem = {.batch = 2,
                                                   .heads = 3,
                                                   .kv_heads = 3,
                                                   .N = N,
                                                   .N_kv = N_kv,
                                                   .d = d,
                                                   .dtype = DType::fp16},
                                       .algorithm = std::string(algorithm),
                                       .pass = pass,
                                       .Br = kTiling.Br,
                                       .Bc = kTiling.Bc,
                                       .allow_overflow = true},
                                      load_gpu("a100-40gb").value());
  EXPECT_TRUE(count.ok()) << count.error().message;
  return count.value();
}

Index of(const OperationCount& count, Work work) {
  return count.other[static_cast<std::size_t>(work)];
}

TEST(Operations, AddUpToTheSimulatorsOtherOperations) {
  for (const char* algorithm : {"standard", "flash1", "flash2"}) {
    for (const PassKind pass : {PassKind::forward, PassKind::backward, PassKind::both}) {
      const OperationCount count = count_of(algorithm, pass);
      EXPECT_EQ(std::accumulate(count.other.begin(), count.other.end(), Index{0}),
                count.report.non_matmul_flops)
          << algorithm;
    }
  }
}

TEST(Operations, ForwardIsTwoMatrixProductsAndBackwardFiveOrFourFromAStoredP) {
  for (const char* algorithm : {"flash1", "flash2"}) {
    EXPECT_EQ(count_of(algorithm, PassKind::forward).products(), 2);
    EXPECT_EQ(count_of(algorithm, PassKind::backward).products(), 5);
  }
  EXPECT_EQ(count_of("standard", PassKind::forward).products(), 2);
  EXPECT_EQ(count_of("standard", PassKind::backward).products(), 4);
}

TEST(Operations, Flash1DividesTheOutputInEveryStepAndFlash2Once) {
  const OperationCount flash1 = count_of("flash1", PassKind::forward);
  const OperationCount flash2 = count_of("flash2", PassKind::forward);
  EXPECT_EQ(of(flash1, Work::divide_output), kHeads * kTc * N * d);
  EXPECT_EQ(of(flash2, Work::divide_output), kHeads * N * d);
  // Both bring O to the new maximum in every step
  EXPECT_EQ(of(flash1, Work::rescale_output), kHeads * kTc * N * d);
  EXPECT_EQ(of(flash2, Work::rescale_output), kHeads * kTc * N * d);
}

TEST(Operations, Flash1BringsItsTilesProbabilitiesToTheCommonMaximumAndFlash2NeverHasTo) {
  EXPECT_EQ(of(count_of("flash1", PassKind::forward), Work::rescale_scores), kHeads * N * N_kv);
  EXPECT_EQ(of(count_of("flash2", PassKind::forward), Work::rescale_scores), 0);
}

TEST(Operations, KeepingMAndLCostsMoreThanLse) {
  // Backward, flash1 divides P by l; flash2's exp(S - LSE) is normalised already
  EXPECT_EQ(of(count_of("flash1", PassKind::backward), Work::divide_scores), kHeads * N * N_kv);
  EXPECT_EQ(of(count_of("flash2", PassKind::backward), Work::divide_scores), 0);
  EXPECT_GT(of(count_of("flash1", PassKind::forward), Work::statistics),
            of(count_of("flash2", PassKind::forward), Work::statistics));
}

TEST(Operations, DIsComputedForEveryColumnTileByFlash1AndOnceByFlash2) {
  EXPECT_EQ(of(count_of("flash1", PassKind::backward), Work::row_dot), kHeads * kTc * 2 * N * d);
  EXPECT_EQ(of(count_of("flash2", PassKind::backward), Work::row_dot), kHeads * 2 * N * d);
}

TEST(Operations, EveryAlgorithmTakesTheSoftmaxOnce) {
  for (const char* algorithm : {"standard", "flash1", "flash2"}) {
    const OperationCount count = count_of(algorithm, PassKind::forward);
    EXPECT_EQ(of(count, Work::scale), kHeads * N * N_kv) << algorithm;
    EXPECT_EQ(of(count, Work::exp), kHeads * 2 * N * N_kv) << algorithm;
    EXPECT_EQ(of(count, Work::row_max), kHeads * N * N_kv) << algorithm;
    EXPECT_EQ(of(count, Work::row_sum), kHeads * N * N_kv) << algorithm;
  }
}

TEST(Operations, ScalesSAndTheAddendsOfDqAndDk) {
  for (const char* algorithm : {"flash1", "flash2"}) {
    const OperationCount count = count_of(algorithm, PassKind::backward);
    EXPECT_EQ(of(count, Work::scale), kHeads * N * N_kv) << algorithm;
    EXPECT_GE(of(count, Work::scale_gradients), kHeads * (N + N_kv) * d) << algorithm;
    EXPECT_EQ(of(count_of(algorithm, PassKind::forward), Work::scale_gradients), 0) << algorithm;
  }
  const OperationCount standard = count_of("standard", PassKind::backward);
  EXPECT_EQ(of(standard, Work::scale), 0) << "P was stored";
  EXPECT_GT(of(standard, Work::scale_gradients), 0);
}

TEST(Operations, OtherOperationsCostMoreThanMatrixProducts) {
  // A100: 312 against 19.5 TFLOP/s
  const OperationCount count = count_of("flash2", PassKind::forward);
  const double counts = static_cast<double>(count.report.non_matmul_flops) /
                        static_cast<double>(count.report.matmul_flops);
  const GpuDescription a100 = load_gpu("a100-40gb").value();
  const double exponentials = static_cast<double>(count.report.exponentials) /
                              static_cast<double>(count.report.non_matmul_flops);
  const double on_cuda_cores = counts * (1 - exponentials);
  EXPECT_NEAR(count.time_share(GpuUnit::cuda_cores, a100) / on_cuda_cores, 16, 0.2);
  // Per clock per SM: 2048 operations of a product, 16 exponentials
  const double of_exponentials = counts * exponentials;
  EXPECT_NEAR(count.time_share(GpuUnit::special_function_units, a100) / of_exponentials, 128, 1.5);
}

}  // namespace
}  // namespace attnscope
