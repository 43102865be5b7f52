/// The steps of a traced kernel that stand for the operations of its schedule.
#pragma once

#include <optional>

#include "kernels/device/trace_buffer.cuh"
#include "sim/ops/tile_op.h"

namespace attnscope {

/// What stands for an operation in the kernel's text: a whole step, or a part of one.
struct KernelStep {
  kernels::TraceStep step;
  bool whole;  ///< false: the step is another operation's, this one is folded into it
};

/// Nothing for what a kernel does by giving registers their first value.
std::optional<KernelStep> step_of(const TileOp& op);

}  // namespace attnscope
