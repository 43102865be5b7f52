/// The matrix products of standard attention, for all heads at once, by cuBLAS. Internal.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "kernels/tensor_view.cuh"
#include "reference/attention_problem.h"
#include "reference/result.h"

namespace attnscope::kernels {

struct CublasHandle;
class CublasHandles;

/// Products between tensors of queries [B, H, N, d], tensors of keys [B, H_kv, N_kv, d] and
/// contiguous tensors of scores [B, H, N, N_kv], all of the problem's type, with fp32 accumulation.
/// Each returns an error if cuBLAS reports one.
class HeadProducts {
 public:
  /// Gets the stream's handle. unavailable if cuBLAS cannot be loaded. The problem must outlive
  /// the object.
  static Result<HeadProducts> open(const AttentionProblem& problem, CublasHandles& handles,
                                   void* stream);

  /// scores = scale * query key^T: S from Q and K, dP from dO and V.
  std::optional<Error> scores(void* scores, const TensorView& query, const TensorView& key,
                              double scale) const;
  /// query = scale * scores key: O from P and V, dQ from dS and K.
  std::optional<Error> of_scores(const TensorView& query, const void* scores, const TensorView& key,
                                 double scale) const;
  /// key = scale * scores^T query, for a tensor with one head per query head: dV from P and dO, dK
  /// from dS and Q.
  std::optional<Error> of_scores_transposed(const TensorView& key, const void* scores,
                                            const TensorView& query, double scale) const;

 private:
  HeadProducts(const AttentionProblem& problem, std::shared_ptr<CublasHandle> cublas)
      : problem_(problem), cublas_(std::move(cublas)) {}

  const AttentionProblem& problem_;
  std::shared_ptr<CublasHandle> cublas_;
};

}  // namespace attnscope::kernels
