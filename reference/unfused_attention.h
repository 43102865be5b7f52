/// Unfused attention emulated in the problem's own precision: its error is the yardstick by which
/// the tolerance rule measures kernels (tolerance.h).
#pragma once

#include "reference/naive_attention.h"

namespace attnscope {

/// Three steps, with every tensor between them stored in the problem's precision, as in a framework
/// without a fused kernel: K' = softmax_scale K (scaling K, an order of operations that no kernel
/// here uses), S = Q K'^T, P = softmax(S), O = P V. Products accumulate in fp32, the softmax runs
/// in fp32 with soft cap, bias and mask in the same step, LSE is fp32. Dropout is a separate step:
/// its P is stored again.
ForwardResult unfused_forward(const AttentionProblem& problem, const AttentionInputs& inputs);

/// The gradients of those three steps, each tensor stored in the problem's precision too: P from
/// the stored S, dV = P^T dO, dP = dO V^T, dS = P * (dP - rowsum(P * dP)), dQ = dS K',
/// dK' = dS^T Q, dK = softmax_scale dK'. With grouped heads the query heads' dK and dV are stored
/// first and then summed.
Gradients unfused_backward(const AttentionProblem& problem, const AttentionInputs& inputs);

}  // namespace attnscope
