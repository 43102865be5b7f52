/// Starts flash2's backward launch for problems with has_score_parameters(); false when there is no
/// instance. Internal.
#pragma once

#include "kernels/backward_parameters.h"
#include "kernels/trace/trace_buffer.h"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

bool start_flash2_backward_scored_fp16(const BackwardParameters& parameters, Index batch, Index d,
                                       const Tiling& tiling, void* stream);
bool start_flash2_backward_scored_bf16(const BackwardParameters& parameters, Index batch, Index d,
                                       const Tiling& tiling, void* stream);

/// The same for the instrumented build (bf16 at d = 64).
bool start_flash2_backward_scored_traced(const BackwardParameters& parameters,
                                         const TraceBuffer& trace, DType dtype, Index batch,
                                         Index d, const Tiling& tiling, void* stream);

}  // namespace attnscope::kernels
