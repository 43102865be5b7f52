/// The instances of split_kv's kernels that a problem needs. Plain C++.
#pragma once

#include "kernels/compile/block_program.h"
#include "kernels/run_programs.h"

namespace attnscope::kernels {

/// The launch "partial", in tiles of kSplitRows rows. The problem's precision has 16 bits.
BlockProgram split_kv_partial_program(const AttentionProblem& problem, const Tiling& tiling,
                                      const LaunchKind& kind = {});

/// The launch "combine". A block owns a row.
BlockProgram split_kv_combine_program(const AttentionProblem& problem);

/// Both launches: KernelInfo::programs.
std::vector<LaunchProgram> split_kv_programs(const ResolvedRun& run, const ProgramTarget& target,
                                             const LaunchKind& kind);

}  // namespace attnscope::kernels
