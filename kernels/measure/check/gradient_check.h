/// Checks a kernel's gradients against the reference: all of them in a small problem, blocks of
/// rows of a large one. Plain C++.
#pragma once

#include "kernels/measure/check/row_check.h"

namespace attnscope::kernels {

/// Errors of dQ, dK and dV by the tolerance rule with k = 3 (gradient_tolerance()), over about
/// `rows` query rows and `rows` key rows; failed if a gradient contains a NaN or an infinity.
///
/// In a large problem the gradients of a block of keys are computed from the O and LSE that the
/// pass itself reads (both are checked with the forward pass), since the exact O and LSE would need
/// all N x N_kv scores.
Result<GradientAccuracy> check_gradients(const AttentionProblem& problem, Index rows,
                                         const FetchRows& fetch);

}  // namespace attnscope::kernels
