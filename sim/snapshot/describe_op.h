/// Descriptions of operations and names of tiles, as the screen and listings show them.
#pragma once

#include <string>
#include <string_view>

#include "sim/ops/agents.h"
#include "sim/ops/tile_grid.h"

namespace attnscope {

struct Launch;

/// "Q₂", "K₁", "S₂₁", "S₁₂,₃", "S₄ (row group)", "alpha₂".
std::string tile_name(const Tile& tile);

/// The tensor's name as the papers print it: "O", "m~", "O (fp32)".
std::string tensor_name(Tensor tensor);

/// Row tile i of a launch, "i = 2"; for a group of whole rows instead of a tile of Br rows, "rows
/// 8-15". `grid` is the launch's.
std::string row_tile_name(const Launch& launch, const TileGrid& grid, Index i);

/// One sentence about the operation, with sizes, and bytes if it moves any; also for one that a
/// break drops.
std::string describe_op(const TileOp& op, const TileGrid& grid);

/// The reason for the operation: a wait or arrive has its own, other operations have that of their
/// line.
std::string_view reason_of(const TileOp& op, std::string_view reason_of_line);

/// "producer waits until both consumers have read K₀ in buffer 1 (phase 0)."
std::string stuck_words(const StuckAgent& stuck);

/// A short name of the operation: "Q Kᵀ", "rowmax", "rescale", "load"; empty if its tiles say
/// enough.
std::string op_label(const TileOp& op);

/// Text before the sentence if a break drops the operation or its agent never reaches it; else
/// empty.
std::string_view dropped_prefix(const TileOp& op);

/// One line of a listing, without sizes: "rescale O2 <- alpha2 (last use)".
std::string op_listing(const TileOp& op);

}  // namespace attnscope
