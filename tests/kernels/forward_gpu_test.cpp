/// Every kernel, in every tiling and carry, against the reference by the tolerance rule.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "reference/rounding.h"
#include "reference/tolerance.h"
#include "tests/kernels/forward_run.h"

namespace attnscope::kernels {
namespace {

constexpr double kFp32RelError = 1e-5;

/// What flash1 may lose by carrying O in the problem's precision: each of its Tc passes rounds O
/// once more, by half a unit in the last place of the largest value, and a later pass keeps of that
/// error the share of keys that the earlier ones had seen.
double carry_allowance(const ForwardCase& forward_case, const AttentionProblem& problem,
                       const AttentionInputs& inputs) {
  if (!forward_case.kernel->honours_carry || forward_case.carry != Carry::problem) return 0.0;
  double largest = 0.0;
  for (const double v : inputs.V.data) largest = std::max(largest, std::fabs(v));
  const auto passes = static_cast<double>(ceil_div(problem.N_kv, forward_case.tiling->Bc));
  return passes > 1 ? unit_in_last_place(problem.dtype, largest) * passes / 4 : 0.0;
}

/// standard's LSE comes from scores that were stored in the problem's precision.
double stored_score_allowance(const ForwardCase& forward_case, const AttentionProblem& problem,
                              const ForwardResult& reference) {
  if (forward_case.kernel->name != "standard") return 0.0;
  double largest = 0.0;
  for (const double lse : reference.LSE.data) {
    if (std::isfinite(lse)) largest = std::max(largest, std::fabs(lse));
  }
  return unit_in_last_place(problem.dtype, largest) / 2;
}

/// A problem with its right answer and the yardstick, computed once for all kernels.
struct Expected {
  AttentionProblem problem;
  AttentionInputs inputs;
  ForwardResult reference;
  Tolerance O, LSE;
  double yardstick_rel_error;

  Expected(const AttentionProblem& problem_, const InputSpec& spec)
      : problem(problem_),
        inputs(make_inputs(problem, spec)),
        reference(naive_forward(problem, inputs)) {
    const ForwardResult yardstick = unfused_forward(problem, inputs);
    O = tolerance_from(yardstick.O.data, reference.O.data, problem.dtype);
    LSE = tolerance_from(yardstick.LSE.data, reference.LSE.data, DType::fp32);
    yardstick_rel_error = compare(yardstick.O.data, reference.O.data).rel_fro_error;
  }

  void check(const ForwardCase& forward_case) const {
    SCOPED_TRACE(describe(problem) + ", " + describe(forward_case));
    const ForwardRun run = run_forward(forward_case, problem, inputs);
    EXPECT_TRUE(run.padding_is_untouched);
    check_tensor("O", run.result.O, reference.O,
                 {O.max_abs + carry_allowance(forward_case, problem, inputs)});
    check_tensor("LSE", run.result.LSE, reference.LSE,
                 {LSE.max_abs + stored_score_allowance(forward_case, problem, reference)});
  }

