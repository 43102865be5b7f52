/// The instances of flash2's kernels that a problem needs, for flash2 and block_sparse2. Plain C++.
#pragma once

#include "kernels/compile/block_program.h"
#include "kernels/run_programs.h"

namespace attnscope::kernels {

/// "forward": one block per row tile of each query head.
BlockProgram flash2_forward_program(const AttentionProblem& problem, const Tiling& tiling,
                                    const LaunchKind& kind = {});

/// "preprocess": D = rowsum(dO * O), dQ_accum = 0. One block per row tile of at most 256 rows.
/// Parameters: BackwardParameters, int Br and, in 16 bits, int preprocess_lanes().
BlockProgram flash2_preprocess_program(const AttentionProblem& problem);
/// Threads that share a row of "preprocess" in 16 bits.
int preprocess_lanes(const AttentionProblem& problem);

/// "backward": one block per column tile of each query head.
BlockProgram flash2_backward_program(const AttentionProblem& problem, const Tiling& tiling,
                                     const LaunchKind& kind = {});

/// The same launch with Hopper's instructions, where has_hopper_backward(); parameters:
/// Flash2HopperParameters.
BlockProgram flash2_backward_hopper_program(const AttentionProblem& problem, const Tiling& tiling,
                                            const LaunchKind& kind = {});

/// "convert": dQ = softmax_scale dQ_accum, rounded. Parameters: BackwardParameters, int Br.
BlockProgram flash2_convert_dq_program(const AttentionProblem& problem);

/// Both passes' launches, for flash2 and block_sparse2: KernelInfo::programs.
std::vector<LaunchProgram> flash2_programs(const ResolvedRun& run, const ProgramTarget& target,
                                           const LaunchKind& kind);

}  // namespace attnscope::kernels
