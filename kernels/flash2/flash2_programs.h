/// The programs of flash2 and block_sparse2. Plain C++.
#pragma once

#include <vector>

#include "kernels/block_shapes.h"
#include "kernels/compile/block_program.h"
#include "reference/run_spec.h"

namespace attnscope::kernels {

/// Backward: "preprocess" sets D = rowsum(dO * O) and dQ_accum = 0; "convert" rounds
/// dQ = softmax_scale dQ_accum.
std::vector<LaunchProgram> flash2_programs(const ResolvedRun& run, const ProgramTarget& target,
                                           const LaunchKind& kind);

}  // namespace attnscope::kernels
