/// Hopper's own instructions, sm_90a: which problems they run, and how their bulk copies find a
/// tensor. Only for .cu files and what starts them.
#pragma once

#include "kernels/backward_parameters.h"
#include "kernels/gradient_maps.h"

namespace attnscope::kernels {

/// The one instance of each backward pass.
inline constexpr int kHopperHeadDim = 128;
inline constexpr Tiling kHopperTiling{64, 128};

/// The instance is for this problem, the current GPU is of compute capability 9.0, and bulk copies
/// can walk along every tensor: to the next head and batch entry it is more than zero bytes, and
/// fewer than 2^40. Throws CudaError.
bool runs_on_hopper(const BackwardParameters& parameters, DType dtype, Index batch, Index d,
                    const Tiling& tiling);

/// Of a problem that runs_on_hopper(). Throw CudaError when the driver cannot.
GradientMaps gradient_maps(const BackwardParameters& parameters, Index batch);
/// Of one more tensor [B, H, N, d], Br rows a box.
CUtensorMap row_tile_map(const TensorView& tensor, const ForwardShape& shape, Index batch);

}  // namespace attnscope::kernels
