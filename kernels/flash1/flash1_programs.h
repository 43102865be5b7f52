/// The instances of flash1's kernels that a problem needs, a function for each launch. Plain C++.
#pragma once

#include <string_view>

#include "kernels/compile/block_program.h"
#include "kernels/run_programs.h"
#include "reference/schedule_variant.h"

namespace attnscope::kernels {

/// "initialise" of the forward pass: O = 0 in the precision that HBM keeps between passes, l = 0,
/// m = -inf.
BlockProgram flash1_initialise_program(const AttentionProblem& problem, Carry carry);
/// "forward", on a GPU whose blocks can have this much shared memory.
BlockProgram flash1_forward_program(const AttentionProblem& problem, const Tiling& tiling,
                                    Carry carry, Index shared_bytes_per_block,
                                    const LaunchKind& kind = {});
/// "convert": O in the problem's precision, rounded from Carry::fp32.
BlockProgram flash1_convert_program(const AttentionProblem& problem);
/// "lse": LSE of m and l.
BlockProgram flash1_lse_program();

/// "initialise" of the backward pass: dQ = 0.
BlockProgram flash1_zero_dq_program();
/// "backward", of a problem in 16 bits.
BlockProgram flash1_backward_program(const AttentionProblem& problem, const Tiling& tiling,
                                     bool on_hopper, const LaunchKind& kind = {});

/// Both passes' launches: KernelInfo::programs.
std::vector<LaunchProgram> flash1_programs(const ResolvedRun& run, const ProgramTarget& target,
                                           const LaunchKind& kind);

}  // namespace attnscope::kernels
