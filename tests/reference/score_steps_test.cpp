/// The reference under score functions, key lengths and packing, compared with scalar loops that
/// follow the definitions, and the yardstick compared with the reference.

#include <gtest/gtest.h>

#include <cmath>

#include "reference/dropout.h"
#include "reference/naive_attention.h"
#include "reference/tolerance.h"
#include "reference/unfused_attention.h"
#include "tests/support/plain_attention.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

using test::is_near;

AttentionProblem problem_with(const Mask& mask) {
  AttentionProblem problem;
  problem.batch = 2;
  problem.heads = 3;
  problem.kv_heads = 3;
  problem.N = 140;  // more than one block of rows
  problem.N_kv = 150;
  problem.d = 8;
  problem.dtype = DType::bf16;
  problem.mask = mask;
  return problem;
}

TEST(ScoreFunctions, EqualScalarLoopsThatFollowTheDefinition) {
  AttentionProblem problem = problem_with(Mask::causal());
  problem.score = {2.0, {0.5, 0.25, 0.0}, {0.3, 77}};
  const AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 4});
  const test::ExplicitSteps steps{
      [](long double x, Index h, Index query, Index key) {
        const long double slope = h == 0 ? 0.5L : h == 1 ? 0.25L : 0.0L;
        const auto distance = static_cast<long double>(std::abs(key - (query + 10)));
        return 2.0L * std::tanh(x / 2.0L) - slope * distance;
      },
      [](Index b, Index h, Index query, Index key) {
        const auto word =
            dropout_word(77, static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(h),
                         static_cast<std::uint32_t>(query), static_cast<std::uint32_t>(key));
        return static_cast<double>(word) < 0.3 * 0x1p32 - 1 ? 0.0L : 1.0L / 0.7L;
      }};
  const auto causal = [](Index query, Index key) { return key <= query + 10; };
  const ForwardResult expected = test::plain_forward(problem, inputs, causal, steps);
  const ForwardResult result = naive_forward(problem, inputs);
  EXPECT_TRUE(is_near(result.O, expected.O, 1e-12));
  EXPECT_TRUE(is_near(result.LSE, expected.LSE, 1e-12));
}

TEST(PackedSequences, EqualEverySequenceOnItsOwn) {
  AttentionProblem packed = problem_with(Mask::causal());
  packed.batch = 1;
  packed.cu_seqlens_q = {0, 40, 41, 140};
  packed.cu_seqlens_k = {0, 70, 75, 150};
  packed.score = {2.0, standard_alibi_slopes(3), {}};
  const AttentionInputs inputs = make_inputs(packed, {InputKind::gaussian, 4});
  const ForwardResult result = naive_forward(packed, inputs);
  for (Index s = 0; s < packed.sequence_count(); ++s) {
    const Sequence own = packed.sequence(s);
    AttentionProblem alone = packed;
    alone.N = own.queries();
    alone.N_kv = own.keys.size();
    alone.cu_seqlens_q.clear();
    alone.cu_seqlens_k.clear();
    const auto cut = [&](const HeadTensor& tensor, Index begin, Index rows) {
      HeadTensor part(1, 3, rows, tensor.cols);
      for (Index h = 0; h < 3; ++h) {
        for (Index row = 0; row < rows; ++row) {
          for (Index c = 0; c < tensor.cols; ++c) {
            part.at(0, h, row, c) = tensor.at(0, h, begin + row, c);
          }
        }
      }
      return part;
    };
    const AttentionInputs some{
        cut(inputs.Q, own.query_begin, alone.N), cut(inputs.K, own.keys.begin, alone.N_kv),
        cut(inputs.V, own.keys.begin, alone.N_kv), cut(inputs.dO, own.query_begin, alone.N)};
    const ForwardResult expected = naive_forward(alone, some);
    EXPECT_TRUE(is_near(cut(result.O, own.query_begin, alone.N), expected.O, 1e-13)) << s;
    EXPECT_TRUE(is_near(cut(result.LSE, own.query_begin, alone.N), expected.LSE, 1e-13)) << s;
  }
}

TEST(KeyLengths, EqualTheProblemWithoutThePaddedKeys) {
  AttentionProblem padded = problem_with(Mask::none());
  padded.key_lengths = {150, 33};
  const AttentionInputs inputs = make_inputs(padded, {InputKind::gaussian, 4});
  const ForwardResult result = naive_forward(padded, inputs);
  AttentionProblem whole = padded;
  whole.key_lengths.clear();
  const auto first_keys = [](Index, Index key) { return key < 33; };
  const ForwardResult all = naive_forward(whole, inputs);
  const ForwardResult some = test::plain_forward(whole, inputs, first_keys);
  for (Index h = 0; h < 3; ++h) {
    EXPECT_TRUE(is_near(result.O.head(0, h), all.O.head(0, h), 1e-13));
    EXPECT_TRUE(is_near(result.O.head(1, h), some.O.head(1, h), 1e-13));
  }
}

TEST(UnfusedAttention, StaysNearTheReferenceUnderEveryStep) {
  AttentionProblem problem = problem_with(Mask::causal());
  problem.score = {2.0, standard_alibi_slopes(3), {0.3, 77}};
  problem.key_lengths = {150, 90};
  const AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 4});
  const ForwardResult reference = naive_forward(problem, inputs);
  const ForwardResult unfused = unfused_forward(problem, inputs);
  const auto error = [](const HeadTensor& x, const HeadTensor& ref) {
    return compare(x.data, ref.data).rel_fro_error;
  };
  EXPECT_LE(error(unfused.O, reference.O), 0.01);
  EXPECT_GT(error(unfused.O, reference.O), 1e-5) << "nothing was rounded";
  const Gradients gradients = naive_backward(problem, inputs, reference);
  const Gradients rounded = unfused_backward(problem, inputs);
  EXPECT_LE(error(rounded.dQ, gradients.dQ), 0.02);
  EXPECT_LE(error(rounded.dK, gradients.dK), 0.02);
  EXPECT_LE(error(rounded.dV, gradients.dV), 0.02);
}

}  // namespace
}  // namespace attnscope
