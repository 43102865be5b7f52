/// Long sequences: rows chosen from all over the tensor, each checked in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/catalog.h"
#include "reference/tolerance.h"
#include "tests/kernels/forward_run.h"
#include "tests/kernels/modelled_carry.h"

namespace attnscope::kernels {
namespace {

constexpr Index kBandRows = 48;

/// Rows [first, first + kBandRows) of one head as a separate problem: under a bottom-right causal
/// mask they see the keys up to their last row, otherwise all keys.
struct Band {
  AttentionProblem problem;
  AttentionInputs inputs;
};

HeadTensor cut(const HeadTensor& tensor, Index b, Index h, Index first, Index rows) {
  HeadTensor part(1, 1, rows, tensor.cols);
  for (Index row = 0; row < rows; ++row) {
    for (Index col = 0; col < tensor.cols; ++col) {
      part.at(0, 0, row, col) = tensor.at(b, h, first + row, col);
    }
  }
  return part;
}

Band band_of(const AttentionProblem& problem, const AttentionInputs& inputs, Index b, Index h,
             Index first) {
  Band band{problem, {}};
  band.problem.batch = band.problem.heads = band.problem.kv_heads = 1;
  band.problem.N = kBandRows;
  if (problem.mask.is_causal()) band.problem.N_kv = first + kBandRows;
  band.inputs.Q = cut(inputs.Q, b, h, first, kBandRows);
  band.inputs.K = cut(inputs.K, b, problem.kv_head_of(h), 0, band.problem.N_kv);
  band.inputs.V = cut(inputs.V, b, problem.kv_head_of(h), 0, band.problem.N_kv);
  return band;
}

void check_bands(const AttentionProblem& problem) {
  const AttentionInputs inputs = make_inputs(problem, {.seed = 42});
  for (const ForwardCase& forward_case : all_cases(problem)) {
    const Index h = problem.heads - 1;
    HeadTensor modelled;
    if (carries_rounded_O(forward_case, problem)) {
      modelled = modelled_O(forward_case, one_head_of(problem), head_of(problem, inputs, 0, h));
    }
    const ForwardRun run = run_forward(forward_case, problem, inputs);
    for (const Index first : {Index{0}, problem.N / 3, problem.N - kBandRows}) {
      SCOPED_TRACE(describe(problem) + ", " + describe(forward_case) + ", rows from " +
                   std::to_string(first));
      const Band band = band_of(problem, inputs, 0, h, first);
      const ForwardResult reference = naive_forward(band.problem, band.inputs);
      const ErrorReport report =
          compare(cut(run.result.O, 0, h, first, kBandRows).data, reference.O.data);
      Tolerance tolerance = forward_tolerance(band.problem, band.inputs, reference);
      if (modelled.size() > 0) {
        tolerance =
            tolerance_of_carry(tolerance, cut(modelled, 0, 0, first, kBandRows), reference.O);
      }
      EXPECT_TRUE(within(report, tolerance))
          << "max error " << report.max_abs_error << ", allowed " << tolerance.max_abs;
    }
  }
}

TEST(LongSequences, AgreeWithTheReferenceInSampledRows) {
  ATTNSCOPE_NEEDS_GPU();
  for (const DType dtype : {DType::fp32, DType::fp16, DType::bf16}) {
    for (const Index d : {64, 128}) {
      for (const Mask& mask : {Mask::none(), Mask::causal()}) {
        check_bands({.batch = 1,
                     .heads = 4,
                     .kv_heads = 2,
                     .N = 2500,
                     .N_kv = 2500,
                     .d = d,
                     .dtype = dtype,
                     .mask = mask});
      }
    }
  }
}

TEST(ManyHeads, AreMoreThanAGridDimensionHolds) {
  ATTNSCOPE_NEEDS_GPU();
  const AttentionProblem problem{.batch = 300,
                                 .heads = 240,
                                 .kv_heads = 120,
                                 .N = 2,
                                 .N_kv = 3,
                                 .d = 16,
                                 .dtype = DType::fp16,
                                 .mask = Mask::causal()};
  const AttentionInputs inputs = make_inputs(problem, {.seed = 9});
  const ForwardResult reference = naive_forward(problem, inputs);
  const Tolerance tolerance = forward_tolerance(problem, inputs, reference);
  for (const ForwardCase& forward_case : all_cases(problem)) {
    const ForwardRun run = run_forward(forward_case, problem, inputs);
    const ErrorReport report = compare(run.result.O.data, reference.O.data);
    EXPECT_TRUE(within(report, tolerance)) << describe(forward_case) << report.max_abs_error;
  }
}

TEST(LongSequences, StandardSoftmaxTakesRowsOfEveryLength) {
  ATTNSCOPE_NEEDS_GPU();
  for (const Index N_kv : {1025, 4096, 4100, 9000, 16384, 20001, 30000, 40000}) {
    const AttentionProblem problem{.batch = 1,
                                   .heads = 1,
                                   .kv_heads = 1,
                                   .N = 48,
                                   .N_kv = N_kv,
                                   .d = 16,
                                   .dtype = DType::bf16,
                                   .mask = Mask::causal()};
    SCOPED_TRACE(describe(problem));
    const AttentionInputs inputs = make_inputs(problem, {.seed = 7});
    const ForwardResult reference = naive_forward(problem, inputs);
    const ForwardRun run = run_forward({.kernel = find_kernel("standard")}, problem, inputs);
    const ErrorReport report = compare(run.result.O.data, reference.O.data);
    EXPECT_TRUE(within(report, forward_tolerance(problem, inputs, reference)))
        << report.max_abs_error;
  }
}

}  // namespace
}  // namespace attnscope::kernels
