/// Turns a request into the run that the model counts.
#pragma once

#include "reference/run_spec.h"
#include "sim/device/gpu_description.h"

namespace attnscope {

/// The largest number of row and column tiles that counting visits, over all distinct key lengths.
/// Counting visits each a few times, and equal tiles of a row only once (tile_loop.h), so Tr x Tc
/// is not limited.
inline constexpr Index kMaxVisitedTiles = Index{1} << 28;

/// The work of counting the run, in visits to tiles, about 2 us each.
Index counting_work(const ResolvedRun& run);

/// The description named by the spec, with the spec's capacities. Errors as in load_gpu().
Result<GpuDescription> gpu_of(const RunSpec& spec);

/// The run with every rule applied: tiling, block mask, splits, shared tiles of grouped heads.
/// invalid_request, with the field to change, if the model cannot run it. The caller must replace
/// TilingRule::kernel, since the model does not depend on the kernels. `cancel` as in
/// make_block_mask().
Result<ResolvedRun> resolve(const RunSpec& spec, const GpuDescription& gpu,
                            const std::atomic<bool>* cancel = nullptr);

}  // namespace attnscope
