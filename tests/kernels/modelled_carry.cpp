#include "tests/kernels/modelled_carry.h"

#include <algorithm>

#include "reference/check.h"
#include "sim/resolve.h"
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
  RunSpec spec;
  spec.problem = problem;
  spec.algorithm = kernel.name;
  spec.pass = pass;
  if (tiling) spec.set_tiling(*tiling);
  spec.variant.carry = carry;
  spec.round_to_storage = true;
  spec.fp32_accumulators = true;
  spec.allow_overflow = true;  // the numbers do not depend on the GPU
  const auto gpu = gpu_of(spec);
  ATTNSCOPE_CHECK(gpu.ok(), ==, true);
  const auto run = resolve(spec, gpu.value());
  ATTNSCOPE_CHECK(run.ok(), ==, true);
  auto numbers = simulate_numbers(run.value(), gpu.value(), inputs);
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
