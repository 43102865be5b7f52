/// One call of a kernel against the reference by the tolerance rule, for tests.
#pragma once

#include "tests/kernels/backward_run.h"

namespace attnscope::kernels {

/// O and LSE of the case; `reference` is naive_forward of the same problem and inputs. Adds a
/// failure for each tensor that is out of the rule. flash1 that carries O in 16 bits has the
/// yardstick of its own model: see modelled_carry.h.
void check_forward(const ForwardCase& forward_case, const AttentionProblem& problem,
                   const AttentionInputs& inputs, const ForwardResult& reference);

/// dQ, dK and dV of the case, the same way.
void check_backward(const BackwardCase& backward_case, const AttentionProblem& problem,
                    const AttentionInputs& inputs, const ForwardResult& reference);

}  // namespace attnscope::kernels
