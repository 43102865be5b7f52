/// The kernels that a run compiles when it is launched. Plain C++: no GPU is needed.
#pragma once

#include <string>
#include <vector>

#include "kernels/flash2/flash2_forward_program.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

struct LaunchProgram {
  std::string launch;  ///< "forward"
  BlockProgram block;
};

/// The programs of a run that kernels::supports() accepts, in the order of their launches.
/// unavailable for a kernel that was compiled together with AttnScope.
Result<std::vector<LaunchProgram>> programs_of(const ResolvedRun& run);

}  // namespace attnscope::kernels
