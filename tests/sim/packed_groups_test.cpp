/// Query heads of a group as rows of one tile: the same result with fewer bytes of K and V.

#include "sim/resolve.h"

#include <gtest/gtest.h>

#include "sim/packed_groups.h"
#include "tests/support/model_request.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

AttentionProblem decoding(Index N, const Mask& mask) {
  return {.batch = 2,
          .heads = 8,
          .kv_heads = 2,
          .N = N,
          .N_kv = 300,
          .d = 16,
          .dtype = DType::fp32,
          .mask = mask};
}

TEST(PackedGroups, AreTheSameAttention) {
  for (const AttentionProblem& problem :
       {decoding(1, Mask::none()), decoding(1, Mask::causal()), decoding(3, Mask::none())}) {
    ASSERT_TRUE(can_pack_groups(problem));
    const AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 3});
    test::ModelRequest request;
    request.problem = with_packed_groups(problem);
    request.algorithm = "split_kv";
    request.set_tiling({16, 32});
    request.splits = 3;
    request.gpu_description = load_gpu("h200").value();
    EXPECT_EQ(request.problem.N, 4 * problem.N);
    const auto numbers = simulate_numbers(request, with_packed_groups(problem, inputs), {});
    ASSERT_TRUE(numbers.ok()) << numbers.error().message;
    const ForwardResult output = with_separate_heads(problem, numbers.value().output);
    const ForwardResult reference = naive_forward(problem, inputs);
    EXPECT_TRUE(test::is_near(output.O, reference.O, 1e-12));
    EXPECT_TRUE(test::is_near(output.LSE, reference.LSE, 1e-12));
  }
}

TEST(PackedGroups, ReadKeysOnceForTheWholeGroup) {
  test::ModelRequest request;
  request.problem = decoding(1, Mask::causal());
  request.algorithm = "split_kv";
  request.set_tiling({16, 32});
  request.splits = 3;
  request.gpu_description = load_gpu("h200").value();
  const SimulationReport separate = simulate(request).value();
  request.problem = with_packed_groups(request.problem);
  const SimulationReport packed = simulate(request).value();
  const auto read = [](const SimulationReport& report, Tensor tensor) {
    return of(report.by_tensor, tensor).read_bytes;
  };
  EXPECT_EQ(read(packed, Tensor::K), 2 * 2 * 300 * 16 * 4);
  EXPECT_EQ(read(separate, Tensor::K), 4 * read(packed, Tensor::K));
  EXPECT_EQ(read(separate, Tensor::Q), read(packed, Tensor::Q));
  EXPECT_EQ(separate.requested.write_bytes, packed.requested.write_bytes);
  EXPECT_EQ(separate.peak_hbm_bytes, packed.peak_hbm_bytes);
}

TEST(PackedGroups, NeedRowsThatSeeTheSameKeysUnderTheSameScores) {
  EXPECT_FALSE(can_pack_groups(decoding(3, Mask::causal())));
  EXPECT_FALSE(can_pack_groups(decoding(1, Mask::window(10, 0))));
  AttentionProblem problem = decoding(1, Mask::none());
  problem.score.alibi_slopes = standard_alibi_slopes(8);
  EXPECT_FALSE(can_pack_groups(problem));
  problem = decoding(1, Mask::none());
  problem.kv_heads = problem.heads;
  EXPECT_FALSE(can_pack_groups(problem));
}

}  // namespace
}  // namespace attnscope
