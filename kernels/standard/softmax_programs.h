/// The instances of standard's row-wise kernels that a problem needs. Plain C++.
#pragma once

#include "kernels/compile/block_program.h"
#include "kernels/run_programs.h"

namespace attnscope::kernels {

/// The launch "softmax". A block owns softmax_rows_per_block() rows, here and below.
BlockProgram softmax_forward_program(const AttentionProblem& problem);

/// The launch "dS". The problem's precision has 16 bits.
BlockProgram softmax_gradient_program(const AttentionProblem& problem);

/// Both passes' launches without the products, which are cuBLAS's: KernelInfo::programs.
std::vector<LaunchProgram> standard_programs(const ResolvedRun& run, const ProgramTarget& target,
                                             const LaunchKind& kind);

}  // namespace attnscope::kernels
