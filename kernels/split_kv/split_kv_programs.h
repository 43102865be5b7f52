/// The programs of split_kv. Plain C++.
#pragma once

#include <vector>

#include "kernels/block_shapes.h"
#include "kernels/compile/block_program.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// KernelInfo::programs
std::vector<LaunchProgram> split_kv_programs(const ResolvedRun& run, const ProgramTarget& target,
                                             const LaunchKind& kind);

}  // namespace attnscope::kernels
