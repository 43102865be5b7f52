#include "kernels/kernel_parameters.h"

#include <gtest/gtest.h>

#include "reference/attention_problem.h"

namespace attnscope::kernels {
namespace {

void expect_the_masks_keys(const AttentionProblem& problem) {
  const ForwardShape shape = forward_shape(problem);
  for (Index query = 0; query < problem.N; ++query) {
    const KeyRange keys = problem.keys_of(query);
    EXPECT_EQ(keys.begin, 0);
    EXPECT_EQ(shape.keys_end(static_cast<int>(query)), keys.end)
        << to_string(problem.mask) << " N " << problem.N << " N_kv " << problem.N_kv << " query "
        << query;
  }
}

TEST(ForwardShape, SeesTheKeysThatTheMaskShows) {
  const Mask masks[] = {Mask::none(), Mask::causal(), Mask::causal(Mask::Alignment::top_left)};
  for (const Mask& mask : masks) {
    for (const auto& [N, N_kv] : {std::pair<Index, Index>{7, 7}, {3, 11}, {11, 3}, {1, 1}}) {
      expect_the_masks_keys({.N = N, .N_kv = N_kv, .mask = mask});
    }
  }
}

TEST(ForwardShape, FoldsTheScaleIntoAPowerOfTwo) {
  const ForwardShape shape = forward_shape({.d = 64});
  EXPECT_FLOAT_EQ(shape.softmax_scale, 0.125f);
  EXPECT_FLOAT_EQ(shape.softmax_scale_log2, 0.18033688f);
}

}  // namespace
}  // namespace attnscope::kernels
