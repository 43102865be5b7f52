/// The instance of flash2_forward that a problem needs, for flash2 and block_sparse2. Plain C++.
#pragma once

#include "kernels/compile/block_program.h"

namespace attnscope::kernels {

/// `listed`: the blocks visit lists of tiles, of a block mask or of packed sequences. `traced`: it
/// records into a TraceBuffer. The problem's precision has 16 bits.
BlockProgram flash2_forward_program(const AttentionProblem& problem, const Tiling& tiling,
                                    bool listed, bool traced);

}  // namespace attnscope::kernels
