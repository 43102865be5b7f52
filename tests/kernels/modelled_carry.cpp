#include "tests/kernels/modelled_carry.h"

#include <algorithm>

#include "reference/check.h"
#include "sim/simulation.h"

namespace attnscope::kernels {

bool carries_rounded_O(const ForwardCase& forward_case, const AttentionProblem& problem) {
  return forward_case.kernel->honours_carry && forward_case.carry == Carry::problem &&
         problem.dtype != DType::fp32;
}

namespace {

NumericResult simulate_rounded(const KernelInfo& kernel, PassKind pass,
                               const std::optional<Tiling>& tiling, Carry carry,
                               const AttentionProblem& problem, const AttentionInputs& inputs) {
  SimulationRequest request;
  request.problem = problem;
  request.algorithm = kernel.algorithm;
  request.pass = pass;
  request.tiling = tiling;
  request.carry = carry;
  request.allow_overflow = true;  // the numbers do not depend on a chip
  auto numbers =
      simulate_numbers(request, inputs, {.round_to_storage = true, .fp32_accumulators = true});
  ATTNSCOPE_CHECK(numbers.ok(), ==, true);
  return std::move(numbers).value();
}

}  // namespace

HeadTensor modelled_O(const ForwardCase& forward_case, const AttentionProblem& problem,
                      const AttentionInputs& inputs) {
  return simulate_rounded(*forward_case.kernel, PassKind::forward, forward_case.tiling,
                          forward_case.carry, problem, inputs)
      .output.O;
}

Gradients modelled_gradients(const KernelInfo& kernel, const std::optional<Tiling>& tiling,
                             const AttentionProblem& problem, const AttentionInputs& inputs) {
  return *simulate_rounded(kernel, PassKind::backward, tiling, Carry::problem, problem, inputs)
              .gradients;
}

Tolerance tolerance_of_carry(const Tolerance& rule, const HeadTensor& modelled,
                             const HeadTensor& reference) {
  return {std::max(rule.max_abs, 2 * compare(modelled.data, reference.data).max_abs_error),
          rule.rel_fro};
}

}  // namespace attnscope::kernels
