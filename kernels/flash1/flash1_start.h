/// Starts flash1's kernels. Internal.
#pragma once

#include "kernels/flash1/flash1_parameters.h"
#include "kernels/trace/trace_buffer.h"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

/// Starts the compiled instance of the launch "forward"; false when there is none.
bool start_flash1_fp16(const Flash1Parameters& parameters, bool carries_fp32, Index batch, Index d,
                       const Tiling& tiling, void* stream);
bool start_flash1_bf16(const Flash1Parameters& parameters, bool carries_fp32, Index batch, Index d,
                       const Tiling& tiling, void* stream);
bool start_flash1_fp32(const Flash1Parameters& parameters, Index batch, Index d,
                       const Tiling& tiling, void* stream);

/// The same for problems with has_score_parameters().
bool start_flash1_scored_fp16(const ScoredFlash1Parameters& parameters, bool carries_fp32,
                              Index batch, Index d, const Tiling& tiling, void* stream);
bool start_flash1_scored_bf16(const ScoredFlash1Parameters& parameters, bool carries_fp32,
                              Index batch, Index d, const Tiling& tiling, void* stream);

/// Starts its instrumented build (bf16 and, at d = 16, fp16 and fp32; O in HBM in the same
/// precision); false when there is none.
bool start_flash1_traced(const Flash1Parameters& parameters, const TraceBuffer& trace, DType dtype,
                         Index batch, Index d, const Tiling& tiling, void* stream);
/// The fp32 instance, called by start_flash1_traced().
bool start_flash1_fp32_traced(const Flash1Parameters& parameters, const TraceBuffer& trace,
                              Index batch, Index d, const Tiling& tiling, void* stream);
/// The same for problems with has_score_parameters() (bf16 at d = 64).
bool start_flash1_scored_traced(const ScoredFlash1Parameters& parameters, const TraceBuffer& trace,
                                DType dtype, Index batch, Index d, const Tiling& tiling,
                                void* stream);

/// Algorithm 1, line 2: O = 0 (elements of type `carried`), l = 0, m = -inf. O is [B, H, N,
/// columns].
void start_flash1_initialise(const Flash1Parameters& parameters, DType carried, Index batch,
                             Index columns, void* stream);

/// O (problem's precision) = the fp32 O, rounded.
void start_flash1_convert(const TensorView& O, const Flash1Parameters& parameters, DType dtype,
                          Index batch, Index d, void* stream);

/// LSE = softmax_scale * m + log l over B * H * N rows; -inf where l = 0.
void start_flash1_lse(float* LSE, const Flash1Parameters& parameters, Index batch, void* stream);

}  // namespace attnscope::kernels
