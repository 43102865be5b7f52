/// Kernels with Hopper's instructions, sm_90a: the problems that they support, and the tensor maps
/// of their bulk copies. Only for the code that starts them.
#pragma once

#include "kernels/backward_parameters.cuh"
#include "kernels/gradient_maps.cuh"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

/// Head dimension and tiling of the only instance of flash1's backward pass.
inline constexpr int kHopperHeadDim = 128;
inline constexpr Tiling kHopperTiling{64, 128};

/// Whether bulk copies can address a tensor [B, H, N, d], or [B, H_kv, N_kv, d]: the strides
/// between heads and batch entries are greater than 0 and less than 2^40 bytes.
bool bulk_copies_reach_rows(const TensorView& tensor, const AttentionProblem& problem);
bool bulk_copies_reach_columns(const TensorView& tensor, const AttentionProblem& problem);

/// The tensor maps of a pass with Hopper's instructions. All three functions throw CudaError if the
/// driver fails.
ForwardMaps forward_maps(const ForwardParameters& parameters, const AttentionProblem& problem,
                         const Tiling& tiling);
/// `stored_rows`: the rows of a box of dK and dV.
GradientMaps gradient_maps(const BackwardParameters& parameters, const AttentionProblem& problem,
                           const Tiling& tiling, Index stored_rows);
/// The map of one more tensor [B, H, N, d], Br rows per box.
TensorMap row_tile_map(const TensorView& tensor, const AttentionProblem& problem, Index Br);

}  // namespace attnscope::kernels
