/// Starts flash2's forward launch. Internal.
#pragma once

#include "kernels/forward_parameters.h"
#include "kernels/launch.h"
#include "kernels/trace/trace_buffer.h"

namespace attnscope::kernels {

/// In 16 bits: the instance for the problem, on the lists of tiles that the parameters have, or
/// block_sparse2's; instrumented where the arguments have a trace.
void start_flash2_forward(const ForwardArguments& arguments, const ForwardParameters& parameters,
                          const Tiling& tiling);

/// Starts the compiled instance of flash2 in fp32 for a head dimension and tiling; false when there
/// is none.
bool start_flash2_fp32(const ForwardParameters& parameters, Index batch, Index d,
                       const Tiling& tiling, void* stream);
/// The same for the instrumented build (d = 16).
bool start_flash2_fp32_traced(const ForwardParameters& parameters, const TraceBuffer& trace,
                              Index batch, Index d, const Tiling& tiling, void* stream);

}  // namespace attnscope::kernels
