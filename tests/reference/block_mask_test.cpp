/// The block mask's lists, and the reference's attention under a block mask: forward compared with
/// plain loops, gradients with finite differences.

#include "reference/block_mask.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/block_pattern.h"
#include "reference/unfused_attention.h"
#include "tests/support/finite_differences.h"
#include "tests/support/listed_block_mask.h"
#include "tests/support/plain_attention.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

using test::is_near;
using test::listed_block_mask;

TEST(BlockMask, ListsItsOnesByRowAndByColumn) {
  const auto M = listed_block_mask({4, 8}, 3, {{0, 2}, {}, {2}});
  EXPECT_EQ(M->Tr(), 3);
  EXPECT_EQ(M->Tc(), 3);
  EXPECT_EQ(M->nonzeros(), 3);
  EXPECT_DOUBLE_EQ(M->density(), 3.0 / 9.0);
  const auto listed = [](std::span<const std::int32_t> tiles) {
    return std::vector<std::int32_t>(tiles.begin(), tiles.end());
  };
  EXPECT_EQ(listed(M->columns_of(0)), (std::vector<std::int32_t>{0, 2}));
  EXPECT_TRUE(M->columns_of(1).empty());
  EXPECT_EQ(listed(M->rows_of(0)), (std::vector<std::int32_t>{0}));
  EXPECT_TRUE(M->rows_of(1).empty());
  EXPECT_EQ(listed(M->rows_of(2)), (std::vector<std::int32_t>{0, 2}));
  EXPECT_TRUE(M->contains(2, 2));
  EXPECT_FALSE(M->contains(1, 2));
  EXPECT_TRUE(M->attends(3, 23));  // tile (0, 2)
  EXPECT_FALSE(M->attends(4, 23));
}

/// A problem with ragged tiles, an empty row of tiles and an empty column of tiles.
AttentionProblem masked_problem(const Mask& mask) {
  AttentionProblem problem{.batch = 1,
                           .heads = 4,
                           .kv_heads = 2,
                           .N = 10,
                           .N_kv = 11,
                           .d = 3,
                           .dtype = DType::fp32,
                           .mask = mask};
  problem.block_mask = listed_block_mask({4, 3}, 4, {{0, 3}, {}, {1, 3}});
  return problem;
}

TEST(BlockMask, HidesItsZeroTilesFromTheReference) {
  for (const Mask& mask : {Mask::none(), Mask::causal(), Mask::window(4, 2)}) {
    const AttentionProblem problem = masked_problem(mask);
    ASSERT_EQ(validate(problem), std::nullopt);
    const AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 3});
    const ForwardResult plain = test::plain_forward(problem, inputs, [&](Index q, Index k) {
      const Index centre = q + (mask.is_none() ? 0 : problem.N_kv - problem.N);
      const bool in_band = (mask.left == Mask::kUnlimited || k >= centre - mask.left) &&
                           (mask.right == Mask::kUnlimited || k <= centre + mask.right);
      const Index i = q / 4;
      const Index j = k / 3;
      return in_band && ((i == 0 && (j == 0 || j == 3)) || (i == 2 && (j == 1 || j == 3)));
    });
    const ForwardResult naive = naive_forward(problem, inputs);
    EXPECT_TRUE(is_near(naive.O, plain.O, 1e-13)) << to_string(mask);
    EXPECT_TRUE(is_near(naive.LSE, plain.LSE, 1e-13)) << to_string(mask);
    EXPECT_EQ(naive.LSE.at(0, 0, 5, 0), -INFINITY);
    EXPECT_EQ(naive.O.at(0, 0, 5, 0), 0.0);
    EXPECT_TRUE(is_near(unfused_forward(problem, inputs).O, plain.O, 1e-5)) << to_string(mask);
  }
}

TEST(BlockMask, GradientsUnderItEqualFiniteDifferences) {
  for (const Mask& mask : {Mask::none(), Mask::causal()}) {
    const AttentionProblem problem = masked_problem(mask);
    const AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 5});
    const Gradients gradients = naive_backward(problem, inputs, naive_forward(problem, inputs));
    const auto differences = [&](auto member) {
      return test::finite_differences(problem, inputs, member);
    };
    EXPECT_TRUE(is_near(gradients.dQ, differences(&AttentionInputs::Q), 1e-8)) << to_string(mask);
    EXPECT_TRUE(is_near(gradients.dK, differences(&AttentionInputs::K), 1e-8)) << to_string(mask);
    EXPECT_TRUE(is_near(gradients.dV, differences(&AttentionInputs::V), 1e-8)) << to_string(mask);
    const Gradients unfused = unfused_backward(problem, inputs);
    EXPECT_TRUE(is_near(unfused.dQ, gradients.dQ, 1e-5)) << to_string(mask);
    EXPECT_TRUE(is_near(unfused.dK, gradients.dK, 1e-5)) << to_string(mask);
  }
}

TEST(BlockMask, AnEmptyPrefixOfARowHasSeenNothing) {
  const AttentionProblem problem = masked_problem(Mask::none());
  const AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 5});
  const PartialRow nothing =
      partial_forward(problem, inputs, 0, 0, 8, {0, 3});  // column tile 0 is hidden
  EXPECT_EQ(nothing.m, -INFINITY);
  EXPECT_EQ(nothing.l, 0.0);
  EXPECT_GT(partial_forward(problem, inputs, 0, 0, 8, {0, 4}).l, 0.0);
}

TEST(BlockMask, OfAnotherGridIsRefused) {
  AttentionProblem problem = masked_problem(Mask::none());
  problem.N = 13;  // a fourth row of tiles
  const auto error = validate(problem);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->field, "block_mask");
  EXPECT_EQ(error->message, "block mask listed has 3 x 4 tiles; this problem has 4 x 4 of 4 x 3");
}

}  // namespace
}  // namespace attnscope
