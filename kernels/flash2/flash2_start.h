/// Starts the compiled instance of flash2 for a precision, head dimension and tiling; false when
/// there is none. Internal.
#pragma once

#include "kernels/forward_parameters.h"
#include "kernels/trace/trace_buffer.h"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

bool start_flash2_fp16(const ForwardParameters& parameters, Index batch, Index d,
                       const Tiling& tiling, void* stream);
bool start_flash2_bf16(const ForwardParameters& parameters, Index batch, Index d,
                       const Tiling& tiling, void* stream);
bool start_flash2_fp32(const ForwardParameters& parameters, Index batch, Index d,
                       const Tiling& tiling, void* stream);

/// The same for the instrumented build (bf16, and fp16 and fp32 at d = 16): block_sparse2's where
/// the parameters have lists of tiles.
bool start_flash2_traced(const ForwardParameters& parameters, const TraceBuffer& trace, DType dtype,
                         Index batch, Index d, const Tiling& tiling, void* stream);
/// The fp32 instance, called by start_flash2_traced().
bool start_flash2_fp32_traced(const ForwardParameters& parameters, const TraceBuffer& trace,
                              Index batch, Index d, const Tiling& tiling, void* stream);

}  // namespace attnscope::kernels
