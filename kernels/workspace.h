/// The workspace that a run needs. Plain C++.
#pragma once

#include <cstddef>

#include "reference/run_spec.h"

namespace attnscope::kernels {

/// Bytes of workspace that the run's pass needs. Forward: S and P of `standard`; m and l of
/// `flash1`, and with Carry::fp32 O, in fp32; O and LSE of every split in fp32 of `split_kv`; the
/// number of the next row tile in tilings that `flash2` computes with Hopper's own instructions.
/// Backward: dP of `standard` with a soft cap; D and dQ_accum in fp32 of `flash2`, and the turns of
/// a deterministic dQ; where query heads share a KV head, each query head's dK and dV. Both: the
/// lists of tiles of `block_sparse2`. Without a requested tiling: enough for any default tiling.
std::size_t workspace_bytes(const ResolvedRun& run);

/// Bytes of a pass's workspace in this tiling; block_sparse2's lists of tiles follow them.
std::size_t own_workspace_bytes(const ResolvedRun& run, const Tiling& tiling);

}  // namespace attnscope::kernels
