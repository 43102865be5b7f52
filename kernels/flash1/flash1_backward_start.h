/// Starts flash1's backward launch. Internal.
#pragma once

#include "kernels/flash1/flash1_parameters.h"
#include "kernels/trace/trace_buffer.h"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

/// Starts the compiled instance for the head dimension and tiling; false when there is none.
bool start_flash1_backward_fp16(const Flash1BackwardParameters& parameters, Index batch, Index d,
                                const Tiling& tiling, void* stream);
bool start_flash1_backward_bf16(const Flash1BackwardParameters& parameters, Index batch, Index d,
                                const Tiling& tiling, void* stream);

/// The same for problems with has_score_parameters().
bool start_flash1_backward_scored_fp16(const Flash1BackwardParameters& parameters, Index batch,
                                       Index d, const Tiling& tiling, void* stream);
bool start_flash1_backward_scored_bf16(const Flash1BackwardParameters& parameters, Index batch,
                                       Index d, const Tiling& tiling, void* stream);

/// The same with Hopper's instructions; false on another GPU. Not for problems with
/// has_score_parameters().
bool start_flash1_backward_hopper(const Flash1BackwardParameters& parameters, DType dtype,
                                  Index batch, Index d, const Tiling& tiling, void* stream);

/// Starts its instrumented build (bf16 and, at d = 16, fp16); false when there is none.
bool start_flash1_backward_traced(const Flash1BackwardParameters& parameters,
                                  const TraceBuffer& trace, DType dtype, Index batch, Index d,
                                  const Tiling& tiling, void* stream);
/// The same for problems with has_score_parameters() (bf16 at d = 64).
bool start_flash1_backward_scored_traced(const Flash1BackwardParameters& parameters,
                                         const TraceBuffer& trace, DType dtype, Index batch,
                                         Index d, const Tiling& tiling, void* stream);

/// The same for start_flash1_backward_hopper (bf16).
bool start_flash1_backward_hopper_traced(const Flash1BackwardParameters& parameters,
                                         const TraceBuffer& trace, DType dtype, Index batch,
                                         Index d, const Tiling& tiling, void* stream);

/// dQ = 0: "initialise".
void start_flash1_zero_dq(const BackwardParameters& parameters, Index batch, Index d, void* stream);

}  // namespace attnscope::kernels
