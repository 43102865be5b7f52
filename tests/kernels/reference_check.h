/// One call of a kernel against the reference by the tolerance rule, for tests.
#pragma once

#include <string_view>

#include "reference/tolerance.h"
#include "tests/kernels/backward_run.h"

namespace attnscope::kernels {

/// Adds a failure where x is outside the tolerance. In fp32 the yardstick computes as precisely as
/// the kernels, in a different order: its sums of d products are split into several parts and a
/// kernel's are not, so its errors are smaller. Therefore a small relative error is accepted as
/// well.
void expect_within(std::string_view name, const HeadTensor& x, const HeadTensor& ref,
                   const Tolerance& tolerance, DType dtype);

/// Checks O and LSE of the case; `reference` is naive_forward of the same problem and inputs. Adds
/// a failure for each tensor that violates the rule. flash1 with O kept in 16 bits in HBM has its
/// own model as yardstick: see modelled_carry.h.
void check_forward(const ForwardCase& forward_case, const AttentionProblem& problem,
                   const AttentionInputs& inputs, const ForwardResult& reference);

/// Checks dQ, dK and dV of the case in the same way.
void check_backward(const BackwardCase& backward_case, const AttentionProblem& problem,
                    const AttentionInputs& inputs, const ForwardResult& reference);

}  // namespace attnscope::kernels
