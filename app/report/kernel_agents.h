/// Whether a run's agents are those of its kernel: groups of warps that load, or compute, which the
/// program in Hopper's instructions has.
#pragma once

#include "reference/run_spec.h"
#include "sim/device/gpu_description.h"

namespace attnscope {

/// The run's variant, but as one of every warp loading and computing where it has the agents and
/// stages that the run's kernel has on this GPU.
ScheduleVariant without_kernel_agents(const ResolvedRun& run, const GpuDescription& gpu);

}  // namespace attnscope
