/// The instrumented instance of flash2's backward launch with ScoreFunctions. Where the parameters
/// have the lists of a block mask, they are block_sparse2's.
#include "kernels/device/score_functions.cuh"
#include "kernels/flash2/flash2_backward.cuh"
#include "kernels/flash2/flash2_scored_start.h"
#include "kernels/host/launch_kernel.h"

namespace attnscope::kernels {

namespace {

using device::BlockTrace, device::ScoreFunctions;
constexpr Index kHeadDim = 64;
constexpr int kTile = 128;  // Br and Bc
constexpr int kWarps = 8;

bool is_compiled(DType dtype, Index d, const Tiling& tiling) {
  return dtype == DType::bf16 && d == kHeadDim && tiling == Tiling{kTile, kTile};
}

}  // namespace

bool start_flash2_backward_scored_traced(const BackwardParameters& parameters,
                                         const TraceBuffer& trace, DType dtype, Index batch,
                                         Index d, const Tiling& tiling, void* stream) {
  if (!is_compiled(dtype, d, tiling)) return false;
  const Index blocks = batch * parameters.shape.heads * ceil_div(parameters.shape.N_kv, kTile);
  const BlockTrace::Parameters<BackwardParameters> traced{parameters, trace};
  start_kernel(flash2_backward<device::Bf16, kHeadDim, kTile, kTile, kWarps, device::Columns::all,
                               ScoreFunctions::kVisits, BlockTrace, ScoreFunctions>,
               blocks, kWarps * 32,
               Flash2BackwardShared<kTile, kTile, kHeadDim>::kBytes +
                   ScoreFunctions::Columns<kTile, kTile, kWarps>::kSharedBytes,
               stream, traced);
  return true;
}

}  // namespace attnscope::kernels
