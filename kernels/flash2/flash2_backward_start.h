/// Starts the launches of flash2's backward pass. Internal.
#pragma once

#include "kernels/backward_parameters.h"
#include "kernels/trace/trace_buffer.h"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

/// The pass's parameters, with D and dQ_accum in the workspace.
BackwardParameters flash2_backward_parameters(const BackwardArguments& arguments);

/// All launches of the pass, with `start` for "backward".
using StartBackward = bool (*)(const BackwardParameters& parameters, Index batch, Index d,
                               const Tiling& tiling, void* stream);
void launch_flash2_backward(const BackwardArguments& arguments, const Tiling& tiling,
                            const BackwardParameters& parameters, StartBackward start);

/// "preprocess": D = rowsum(dO * O), dQ_accum = 0; one block per row tile of Br rows. fp16 and
/// bf16.
void start_flash2_preprocess(const BackwardParameters& parameters, const AttentionProblem& problem,
                             Index Br, void* stream);

/// "backward": starts the compiled instance for the precision, head dimension and tiling; false
/// when there is none.
bool start_flash2_backward_fp16(const BackwardParameters& parameters, Index batch, Index d,
                                const Tiling& tiling, void* stream);
bool start_flash2_backward_bf16(const BackwardParameters& parameters, Index batch, Index d,
                                const Tiling& tiling, void* stream);

/// The same with Hopper's instructions, block_sparse2's if the parameters have lists of tiles;
/// false on another GPU, and for dQ in a fixed order. Not for problems with has_score_parameters().
bool start_flash2_backward_hopper(const BackwardParameters& parameters, DType dtype, Index batch,
                                  Index d, const Tiling& tiling, void* stream);

/// The same for the instrumented build (bf16, and fp16 and fp32 at d = 16): block_sparse2's where
/// the parameters have lists of tiles.
bool start_flash2_backward_traced(const BackwardParameters& parameters, const TraceBuffer& trace,
                                  DType dtype, Index batch, Index d, const Tiling& tiling,
                                  void* stream);
/// The fp32 instance, called by start_flash2_backward_traced().
bool start_flash2_backward_fp32_traced(const BackwardParameters& parameters,
                                       const TraceBuffer& trace, Index batch, Index d,
                                       const Tiling& tiling, void* stream);
/// The same for start_flash2_backward_hopper (bf16).
bool start_flash2_backward_hopper_traced(const BackwardParameters& parameters,
                                         const TraceBuffer& trace, DType dtype, Index batch,
                                         Index d, const Tiling& tiling, void* stream);

/// "convert": dQ = softmax_scale dQ_accum, rounded. fp16 and bf16.
void start_flash2_convert_dq(const BackwardParameters& parameters, const AttentionProblem& problem,
                             Index Br, void* stream);

/// The three launches in fp32, whose dQ_accum is stored by rows.
void start_flash2_preprocess_fp32(const BackwardParameters& parameters,
                                  const AttentionProblem& problem, Index Br, void* stream);
bool start_flash2_backward_fp32(const BackwardParameters& parameters, Index batch, Index d,
                                const Tiling& tiling, void* stream);
void start_flash2_convert_dq_fp32(const BackwardParameters& parameters,
                                  const AttentionProblem& problem, Index Br, void* stream);

}  // namespace attnscope::kernels
