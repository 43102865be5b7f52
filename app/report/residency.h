/// The number of thread blocks of a kernel that an SM holds at once: for a compiled kernel, a
/// recorded one, or according to the model's account of on-chip memory.
#pragma once

#include <string>
#include <vector>

#include "kernels/compile/block_program.h"
#include "kernels/compile/compiler.h"
#include "kernels/recording/measurement.h"
#include "sim/residency.h"
#include "sim/simulation.h"

namespace attnscope {

/// The number of thread blocks of the kernel that an SM of the GPU holds at once; 0 if not even one
/// fits. `used` is the compiler's report on the block's program.
Index resident_blocks(const kernels::BlockProgram& block, const kernels::KernelResources& used,
                      const GpuDescription& gpu);

/// The number of thread blocks of a recorded kernel.
Index thread_blocks(const LaunchShape& kernel);

/// The recorded kernel of a launch; if there are several, the one with the largest grid; null if
/// there is none.
const LaunchShape* recorded_kernel(const std::vector<LaunchCounters>& launches,
                                   std::string_view launch);

/// The thread blocks of a launch on the SMs of a GPU.
struct LaunchResidency {
  std::string launch;
  BlockDemand block;
  bool is_recorded = false;  ///< true: the demand is the recorded kernel's; false: the model's
  BlockLimits limits;
  Index resident = 1;  ///< thread blocks per SM
  Index thread_blocks = 0;
  Index sm_count = 1;

  Index at_once() const { return resident * sm_count; }
  /// The number of times that all SMs are filled: 1.25 if the last blocks fill only a quarter of
  /// the slots.
  double waves() const {
    return static_cast<double>(thread_blocks) / static_cast<double>(at_once());
  }
};

/// The residency of each launch of the report's run. `recorded`: the launches of a run of the same
/// kernel; may be empty.
std::vector<LaunchResidency> launch_residency(const SimulationReport& report,
                                              const GpuDescription& gpu,
                                              const std::vector<LaunchCounters>& recorded);

}  // namespace attnscope
