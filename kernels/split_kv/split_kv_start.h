/// Starts split_kv's launches. Internal.
#pragma once

#include "kernels/split_kv/split_kv_parameters.h"
#include "kernels/trace/trace_buffer.h"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

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
