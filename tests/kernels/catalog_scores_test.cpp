/// Which kernels support score functions, windows, key lengths and packed sequences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/kernel_parameters.h"
#include "tests/kernels/catalog_helpers.h"

namespace attnscope::kernels {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(KernelCatalog, RefusesScoreFunctionsAndSequencesByName) {
  for (const KernelInfo& kernel : catalog()) {
    for (const DType dtype : {DType::fp32, DType::bf16}) {
      if (is_16_bit_only(kernel) && dtype == DType::fp32) continue;
      if ((kernel.name == "flash1" || kernel.name == "flash2") && dtype == DType::bf16) continue;
      if (kernel.name == "standard" || kernel.name == "split_kv") continue;
      if (kernel.name == "block_sparse2") continue;
      for (const auto& [problem, text] : scored_problems(dtype)) {
        EXPECT_THAT(refusal(kernel, problem), AllOf(HasSubstr(text), HasSubstr(kernel.name)));
        if (!takes_pass(kernel, PassKind::backward, dtype)) continue;
        EXPECT_THAT(backward_refusal(kernel, problem), HasSubstr(text));
      }
    }
  }
}

TEST(KernelCatalog, RefusesMoreTilesOfPackedSequencesThanItNumbers) {
  AttentionProblem most = problem_of(DType::bf16, 64);
  most.N = most.N_kv = Index{1} << 18;
  most.cu_seqlens_q = most.cu_seqlens_k = {0, most.N};
  AttentionProblem more = most;
  more.N = more.N_kv = Index{1} << 21;
  more.cu_seqlens_q = more.cu_seqlens_k = {0, more.N};
  for (const char* const name : {"flash1", "flash2"}) {
    const KernelInfo& kernel = kernel_named(name);
    EXPECT_THAT(refusal(kernel, more),
                HasSubstr("; kernel " + std::string(name) + " lists at most 134217728"));
    EXPECT_THAT(backward_refusal(kernel, more), HasSubstr("lists at most 134217728"));
    EXPECT_EQ(refusal(kernel, most), "accepted");
  }
}

TEST(KernelCatalog, StandardTakesScoreFunctionsAndSequencesAtEveryHeadDimension) {
  const KernelInfo& standard = kernel_named("standard");
  for (const DType dtype : kDTypes) {
    for (auto [problem, text] : scored_problems(dtype)) {
      for (const Index d : {1, 59, 96, 256}) {
        problem.d = d;
        EXPECT_EQ(refusal(standard, problem), "accepted") << text << d;
        if (dtype == DType::fp32) continue;
        EXPECT_EQ(backward_refusal(standard, problem), "accepted") << text << d;
      }
    }
  }
}

TEST(KernelCatalog, BlockSparseTakesScoreFunctionsInTilesThatBothPassesHave) {
  const KernelInfo& sparse = kernel_named("block_sparse2");
  for (auto [problem, text] : scored_problems(DType::bf16)) {
    for (Index d = 1; d <= 256; ++d) {
      problem.d = d;
      const Tiling both = default_tilings(sparse, PassKind::backward, problem).front();
      EXPECT_EQ(backward_refusal(sparse, problem, both), "accepted") << text << d;
      EXPECT_EQ(refusal(sparse, problem, both), "accepted") << text << d;
      EXPECT_EQ(refusal(sparse, problem), "accepted") << text << d;
    }
    problem.d = 64;
    EXPECT_EQ(refusal(sparse, problem, Tiling{32, 32}), "accepted") << text;
    EXPECT_EQ(backward_refusal(sparse, problem, Tiling{32, 32}), "accepted") << text;
  }
}

TEST(KernelCatalog, Flash1TakesScoreFunctionsAtEveryHeadDimension) {
  const KernelInfo& flash1 = kernel_named("flash1");
  for (auto [problem, text] : scored_problems(DType::fp16)) {
    for (Index d = 1; d <= 256; ++d) {
      problem.d = d;
      EXPECT_EQ(refusal(flash1, problem), "accepted") << text << d;
      EXPECT_EQ(backward_refusal(flash1, problem), "accepted") << text << d;
      EXPECT_EQ(refusal(flash1, problem, std::nullopt, Carry::fp32), "accepted") << text << d;
    }
    problem.d = 64;
    EXPECT_EQ(refusal(flash1, problem, Tiling{32, 32}), "accepted") << text;
    EXPECT_EQ(backward_refusal(flash1, problem, Tiling{32, 32}), "accepted") << text;
  }
}

TEST(KernelCatalog, ScoreFunctionsHaveDefaultTilingsOfTheirOwn) {
  AttentionProblem problem = problem_of(DType::bf16, 128);
  const KernelInfo& flash1 = kernel_named("flash1");
  EXPECT_EQ(default_tilings(flash1, PassKind::forward, problem).front(), (Tiling{128, 256}));
  problem.score.soft_cap = 30;
  EXPECT_EQ(default_tilings(flash1, PassKind::forward, problem).front(), (Tiling{128, 128}));
  const KernelInfo& standard = kernel_named("standard");
  EXPECT_EQ(default_tilings(standard, PassKind::forward, problem), (std::vector{Tiling{128, 256}}));
}

TEST(KernelCatalog, SplitKvTakesWhatDecodingNeeds) {
  const KernelInfo& split_kv = kernel_named("split_kv");
  for (auto [problem, text] : scored_problems(DType::bf16)) {
    for (const Index d : {1, 59, 96, 256}) {
      problem.d = d;
      if (problem.score.has_dropout() || problem.is_packed()) {
        EXPECT_THAT(refusal(split_kv, problem),
                    AllOf(HasSubstr(text), HasSubstr("no dropout, which belongs to training")));
      } else {
        EXPECT_EQ(refusal(split_kv, problem), "accepted") << text << d;
      }
    }
  }
}

TEST(KernelCatalog, Flash2TakesScoreFunctionsAndSequencesInItsDefaultTiling) {
  const KernelInfo& flash2 = kernel_named("flash2");
  for (const DType dtype : {DType::fp16, DType::bf16}) {
    for (const auto& [problem, text] : scored_problems(dtype)) {
      EXPECT_TRUE(score_features(problem).any()) << text;
      EXPECT_EQ(refusal(flash2, problem), "accepted");
      EXPECT_EQ(refusal(flash2, problem, Tiling{128, 128}), "accepted");
      EXPECT_EQ(refusal(flash2, problem, Tiling{32, 32}), "accepted");
      EXPECT_EQ(backward_refusal(flash2, problem), "accepted");
      EXPECT_EQ(backward_refusal(flash2, problem, Tiling{64, 128}), "accepted");
    }
  }
  EXPECT_FALSE(score_features(problem_of(DType::bf16, 64)).any());
}

TEST(KernelCatalog, Flash2TakesScoreFunctionsAndSequencesAtEveryHeadDimension) {
  const KernelInfo& flash2 = kernel_named("flash2");
  for (auto [problem, text] : scored_problems(DType::fp16)) {
    for (Index d = 1; d <= 256; ++d) {
      problem.d = d;
      EXPECT_EQ(refusal(flash2, problem), "accepted") << text << d;
      EXPECT_EQ(backward_refusal(flash2, problem), "accepted") << text << d;
    }
  }
}

}  // namespace
}  // namespace attnscope::kernels
