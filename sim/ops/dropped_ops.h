/// The operations of a launch that a run's break drops.
#pragma once

#include <optional>

#include "reference/run_break.h"
#include "sim/ops/tile_op.h"

namespace attnscope {

struct DroppedOps {
  std::optional<std::uint8_t> line;  ///< index into the launch's pseudo-code; unset: any
  std::optional<OpKind> kind;        ///< unset: any
  std::optional<Tensor> tensor;      ///< of the first destination; unset: any
  std::optional<Occurrence> only;    ///< unset: all of them

  /// Whether this is such an operation, whichever time it runs.
  bool matches(const TileOp& op) const {
    return (!line || *line == op.line) && (!kind || *kind == op.kind) &&
           (!tensor || *tensor == op.dest_tiles[0].tensor);
  }
};

}  // namespace attnscope
