/// The programs of flash1. Plain C++.
#pragma once

#include <vector>

#include "kernels/block_shapes.h"
#include "kernels/compile/block_program.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// Forward: "initialise" sets O = 0 in the precision used between passes, l = 0 and m = -inf;
/// "convert" rounds O from Carry::fp32; "lse" computes LSE from m and l. Backward: "initialise"
/// sets dQ = 0.
std::vector<LaunchProgram> flash1_programs(const ResolvedRun& run, const ProgramTarget& target,
                                           const LaunchKind& kind);

}  // namespace attnscope::kernels
