/// The parts of an algorithm: a pass is a list of launches; a launch is a tile grid, a number of
/// thread blocks and the program of one block, with its pseudo-code.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/algorithm.h"
#include "reference/attention_problem.h"
#include "reference/step.h"
#include "sim/ops/program.h"

namespace attnscope {

/// The part of the score function that a line of pseudo-code belongs to; `no_dropout` is a line
/// that dropout replaces.
enum class ScoreStep : std::uint8_t {
  always,
  soft_cap,
  alibi,
  dropout,
  no_dropout,
  fused_mask,     ///< of the softmax's launch, unless masking is a separate launch
  fused_dropout,  ///< the same for dropout
  asked_lse,      ///< of a run that requests LSE from an algorithm without it
};

/// One line of pseudo-code. No operation refers to a loop's line (has_operations()).
struct PseudoLine {
  int indent = 0;
  Step step = Step::given;  ///< no other line shown with it has this step
  std::string_view text;
  std::string_view why;  ///< one sentence: the reason for this step
  ScoreStep when = ScoreStep::always;
};

/// Whether no two lines shown together have the same step.
constexpr bool has_each_step_once(std::span<const PseudoLine> code) {
  const auto exclude = [](ScoreStep a, ScoreStep b) {
    return (a == ScoreStep::dropout && b == ScoreStep::no_dropout) ||
           (a == ScoreStep::no_dropout && b == ScoreStep::dropout);
  };
  for (std::size_t a = 0; a < code.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (code[a].step == code[b].step && !exclude(code[a].when, code[b].when)) return false;
    }
  }
  return true;
}

/// The lines of a launch's pseudo-code that apply to a problem, and the number of each line among
/// them.
struct ShownCode {
  std::vector<PseudoLine> lines;
  std::vector<std::uint8_t> line_numbers;
};

/// The pseudo-code of a variant: some lines are replaced; the line numbers do not change.
template <std::size_t lines>
constexpr std::array<PseudoLine, lines> with_lines(
    const PseudoLine (&code)[lines],
    std::initializer_list<std::pair<std::size_t, PseudoLine>> replaced) {
  std::array<PseudoLine, lines> variant{};
  for (std::size_t line = 0; line < lines; ++line) variant[line] = code[line];
  for (const auto& [line, text] : replaced) variant[line] = text;
  return variant;
}

/// The plain grid of a launch: tiles of Br x Bc.
TileGrid plain_grid(const AttentionProblem& problem, const Tiling& tiling,
                    const ScheduleOptions& options);

/// A launch's use of the splits of the keys.
enum class SplitRole : std::uint8_t {
  none,
  one_a_block,  ///< thread block i splits + s works on split s of row tile i
  folded,       ///< thread block i combines all splits of row tile i
};

/// A kernel launch. HBM persists between launches; a launch ends with a grid-wide barrier.
struct Launch {
  std::string_view name;  ///< also the name of the kernel's launch: "scores", "forward", ...
  Index (*blocks_per_head)(const TileGrid&);
  void (*program)(const TileGrid&, Index block, Program&);
  std::span<const PseudoLine> pseudo_code;
  TileGrid (*grid)(const AttentionProblem&, const Tiling&, const ScheduleOptions&) = plain_grid;
  /// The paper counts each operand of this launch once, although a tiled matrix product reads it
  /// again.
  bool paper_counts_operands_once = false;
  /// Runs once per KV head, after the last query head of its group.
  bool once_per_kv_head = false;
  /// Sums the results that the query heads of a group have left in HBM.
  bool sums_group = false;
  SplitRole splits = SplitRole::none;
  /// No thread block checks which tiles the mask hides: blocks are equal if their tiles have equal
  /// sizes.
  bool ignores_mask = false;
  /// The program's agents (Program::agent()); empty: it is one sequence of operations.
  std::vector<Agent> agents = {};
  /// Owns `pseudo_code` if make_pass() removed lines from it.
  std::shared_ptr<const ShownCode> shown = nullptr;
  /// Operations that the run's break drops, set by make_pass().
  std::optional<DroppedOps> dropped = {};

  bool by_agents() const { return !agents.empty(); }

  /// Writes one thread block's program.
  void run(const TileGrid& tiles, Index block, Program& out) const {
    out.number_lines(shown ? std::span<const std::uint8_t>(shown->line_numbers)
                           : std::span<const std::uint8_t>());
    out.drop(dropped);
    program(tiles, block, out);
    out.end_block();
  }
};

