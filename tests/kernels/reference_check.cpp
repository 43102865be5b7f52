#include "tests/kernels/reference_check.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "kernels/default_tilings.h"
#include "reference/tolerance.h"
#include "tests/kernels/modelled_carry.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {

void expect_within(std::string_view name, const HeadTensor& x, const HeadTensor& ref,
                   const Tolerance& tolerance, DType dtype) {
  const ErrorReport report = compare(x.data, ref.data);
  if (within(report, tolerance)) return;
  if (dtype == DType::fp32 && !report.has_nan && report.rel_fro_error <= kFp32RelError) return;
  ADD_FAILURE() << name << (report.has_nan ? ": NaN, " : ": ") << "max error "
                << report.max_abs_error << " at " << report.worst_index << ", relative "
                << report.rel_fro_error << "; allowed: max error " << tolerance.max_abs;
}

void check_forward(const ForwardCase& forward_case, const AttentionProblem& problem,
                   const AttentionInputs& inputs, const ForwardResult& reference) {
  const ForwardResult unfused = unfused_forward(problem, inputs);
  const ForwardRun forward = run_forward(forward_case, problem, inputs);
  EXPECT_TRUE(forward.padding_is_untouched);
  Tolerance allowed = tolerance_from(unfused.O.data, reference.O.data, problem.dtype);
  if (carries_rounded_O(forward_case, problem) &&
      !within(compare(forward.result.O.data, reference.O.data), allowed)) {
    ForwardCase of_tiling = forward_case;
    if (!of_tiling.tiling) {
      of_tiling.tiling = default_tiling(test::kernel_run(forward_case.kernel->name, problem,
                                                         PassKind::forward, {}, forward_case.carry),
                                        current_gpu());
    }
    allowed = tolerance_of_carry(allowed, modelled_O(of_tiling, problem, inputs), reference.O);
  }
  expect_within("O", forward.result.O, reference.O, allowed, problem.dtype);
  expect_within("LSE", forward.result.LSE, reference.LSE,
                tolerance_from(unfused.LSE.data, reference.LSE.data, DType::fp32), problem.dtype);
}

void check_backward(const BackwardCase& backward_case, const AttentionProblem& problem,
                    const AttentionInputs& inputs, const ForwardResult& reference) {
  const KernelInfo& kernel = *backward_case.kernel;
  const Gradients gradients = naive_backward(problem, inputs, reference);
  const Gradients yardstick = unfused_backward(problem, inputs);
  const BackwardRun backward = run_backward(backward_case, problem, inputs, reference);
  EXPECT_TRUE(backward.padding_is_untouched);
  const std::pair<const char*, HeadTensor Gradients::*> tensors[] = {
      {"dQ", &Gradients::dQ}, {"dK", &Gradients::dK}, {"dV", &Gradients::dV}};
  for (const auto& [name, tensor] : tensors) {
    const HeadTensor& expected = gradients.*tensor;
    Tolerance allowed =
        gradient_tolerance(problem, inputs, (yardstick.*tensor).data, expected.data);
    if (kernel.honours_carry &&
        !within(compare((backward.gradients.*tensor).data, expected.data), allowed)) {
      const auto tiling =
          backward_case.tiling
              ? backward_case.tiling
              : default_tiling(test::kernel_run(kernel.name, problem, PassKind::backward),
                               current_gpu());
      const Gradients modelled = modelled_gradients(kernel, tiling, problem, inputs);
      allowed = tolerance_of_carry(allowed, modelled.*tensor, expected);
    }
    expect_within(name, backward.gradients.*tensor, expected, allowed, problem.dtype);
  }
}

}  // namespace attnscope::kernels
