/// The tensor maps of the bulk copies of kernels with Hopper's instructions, sm_90a, and the
/// tensors that these can address. Only for the code that starts them.
#pragma once

#include "kernels/backward_parameters.cuh"
#include "kernels/gradient_maps.cuh"
#include "kernels/kernel_parameters.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// Whether bulk copies can address the tensor: the strides between rows, heads and batch entries
/// are greater than 0 and less than 2^40 bytes.
bool bulk_copies_reach(const HeadMatrices& tensor);

/// The tensor maps of a pass with Hopper's instructions, in the run's tiling. All three functions
/// throw CudaError if the driver fails.
ForwardMaps forward_maps(const ForwardParameters& parameters, const ResolvedRun& run);
/// `stored_rows`: the rows of a box of dK and dV.
GradientMaps gradient_maps(const BackwardParameters& parameters, const ResolvedRun& run,
                           Index stored_rows);
/// The map of one more tensor [B, H, N, d], Br rows per box.
TensorMap row_tile_map(const TensorView& tensor, const ResolvedRun& run);

}  // namespace attnscope::kernels
