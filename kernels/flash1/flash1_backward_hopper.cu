/// The instances of flash1's backward launch for Hopper.
#include "kernels/flash1/flash1_backward_hopper.cuh"
#include "kernels/flash1/flash1_backward_shared.h"
#include "kernels/flash1/flash1_backward_start.h"
#include "kernels/host/hopper.h"
#include "kernels/host/launch_kernel.h"
#include "kernels/trace/traced_types.cuh"

namespace attnscope::kernels {

namespace {

Flash1HopperParameters with_maps(const Flash1BackwardParameters& parameters, Index batch) {
  const BackwardParameters& shared = parameters.shared;
  return {parameters, gradient_maps(shared, batch), row_tile_map(shared.O, shared.shape, batch),
          row_tile_map(shared.dQ, shared.shape, batch)};
}

template <typename T, typename Trace>
void start(const typename Trace::template Parameters<Flash1HopperParameters>& parameters,
           Index batch, void* stream) {
  constexpr int d = kHopperHeadDim, Br = kHopperTiling.Br, Bc = kHopperTiling.Bc;
  constexpr int kSharedBytes = Flash1HopperBlock<Br, Bc, d>::kBytes;
  static_assert(kSharedBytes == flash1_backward_hopper_shared_bytes(d, kHopperTiling));
  start_kernel(flash1_backward_hopper<T, d, Br, Bc, Trace>, batch * parameters.shared.shape.heads,
               device::kGradientThreads, kSharedBytes, stream, parameters);
}

}  // namespace

bool start_flash1_backward_hopper(const Flash1BackwardParameters& parameters, DType dtype,
                                  Index batch, Index d, const Tiling& tiling, void* stream) {
  if (!runs_on_hopper(parameters.shared, dtype, batch, d, tiling)) return false;
  if (dtype == DType::fp16) {
    start<device::Fp16, device::NoTrace>(with_maps(parameters, batch), batch, stream);
  } else {
    start<device::Bf16, device::NoTrace>(with_maps(parameters, batch), batch, stream);
  }
  return true;
}

bool start_flash1_backward_hopper_traced(const Flash1BackwardParameters& parameters,
                                         const TraceBuffer& trace, DType dtype, Index batch,
                                         Index d, const Tiling& tiling, void* stream) {
  if (dtype != DType::bf16) return false;
  if (!runs_on_hopper(parameters.shared, dtype, batch, d, tiling)) return false;
  start<device::Bf16, device::BlockTrace>({with_maps(parameters, batch), trace}, batch, stream);
  return true;
}

}  // namespace attnscope::kernels
