/// The thing under the mouse: a tile, a line of pseudo-code or an operation. Memory, scores,
/// pseudo-code and timeline highlight what belongs to it; a click moves the playhead to its next
/// operation (find_operation.h).
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "reference/attention_problem.h"
#include "sim/ops/tile_grid.h"

namespace attnscope {
struct RunInfo;   // sim/snapshot/snapshot.h
struct Snapshot;  // sim/snapshot/snapshot.h
}  // namespace attnscope

namespace attnscope::app {

/// Elements [begin, end) of an axis of a tensor.
struct Span {
  Index begin = 0, end = 0;
  Index size() const { return end - begin; }
  bool contains(Index element) const { return element >= begin && element < end; }
  bool meets(const Span& other) const { return begin < other.end && other.begin < end; }
  bool operator==(const Span&) const = default;
};

/// A rectangle of a tensor, in elements.
struct Area {
  Span rows, cols;
  bool contains(Index row, Index col) const { return rows.contains(row) && cols.contains(col); }
  bool meets(const Area& other) const { return rows.meets(other.rows) && cols.meets(other.cols); }
  bool operator==(const Area&) const = default;
};

/// A tile of S, P and their gradients: rows are queries, columns are keys of the head.
struct ScoreTile {
  Area area;
  bool operator==(const ScoreTile&) const = default;
};

/// A tile of a tensor in global memory.
struct MemoryTile {
  Tensor tensor = Tensor::Q;
  Area area;
  bool operator==(const MemoryTile&) const = default;
};

/// A tile of a tensor on chip, in whichever slot.
struct ChipTile {
  Tensor tensor = Tensor::Q;
  Area area;
  bool operator==(const ChipTile&) const = default;
};

/// A line of a launch's pseudo-code.
struct CodeLine {
  std::size_t launch = 0;
  std::size_t line = 0;
  bool operator==(const CodeLine&) const = default;
};

/// One operation of the run.
struct Operation {
  Index step = 0;
  std::size_t launch = 0;
  TileOp op = {};
  bool operator==(const Operation& other) const { return step == other.step; }
};

using Thing = std::variant<ScoreTile, MemoryTile, ChipTile, CodeLine, Operation>;

/// The position of a launch's tile in its tensor.
Area area_of(const RunInfo& run, std::size_t launch, const Tile& tile);

/// Whether the operation belongs to the thing: it works on the tile of scores on chip or in memory,
/// loads, stores or adds to the tile in global memory, reads or writes the tile on chip, implements
/// the line, or is the operation.
bool touches(const Thing& thing, const RunInfo& run, const Operation& operation);

/// The thing in the words of a message: "this tile of K".
std::string in_words(const Thing& thing);

/// The highlighted parts of every tensor for a thing.
struct Highlight {
  std::optional<Span> queries;  ///< nothing: the thing has no particular queries
  std::optional<Span> keys;
  TensorSet tensors;    ///< the tensors of which parts are highlighted
  Index group_row = 0;  ///< first row of the query head in dK_heads and dV_heads

  /// The highlighted part of a tensor of this shape; nothing if there is none.
  std::optional<Area> part_of(Tensor tensor, const Shape& shape) const;
};

/// An operation must belong to the snapshot's run. For a line, highlights the row and column tile
/// under the playhead.
Highlight highlight_of(const Thing& thing, const Snapshot& snapshot);

/// Whether the line has an operation that touches a thing of this kind.
bool is_line_of(const Thing& thing, const CodeLine& line, const RunInfo& run);

}  // namespace attnscope::app
