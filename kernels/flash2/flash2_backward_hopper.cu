/// The instances of flash2's backward launch for Hopper and, where the parameters have lists of
/// tiles, of block_sparse2's.
#include "kernels/flash2/flash2_backward_hopper.cuh"
#include "kernels/flash2/flash2_backward_shared.h"
#include "kernels/flash2/flash2_backward_start.h"
#include "kernels/host/hopper.h"
#include "kernels/host/launch_kernel.h"
#include "kernels/trace/traced_types.cuh"

namespace attnscope::kernels {

namespace {

using device::Visits;

bool is_compiled(const BackwardParameters& parameters, DType dtype, Index batch, Index d,
                 const Tiling& tiling) {
  return parameters.dQ_turns == nullptr && runs_on_hopper(parameters, dtype, batch, d, tiling);
}

Flash2HopperParameters with_maps(const BackwardParameters& parameters, Index batch) {
  return {parameters, gradient_maps(parameters, batch)};
}

template <typename T, Visits kVisits, typename Trace>
void start(const typename Trace::template Parameters<Flash2HopperParameters>& parameters,
           Index batch, void* stream) {
  constexpr int d = kHopperHeadDim, Br = kHopperTiling.Br, Bc = kHopperTiling.Bc;
  constexpr int kSharedBytes = Flash2HopperBlock<Br, Bc, d, kVisits>::kBytes;
  static_assert(kSharedBytes == flash2_backward_hopper_shared_bytes(d, kHopperTiling));
  const Index blocks = batch * parameters.shape.heads * ceil_div(parameters.shape.N_kv, Bc);
  start_kernel(flash2_backward_hopper<T, d, Br, Bc, kVisits, Trace>, blocks,
               device::kGradientThreads, kSharedBytes, stream, parameters);
}

template <typename T, typename Trace = device::NoTrace>
void start_visiting(const typename Trace::template Parameters<Flash2HopperParameters>& parameters,
                    Index batch, void* stream) {
  if (parameters.row_tiles == nullptr) {
    start<T, Visits::all, Trace>(parameters, batch, stream);
  } else {
    start<T, Visits::listed, Trace>(parameters, batch, stream);
  }
}

}  // namespace

bool start_flash2_backward_hopper(const BackwardParameters& parameters, DType dtype, Index batch,
                                  Index d, const Tiling& tiling, void* stream) {
  if (!is_compiled(parameters, dtype, batch, d, tiling)) return false;
  if (dtype == DType::fp16) {
    start_visiting<device::Fp16>(with_maps(parameters, batch), batch, stream);
  } else {
    start_visiting<device::Bf16>(with_maps(parameters, batch), batch, stream);
  }
  return true;
}

bool start_flash2_backward_hopper_traced(const BackwardParameters& parameters,
                                         const TraceBuffer& trace, DType dtype, Index batch,
                                         Index d, const Tiling& tiling, void* stream) {
  const bool fits = is_compiled(parameters, dtype, batch, d, tiling) && dtype == DType::bf16;
  if (!fits) return false;
  start_visiting<device::Bf16, device::BlockTrace>({with_maps(parameters, batch), trace}, batch,
                                                   stream);
  return true;
}

}  // namespace attnscope::kernels
