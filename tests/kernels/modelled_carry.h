/// The yardstick of flash1 where O, or dQ, travels through HBM in 16 bits (Carry::problem): its own
/// schedule, run by the CPU model with the same tiling, carry and roundings. Each of the Tc passes
/// rounds O or dQ once more, which unfused attention does not, so the algorithm cannot satisfy the
/// rule of tolerance.h; a kernel may have twice the error of its model.
#pragma once

#include "kernels/catalog.h"
#include "reference/inputs.h"
#include "reference/tolerance.h"
#include "tests/kernels/forward_run.h"

namespace attnscope::kernels {

/// Whether the case rounds O to 16 bits between passes.
bool carries_rounded_O(const ForwardCase& forward_case, const AttentionProblem& problem);

/// O of the case's schedule, [B, H, N, d], rounded where the kernel rounds: HBM stores and matrix
/// operands to the problem's precision, what stays on chip to fp32.
HeadTensor modelled_O(const ForwardCase& forward_case, const AttentionProblem& problem,
                      const AttentionInputs& inputs);

/// The gradients of the schedule, rounded in the same way, after the forward pass in the same
/// tiling.
Gradients modelled_gradients(const KernelInfo& kernel, const std::optional<Tiling>& tiling,
                             const AttentionProblem& problem, const AttentionInputs& inputs);

/// The larger of the rule's tolerance and twice the model's error.
Tolerance tolerance_of_carry(const Tolerance& rule, const HeadTensor& modelled,
                             const HeadTensor& reference);

}  // namespace attnscope::kernels
