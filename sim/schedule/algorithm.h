/// What an algorithm is to AttnScope: a pass is a list of launches; a launch is a tile grid, a
/// number of thread blocks and the program of one block, with the pseudo-code that it stands for.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "reference/pass_kind.h"
#include "sim/ops/program.h"

namespace attnscope {

/// One line of pseudo-code. Control lines (loops) are not the line of any operation.
struct PseudoLine {
  int indent = 0;
  std::string_view text;
  std::string_view why;  ///< one sentence: why this step is there
  bool control = false;
};

/// A kernel launch. HBM persists between launches; a launch ends with a grid-wide barrier.
struct Launch {
  std::string_view name;  ///< also the name of the kernel's launch: "scores", "forward", ...
  TileGrid (*grid)(const AttentionProblem&, const Tiling&, const ScheduleOptions&);
  Index (*blocks_per_head)(const TileGrid&);
  void (*program)(const TileGrid&, Index block, Program&);
  std::span<const PseudoLine> pseudo_code;
  /// The paper counts each operand of this launch once, whatever a tiled matrix product re-reads.
  bool paper_counts_operands_once = false;
  /// Runs once for each KV head, after the last query head of its group.
  bool once_per_kv_head = false;
};

/// The value that an HBM tensor has before the first launch (the papers' initialisation lines: set
/// by the caller, not counted as traffic).
struct InitialValue {
  Tensor tensor;
  double value;
};

/// One pass of an algorithm under given options.
struct Pass {
  std::vector<Launch> launches;
  std::vector<InitialValue> initial_values;
};

struct Algorithm {
  std::string_view name;     ///< "standard", "flash1", "flash2"
  std::string_view title;    ///< for people: "FlashAttention-2"
  std::string_view summary;  ///< one sentence
  std::string_view source;   ///< paper and algorithm number
  Pass (*forward)(const ScheduleOptions&);
  /// Starts from the HBM that the forward pass left.
  Pass (*backward)(const ScheduleOptions&);
  /// Computes only the tiles that AttentionProblem::block_mask keeps; the others refuse one.
  bool takes_block_mask = false;
  /// O travels through HBM between passes over j, as ScheduleOptions::carry says.
  bool carries_output = false;
};

/// The launches of a pass; of both passes, in order, for PassKind::both.
Pass make_pass(const Algorithm& algorithm, PassKind pass, const ScheduleOptions& options);

/// The plain grid of a launch: tiles of Br x Bc.
TileGrid plain_grid(const AttentionProblem& problem, const Tiling& tiling,
                    const ScheduleOptions& options);
/// The grid of standard's row-wise launches: a few whole rows a block, or panels of them.
TileGrid softmax_row_grid(const AttentionProblem& problem, const Tiling& tiling,
                          const ScheduleOptions& options);
/// The same for the backward pass.
TileGrid gradient_row_grid(const AttentionProblem& problem, const Tiling& tiling,
                           const ScheduleOptions& options);
/// The grid of standard's output product: row tiles of ScheduleOptions::output_rows.
TileGrid output_grid(const AttentionProblem& problem, const Tiling& tiling,
                     const ScheduleOptions& options);
/// One thread block for each row tile.
Index block_per_row_tile(const TileGrid& grid);
/// One thread block for each column tile.
Index block_per_column_tile(const TileGrid& grid);
/// One thread block for each tile (i, j).
Index block_per_tile(const TileGrid& grid);

}  // namespace attnscope
