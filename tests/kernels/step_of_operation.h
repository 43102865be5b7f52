/// The steps of a traced kernel that represent the operations of its schedule.
#pragma once

#include <optional>

#include "kernels/device/trace_buffer.cuh"
#include "sim/ops/tile_op.h"

namespace attnscope {

/// The step that represents an operation in the kernel's source: a whole step, or a part of one.
struct KernelStep {
  kernels::TraceStep step;
  bool whole;  ///< false: the step belongs to another operation, which includes this one
};

/// Nothing for operations that only set the initial values of registers.
std::optional<KernelStep> step_of(const TileOp& op);

}  // namespace attnscope
