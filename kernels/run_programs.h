/// The kernels that a run compiles when it is launched. Plain C++: no GPU is needed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/compile/block_program.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

struct LaunchProgram {
  std::string launch;  ///< "forward"
  BlockProgram block;
};

/// The programs on a GPU of this compute capability, "9.0", of a run that kernels::supports()
/// accepts, in the order of their launches; cuBLAS's are not among them.
std::vector<LaunchProgram> programs_of(const ResolvedRun& run, std::string_view compute_capability);

}  // namespace attnscope::kernels