/// The launch, marked as one whose thread blocks do not check which tiles the mask hides.
inline Launch blind_launch(Launch launch) {
  launch.ignores_mask = true;
  return launch;
}
/// The same for a launch of standard attention, whose operands the paper counts once.
inline Launch product_launch(Launch launch) {
  launch.paper_counts_operands_once = true;
  return blind_launch(std::move(launch));
}

/// The value of an HBM tensor before the first launch (the papers' initialisation lines: set by the
/// caller, not counted as traffic).
struct InitialValue {
  Tensor tensor;
  double value;
};

/// One pass of an algorithm under given options.
struct Pass {
  std::vector<Launch> launches;
  std::vector<InitialValue> initial_values = {};
};
inline void append(Pass& pass, const std::vector<Launch>& launches) {
  pass.launches.insert(pass.launches.end(), launches.begin(), launches.end());
}

/// The options of the same run without its break.
inline ScheduleOptions without_break(ScheduleOptions options) {
  options.variant.broken = {};
  return options;
}

/// The launches of a pass, or of both passes, in order, for PassKind::both. The backward pass must
/// exist. Their pseudo-code contains the lines of the score function's steps selected by the
/// options; the operations dropped by the options' break are marked as skipped.
Pass make_pass(const Algorithm& algorithm, PassKind pass, const ScheduleOptions& options);

/// The same for one head: with every launch that it takes part in, regardless of its place in its
/// group.
Pass make_head_pass(const Algorithm& algorithm, PassKind pass, const ScheduleOptions& options);

/// The grid of standard's row-wise launches: a few whole rows per block, or panels of them.
TileGrid softmax_row_grid(const AttentionProblem& problem, const Tiling& tiling,
                          const ScheduleOptions& options);
/// The same for the backward pass.
TileGrid gradient_row_grid(const AttentionProblem& problem, const Tiling& tiling,
                           const ScheduleOptions& options);
/// Whether row tile i of the launch's grid is a group of whole rows, not Br rows.
bool works_on_row_groups(const Launch& launch);

/// Pseudo-code that one algorithm takes from another, with some lines changed.
using PseudoCode = std::vector<PseudoLine>;
inline PseudoCode copy_of(std::span<const PseudoLine> lines) {
  return {lines.begin(), lines.end()};
}
/// Rewrites the line of the step, which must exist.
void rewrite_line(PseudoCode& lines, Step step, std::string_view text, std::string_view why);

/// One thread block per head: its program has the outer loop.
Index block_per_head(const TileGrid& grid);
/// One thread block per row tile and part of d (TileGrid::d_parts()).
Index block_per_row_tile(const TileGrid& grid);
/// The same for column tiles.
Index block_per_column_tile(const TileGrid& grid);
/// One thread block per tile (i, j).
Index block_per_tile(const TileGrid& grid);

// Running a pass (run_pass.cpp). The order of the thread blocks is a separate policy, independent
// of a block's program.

/// The order in which the thread blocks of a launch run. Numbers and requested bytes must not
/// depend on it.
struct BlockOrder {
  enum class Kind : std::uint8_t { ascending, descending, shuffled };
  Kind kind = Kind::ascending;
  std::uint64_t seed = 0;  ///< of `shuffled`

  /// The indices [0, count) in this order.
  std::vector<Index> sequence(Index count) const;
};

/// The problem and options that a pass runs with.
struct PassRun {
  AttentionProblem problem;
  Tiling tiling;
  ScheduleOptions options;
  BlockOrder order;
};

/// Runs every launch of the pass for one head, in order, and passes each operation to the
/// observers.
void run_head(const Pass& pass, const PassRun& run, Index batch, Index head,
              std::span<Observer* const> observers);

/// Counts every launch of the pass for one head: the observers end in the state in which run_head()
/// would leave them. Equal thread blocks, and equal iterations within a block, run once
/// (tile_loop.h).
void count_head(const Pass& pass, const PassRun& run, Index batch, Index head,
                std::span<CountingObserver* const> counters);

/// Counts each thread block of one head: like run_head(), but equal iterations within a block run
/// once. The agents of a block run all iterations, in the order in which they would run.
void count_blocks(const Pass& pass, const PassRun& run, Index batch, Index head,
                  std::span<CountingObserver* const> counters);

/// Runs every head, launch after launch, as a GPU does: a launch holds the blocks of all heads.
/// Values need run_head(): only one head's tensors are in HBM at a time.
void run_all_heads(const Pass& pass, const PassRun& run, std::span<Observer* const> observers);

}  // namespace attnscope
