/// The instrumented instances of flash1's two passes with score functions, O carried in the
/// problem's precision.
#include "kernels/flash1/flash1_backward.cuh"
#include "kernels/flash1/flash1_backward_start.h"
#include "kernels/flash1/flash1_forward.cuh"
#include "kernels/flash1/flash1_start.h"
#include "kernels/host/launch_kernel.h"

namespace attnscope::kernels {

namespace {

using device::BlockTrace;
constexpr Index kHeadDim = 64;

bool is_compiled(DType dtype, Index d) {
  return dtype == DType::bf16 && d == kHeadDim;
}

}  // namespace

bool start_flash1_scored_traced(const ScoredFlash1Parameters& parameters, const TraceBuffer& trace,
                                DType dtype, Index batch, Index d, const Tiling& tiling,
                                void* stream) {
  using T = device::Bf16;
  constexpr int Br = 128, Bc = 256;
  if (!is_compiled(dtype, d) || tiling != Tiling{Br, Bc}) return false;
  const BlockTrace::Parameters<ScoredFlash1Parameters> traced{parameters, trace};
  start_kernel(
      flash1_forward<T, T, kHeadDim, Br, Bc, device::Columns::all, BlockTrace, ScoredFlash1>,
      batch * parameters.shape.heads, Br / 16 * 32,
      Flash1Shared<T, Br, Bc, kHeadDim>::kBytes + ScoredFlash1::Rows<Br, Bc>::kSharedBytes, stream,
      traced);
  return true;
}

bool start_flash1_backward_scored_traced(const Flash1BackwardParameters& parameters,
                                         const TraceBuffer& trace, DType dtype, Index batch,
                                         Index d, const Tiling& tiling, void* stream) {
  constexpr int Br = 64, Bc = 128, kWarps = 8;
  if (!is_compiled(dtype, d) || tiling != Tiling{Br, Bc}) return false;
  const BlockTrace::Parameters<Flash1BackwardParameters> traced{parameters, trace};
  start_kernel(flash1_backward<device::Bf16, kHeadDim, Br, Bc, kWarps, device::Columns::all,
                               BlockTrace, ScoredFlash1>,
               batch * parameters.shared.shape.heads, kWarps * 32,
               Flash1BackwardShared<Br, Bc, kHeadDim>::kBytes +
                   ScoredFlash1::Columns<Br, Bc, kWarps>::kSharedBytes,
               stream, traced);
  return true;
}

}  // namespace attnscope::kernels