 private:
  /// In fp32 the relative error decides; the rule's yardstick is of the same size.
  void check_tensor(std::string_view name, const HeadTensor& x, const HeadTensor& ref,
                    const Tolerance& tolerance) const {
    const ErrorReport report = compare(x.data, ref.data);
    EXPECT_FALSE(report.has_nan) << name;
    const bool precise = problem.dtype == DType::fp32 && report.rel_fro_error < kFp32RelError;
    if (!(precise || within(report, tolerance))) {
      ADD_FAILURE() << name << ": max error " << report.max_abs_error << " at "
                    << report.worst_index << ", relative " << report.rel_fro_error
                    << "; allowed: max error " << tolerance.max_abs;
    }
  }
};

struct Precision {
  DType dtype;
  Index d;
};

class ForwardKernels : public ::testing::TestWithParam<Precision> {
 protected:
  AttentionProblem problem(Index N, Index N_kv, Mask mask = Mask::none()) const {
    return {.batch = 2,
            .heads = 3,
            .kv_heads = 3,
            .N = N,
            .N_kv = N_kv,
            .d = GetParam().d,
            .dtype = GetParam().dtype,
            .mask = mask};
  }
};

void check_all(const AttentionProblem& problem, const InputSpec& spec = {}) {
  const Expected expected(problem, spec);
  for (const ForwardCase& forward_case : all_cases(problem)) expected.check(forward_case);
}

constexpr std::pair<Index, Index> kSizes[] = {
    {64, 64},   {1, 1},     {1, 147},   {1, 239},   {3, 799},   {100, 100},
    {113, 203}, {128, 217}, {113, 211}, {108, 256}, {256, 512}, {512, 256},
    {239, 1},   {799, 3},   {97, 97},   {200, 384}, {384, 384},
};

TEST_P(ForwardKernels, AgreeWithTheReferenceAtEverySize) {
  ATTNSCOPE_NEEDS_GPU();
  std::uint64_t seed = 1;
  for (const auto& [N, N_kv] : kSizes) check_all(problem(N, N_kv), {.seed = seed++});
}

TEST_P(ForwardKernels, AgreeWithTheReferenceUnderACausalMask) {
  ATTNSCOPE_NEEDS_GPU();
  std::uint64_t seed = 100;
  for (const auto& [N, N_kv] : kSizes) {
    check_all(problem(N, N_kv, Mask::causal()), {.seed = seed++});
  }
}

TEST_P(ForwardKernels, AgreeWithTheReferenceUnderATopLeftCausalMask) {
  ATTNSCOPE_NEEDS_GPU();
  std::uint64_t seed = 200;
  const Mask mask = Mask::causal(Mask::Alignment::top_left);
  for (const auto& [N, N_kv] :
       {std::pair<Index, Index>{113, 203}, {512, 256}, {1, 147}, {239, 1}}) {
    check_all(problem(N, N_kv, mask), {.seed = seed++});
  }
}

TEST_P(ForwardKernels, ShareKeysAmongGroupedHeads) {
  ATTNSCOPE_NEEDS_GPU();
  for (const Index kv_heads : {1, 2}) {
    AttentionProblem grouped = problem(113, 203, Mask::causal());
    grouped.heads = 6;
    grouped.kv_heads = kv_heads;
    check_all(grouped, {.seed = 300});
  }
}

TEST_P(ForwardKernels, TakeTensorsWithStridesAndWriteNothingBetweenRows) {
  ATTNSCOPE_NEEDS_GPU();
  AttentionProblem grouped = problem(113, 203, Mask::causal());
  grouped.heads = 4;
  grouped.kv_heads = 2;
  for (const AttentionProblem& strided : {grouped, problem(100, 72)}) {
    const Expected expected(strided, {.seed = 400});
    for (ForwardCase forward_case : all_cases(strided)) {
      forward_case.layout = Layout::interleaved;
      expected.check(forward_case);
    }
  }
}

TEST_P(ForwardKernels, GiveZeroAndMinusInfinityForRowsWithoutKeys) {
  ATTNSCOPE_NEEDS_GPU();
  const AttentionProblem tall = problem(300, 40, Mask::causal());
  const AttentionInputs inputs = make_inputs(tall, {.seed = 500});
  for (const ForwardCase& forward_case : all_cases(tall)) {
    SCOPED_TRACE(describe(forward_case));
    const ForwardRun run = run_forward(forward_case, tall, inputs);
    for (Index row = 0; row < tall.N - tall.N_kv; ++row) {
      ASSERT_EQ(run.result.O.at(1, 2, row, 0), 0.0) << row;
      ASSERT_EQ(run.result.O.at(1, 2, row, tall.d - 1), 0.0) << row;
      ASSERT_EQ(run.result.LSE.at(1, 2, row, 0), -std::numeric_limits<double>::infinity()) << row;
    }
  }
}

TEST_P(ForwardKernels, FindTheNeedle) {
  ATTNSCOPE_NEEDS_GPU();
  check_all(problem(256, 256), {.kind = InputKind::needle, .seed = 601});
}

/// Where two large logits nearly tie, the rounding of a stored score decides: the largest error of
/// standard and of the yardstick is then one element's luck, and their mean errors are compared.
/// The kernels that store no scores obey the rule for the largest.
TEST_P(ForwardKernels, StandLargeLogits) {
  ATTNSCOPE_NEEDS_GPU();
  const InputSpec outliers{.kind = InputKind::outlier, .seed = 600};
  for (const AttentionProblem& large : {problem(256, 512), problem(211, 211, Mask::causal())}) {
    const Expected expected(large, outliers);
    for (const ForwardCase& forward_case : all_cases(large)) {
      if (forward_case.kernel->name != "standard") {
        expected.check(forward_case);
        continue;
      }
      const ForwardRun run = run_forward(forward_case, large, expected.inputs);
      const ErrorReport report = compare(run.result.O.data, expected.reference.O.data);
      EXPECT_FALSE(report.has_nan);
      EXPECT_LE(report.rel_fro_error, 2 * expected.yardstick_rel_error) << describe(large);
    }
  }
}

TEST_P(ForwardKernels, AreTheSameToTheBitOnEveryRun) {
  ATTNSCOPE_NEEDS_GPU();
  const AttentionProblem repeated = problem(512, 777, Mask::causal());
  const AttentionInputs inputs = make_inputs(repeated, {.seed = 700});
  for (const ForwardCase& forward_case : all_cases(repeated)) {
    const ForwardRun first = run_forward(forward_case, repeated, inputs);
    for (int repeat = 0; repeat < 20; ++repeat) {
      const ForwardRun again = run_forward(forward_case, repeated, inputs);
      ASSERT_EQ(first.O_bytes, again.O_bytes) << describe(forward_case);
      ASSERT_EQ(first.result.LSE.data, again.result.LSE.data) << describe(forward_case);
    }
  }
}

std::vector<Precision> precisions() {
  std::vector<Precision> all;
  for (DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    for (Index d : {16, 32, 64, 128}) all.push_back({dtype, d});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(AllPrecisions, ForwardKernels, ::testing::ValuesIn(precisions()),
                         [](const auto& test) {
                           return std::string(to_string(test.param.dtype)) + "_d" +
                                  std::to_string(test.param.d);
                         });

}  // namespace
}  // namespace attnscope::kernels
