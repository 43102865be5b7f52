#include "tests/kernels/modelled_carry.h"

#include <algorithm>

#include "reference/check.h"
#include "sim/simulation.h"

namespace attnscope::kernels {

bool carries_rounded_O(const ForwardCase& forward_case, const AttentionProblem& problem) {
  return forward_case.kernel->honours_carry && forward_case.carry == Carry::problem &&
         problem.dtype != DType::fp32;
}

HeadTensor modelled_O(const ForwardCase& forward_case, const AttentionProblem& problem,
                      const AttentionInputs& inputs) {
  SimulationRequest request;
  request.problem = problem;
  request.algorithm = forward_case.kernel->algorithm;
  request.tiling = forward_case.tiling;
  request.carry = forward_case.carry;
  request.allow_overflow = true;  // the numbers do not depend on a chip
  const auto numbers =
      simulate_numbers(request, inputs, {.round_to_storage = true, .fp32_accumulators = true});
  ATTNSCOPE_CHECK(numbers.ok(), ==, true);
  return numbers.value().output.O;
}

Tolerance tolerance_of_carry(const Tolerance& rule, const HeadTensor& modelled,
                             const HeadTensor& reference) {
  return {std::max(rule.max_abs, 2 * compare(modelled.data, reference.data).max_abs_error)};
}

}  // namespace attnscope::kernels
