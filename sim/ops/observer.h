/// The interface of every observer of a schedule: it receives a stream of tile operations, launch
/// by launch, thread block by thread block.
#pragma once

#include <span>
#include <string_view>

#include "sim/ops/tile_grid.h"
#include "sim/ops/tile_op.h"

namespace attnscope {

/// One thread block of a launch.
struct BlockId {
  Index batch = 0;
  Index head = 0;
  Index block = 0;  ///< within the head
};

class Observer {
 public:
  virtual ~Observer() = default;
  /// The grid outlives the launch. HBM persists between launches; on-chip memory does not.
  virtual void begin_launch(std::string_view /*name*/, const TileGrid& /*grid*/) {}
  virtual void begin_block(const BlockId& /*block*/) {}
  /// Consecutive operations of the current block; called repeatedly until the block ends.
  virtual void observe(std::span<const TileOp> ops) = 0;
  virtual void end_block() {}
  virtual void end_launch() {}
};

}  // namespace attnscope
