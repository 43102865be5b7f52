/// The instances of flash1's backward launch for Hopper.
#include "kernels/flash1/flash1_backward_hopper.cuh"
#include "kernels/flash1/flash1_backward_shared.h"
#include "kernels/host/hopper.h"
#include "kernels/host/launch_kernel.h"
#include "kernels/trace/traced_types.cuh"

namespace attnscope::kernels {

namespace {

constexpr int kHeadDim = 128, kBr = 64, kBc = 128;

bool is_compiled(Index d, const Tiling& tiling) {
  return d == kHeadDim && tiling == Tiling{kBr, kBc} && gpu_is_hopper();
}

Flash1HopperParameters with_maps(const Flash1BackwardParameters& parameters, Index batch) {
  const BackwardParameters& shared = parameters.shared;
  const TensorMaps maps(shared.shape, batch);
  return {parameters,
          maps.rows(shared.Q, kBr),
          maps.rows(shared.O, kBr),
          maps.rows(shared.dO, kBr),
          maps.rows(shared.dQ, kBr),
          maps.columns(shared.K, kBc),
          maps.columns(shared.V, kBc),
          maps.columns_of_query_heads(shared.dK_heads, kBc),
          maps.columns_of_query_heads(shared.dV_heads, kBc)};
}

template <typename T, typename Trace>
void start(const typename Trace::template Parameters<Flash1HopperParameters>& parameters,
           Index batch, void* stream) {
  constexpr int kSharedBytes = Flash1HopperShared<kBr, kBc, kHeadDim>::kBytes;
  static_assert(kSharedBytes == flash1_backward_hopper_shared_bytes(kHeadDim, {kBr, kBc}));
  start_kernel(flash1_backward_hopper<T, kHeadDim, kBr, kBc, Trace>,
               batch * parameters.shared.shape.heads, device::kGradientThreads, kSharedBytes,
               stream, parameters);
}

}  // namespace

bool start_flash1_backward_hopper(const Flash1BackwardParameters& parameters, DType dtype,
                                  Index batch, Index d, const Tiling& tiling, void* stream) {
  if (!is_compiled(d, tiling)) return false;
  if (dtype == DType::fp16) {
    start<__half, device::NoTrace>(with_maps(parameters, batch), batch, stream);
  } else {
    start<__nv_bfloat16, device::NoTrace>(with_maps(parameters, batch), batch, stream);
  }
  return true;
}

bool start_flash1_backward_hopper_traced(const Flash1BackwardParameters& parameters,
                                         const TraceBuffer& trace, DType dtype, Index batch,
                                         Index d, const Tiling& tiling, void* stream) {
  if (!is_compiled(d, tiling) || dtype != DType::bf16) return false;
  start<__nv_bfloat16, device::BlockTrace>({with_maps(parameters, batch), trace}, batch, stream);
  return true;
}

}  // namespace attnscope::kernels
