/// Attention by its definition, in double precision: the reference that schedules and kernels are
/// checked against. Eigen computes the matrix products, one block of query rows at a time.
#pragma once

#include <vector>

#include "reference/head_tensor.h"
#include "reference/inputs.h"

namespace attnscope {

/// A row with nothing to attend to has O = 0 and LSE = -inf.
struct ForwardResult {
  HeadTensor O;    ///< [B, H, N, d]
  HeadTensor LSE;  ///< [B, H, N, 1], natural logarithm of the sum of exp(S) over the row
};

/// S = softmax_scale Q K^T over the keys that each query attends to, P = softmax(S), O = P V, with
/// the steps of the problem's score function between them.
ForwardResult naive_forward(const AttentionProblem& problem, const AttentionInputs& inputs);

/// dK and dV are summed over the query heads of a group.
struct Gradients {
  HeadTensor dQ;  ///< [B, H, N, d]
  HeadTensor dK;  ///< [B, H_kv, N_kv, d]
  HeadTensor dV;  ///< [B, H_kv, N_kv, d]
};

/// FlashAttention (arXiv 2205.14135), section B.2, on whole rows: dV = P^T dO, dP = dO V^T,
/// D = rowsum(dO * O), dS = P * (dP - D), dQ = softmax_scale dS K, dK = softmax_scale dS^T Q.
/// The derivative of the soft cap is 1 - (S / cap)^2, that of dropout its factor Z:
/// dV = (Z * P)^T dO, dP = Z * dO V^T, and D remains rowsum(P * dP).
/// `forward` is naive_forward of the same problem and inputs.
Gradients naive_backward(const AttentionProblem& problem, const AttentionInputs& inputs,
                         const ForwardResult& forward);

/// The state of an online softmax for one query row after some of its keys.
struct PartialRow {
  double m;               ///< maximum of S over the keys seen; -inf if there are none
  double l;               ///< sum of exp(S - m) over the keys seen
  std::vector<double> O;  ///< [d], softmax (after dropout) over the keys seen, times V; 0 if none
};

/// The state of the query's row in head h after the keys of `seen` that the query attends to.
PartialRow partial_forward(const AttentionProblem& problem, const AttentionInputs& inputs, Index b,
                           Index h, Index query, KeyRange seen);

}  // namespace attnscope
