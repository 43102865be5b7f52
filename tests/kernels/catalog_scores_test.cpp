/// Which kernels take score functions, windows, key lengths and packed sequences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/compiled_tilings.h"
#include "reference/head_dim.h"
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
        if (backward_tilings(kernel, dtype, problem.d).empty()) continue;
        EXPECT_THAT(backward_refusal(kernel, problem), HasSubstr(text));
      }
    }
  }
}

TEST(KernelCatalog, Flash2RefusesMoreTilesOfPackedSequencesThanItNumbers) {
  const KernelInfo& flash2 = kernel_named("flash2");
  AttentionProblem packed = problem_of(DType::bf16, 64);
  packed.N = packed.N_kv = Index{1} << 21;
  packed.cu_seqlens_q = packed.cu_seqlens_k = {0, packed.N};
  EXPECT_THAT(refusal(flash2, packed), HasSubstr("tiles of 32x64; kernel flash2 lists at most"));
  EXPECT_THAT(backward_refusal(flash2, packed), HasSubstr("lists at most 134217728"));
  packed.N = packed.N_kv = Index{1} << 18;
  packed.cu_seqlens_q = packed.cu_seqlens_k = {0, packed.N};
  EXPECT_EQ(refusal(flash2, packed), "accepted");
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
    if (problem.is_packed()) {
      EXPECT_THAT(refusal(sparse, problem), HasSubstr("no packed sequences"));
      continue;
    }
    for (const auto& [d, tiling] :
         {std::pair<Index, Tiling>{64, {128, 128}}, {128, {64, 128}}, {64, {32, 32}}}) {
      problem.d = d;
      const bool is_taken = tiling != Tiling{32, 32};
      for (const std::string& message :
           {refusal(sparse, problem, tiling), backward_refusal(sparse, problem, tiling)}) {
        if (is_taken) {
          EXPECT_EQ(message, "accepted") << text;
        } else {
          EXPECT_THAT(message, HasSubstr("at 128 in tiles of 64x128")) << text;
        }
      }
    }
    problem.d = 128;
    EXPECT_EQ(refusal(sparse, problem), "accepted") << text;
    EXPECT_EQ(backward_refusal(sparse, problem), "accepted") << text;
    problem.d = 16;
    EXPECT_THAT(refusal(sparse, problem), HasSubstr("head-dim 16 and tiles of 16x16"));
  }
}

TEST(KernelCatalog, Flash1TakesScoreFunctionsAtTwoHeadDimensionsInOneTilingEach) {
  const KernelInfo& flash1 = kernel_named("flash1");
  for (auto [problem, text] : scored_problems(DType::fp16)) {
    if (problem.is_packed()) {
      EXPECT_THAT(refusal(flash1, problem), HasSubstr("no packed sequences"));
      EXPECT_THAT(backward_refusal(flash1, problem), HasSubstr("no packed sequences"));
      continue;
    }
    for (const Index d : {64, 128}) {
      problem.d = d;
      EXPECT_EQ(refusal(flash1, problem), "accepted") << text;
      EXPECT_EQ(refusal(flash1, problem, std::nullopt, Carry::fp32), "accepted") << text;
      EXPECT_EQ(backward_refusal(flash1, problem), "accepted") << text;
    }
    problem.d = 64;
    EXPECT_THAT(refusal(flash1, problem, Tiling{32, 32}), HasSubstr("in tiling 128x256 alone"));
    EXPECT_THAT(backward_refusal(flash1, problem, Tiling{32, 32}),
                HasSubstr("in tiling 64x128 alone"));
    problem.d = 128;
    EXPECT_EQ(refusal(flash1, problem, Tiling{128, 128}), "accepted") << text;
    EXPECT_THAT(refusal(flash1, problem, Tiling{128, 256}), HasSubstr("in tiling 128x128 alone"));
    problem.d = 96;
    EXPECT_THAT(refusal(flash1, problem), HasSubstr("head-dim 96; kernel flash1 takes that at "));
    EXPECT_THAT(backward_refusal(flash1, problem), HasSubstr("at head-dim 64 and 128"));
  }
  const AttentionProblem plain = problem_of(DType::fp16, 128);
  EXPECT_EQ(kernel_tilings(flash1, plain), (std::vector{Tiling{128, 256}}));
  EXPECT_THAT(refusal(flash1, plain, Tiling{128, 128}), HasSubstr("no tiling 128x128"));
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
      EXPECT_TRUE(has_score_parameters(problem)) << text;
      EXPECT_EQ(refusal(flash2, problem), "accepted");
      EXPECT_EQ(refusal(flash2, problem, Tiling{128, 128}), "accepted");
      EXPECT_THAT(refusal(flash2, problem, Tiling{32, 32}), HasSubstr("in tiling 128x128 alone"));
      EXPECT_EQ(backward_refusal(flash2, problem), "accepted");
      EXPECT_THAT(backward_refusal(flash2, problem, Tiling{64, 128}),
                  HasSubstr("in tiling 128x128 alone"));
    }
  }
  EXPECT_FALSE(has_score_parameters(problem_of(DType::bf16, 64)));
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
