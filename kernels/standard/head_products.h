/// The matrix products of standard attention, for all heads at once, by cuBLAS. Internal.
#pragma once

#include <memory>

#include "kernels/tensor_view.cuh"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

struct CublasHandle;
class CublasHandles;

/// Products between tensors of queries [B, H, N, d], tensors of keys [B, H_kv, N_kv, d] and
/// contiguous tensors of scores [B, H, N, N_kv], all of the problem's type, with fp32 accumulation.
/// All functions throw NotLaunched, with the error that cuBLAS reports.
class HeadProducts {
 public:
  /// Gets the stream's handle; its error is unavailable if cuBLAS cannot be loaded. The problem
  /// must outlive the object.
  HeadProducts(const AttentionProblem& problem, CublasHandles& handles, void* stream);

  /// scores = scale * query key^T: S from Q and K, dP from dO and V.
  void scores(void* scores, const TensorView& query, const TensorView& key, double scale) const;
  /// query = scale * scores key: O from P and V, dQ from dS and K.
  void of_scores(const TensorView& query, const void* scores, const TensorView& key,
                 double scale) const;
  /// key = scale * scores^T query, for a tensor with one head per query head: dV from P and dO, dK
  /// from dS and Q.
  void of_scores_transposed(const TensorView& key, const void* scores, const TensorView& query,
                            double scale) const;

 private:
  const AttentionProblem& problem_;
  const std::shared_ptr<CublasHandle> cublas_;
};

}  // namespace attnscope::kernels
