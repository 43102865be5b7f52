/// From what was asked to what the model runs.
#pragma once

#include "reference/run_spec.h"
#include "sim/device/gpu_description.h"

namespace attnscope {

/// Most tiles of scores that a problem may be cut into, over all different key lengths.
inline constexpr Index kMaxTilePairs = Index{1} << 30;

/// The description that the spec names, with its capacities put in. Errors as load_gpu() gives
/// them.
Result<GpuDescription> gpu_of(const RunSpec& spec);

/// The run with every rule applied: tiling, block mask, splits, shared tiles of grouped heads.
/// invalid_request, with the field to change, where the model cannot run it. TilingRule::kernel is
/// the caller's to replace: the model knows no kernels.
Result<ResolvedRun> resolve(const RunSpec& spec, const GpuDescription& gpu);

}  // namespace attnscope
