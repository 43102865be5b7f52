/// The parameters of split_kv's launches, passed by value, and the functions that start them.
/// Internal.
#pragma once

#include "kernels/forward_parameters.h"
#include "kernels/trace/trace_buffer.h"

namespace attnscope::kernels {

/// Columns of a row of O_split: d, rounded up to a multiple of 16 bytes.
ATTNSCOPE_HOST_DEVICE constexpr int split_columns(int d) {
  return (d + 3) / 4 * 4;
}

struct SplitKvParameters {
  ForwardShape shape;
  TensorView Q, K, V, O;
  float* LSE = nullptr;        ///< [B, H, N]
  int splits = 1;              ///< parts of the keys
  float* O_split = nullptr;    ///< [B, H, N, splits, split_columns(d)], normalised
  float* LSE_split = nullptr;  ///< [B, H, N, splits]
};

/// For problems with has_score_parameters(): no dropout, no packed sequences.
struct ScoredSplitKvParameters : SplitKvParameters {
  ScoreParameters scores = {};
};

/// "partial": starts the compiled instance for the head dimension and tiling; false when there is
/// none.
bool start_split_kv_partial_fp16(const SplitKvParameters& parameters, Index batch, Index d,
                                 const Tiling& tiling, void* stream);
bool start_split_kv_partial_bf16(const SplitKvParameters& parameters, Index batch, Index d,
                                 const Tiling& tiling, void* stream);
bool start_split_kv_scored_fp16(const ScoredSplitKvParameters& parameters, Index batch, Index d,
                                const Tiling& tiling, void* stream);
bool start_split_kv_scored_bf16(const ScoredSplitKvParameters& parameters, Index batch, Index d,
                                const Tiling& tiling, void* stream);

/// The same for the instrumented build (bf16, and fp16 at d = 16).
bool start_split_kv_traced(const SplitKvParameters& parameters, const TraceBuffer& trace,
                           DType dtype, Index batch, Index d, const Tiling& tiling, void* stream);

/// "combine": O = sum over splits of exp(LSE_split - LSE) O_split; LSE is the log of the sum of
/// exp(LSE_split).
void start_split_kv_combine(const SplitKvParameters& parameters, DType dtype, Index batch,
                            void* stream);

}  // namespace attnscope::kernels
