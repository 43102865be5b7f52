/// The observer that makes a run steppable: it executes the head once, keeps keyframes of on-chip
/// memory and counters, logs every store, and records where tiles begin and end.
#pragma once

#include <array>
#include <vector>

#include "sim/observers/flop_counter.h"
#include "sim/observers/numeric_executor.h"
#include "sim/observers/warp_counter.h"
#include "sim/snapshot/op_window.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope {

// All stores of a run, in order, so that HBM can be moved forwards or backwards to its state after
// any step, at a cost proportional to the stores in between.

class Journal {
 public:
  /// Records that the op at `step` stored `values` at `origin`; steps must be ascending.
  void append(Index step, Tensor tensor, const Shape& origin, const RowMatrix& values);

  /// The value of a tensor before its first store; NaN unless set.
  void set_initial_value(Tensor tensor, double value);

  /// Brings the executor's HBM from the state after step `from` to the state after step `to`.
  void move(Index from, Index to, NumericExecutor& executor) const;

 private:
  struct Entry {
    Index step;
    Tensor tensor;
    Shape origin;
    Shape shape;
    std::ptrdiff_t previous;  ///< previous entry for the same place, or -1
    std::size_t offset;       ///< into values_
  };
  /// The last entry that stored at this origin, or -1.
  std::ptrdiff_t& last_at(Tensor tensor, const Shape& origin);
  void apply(const Entry& entry, RowMatrix& tensor) const;
  void undo(const Entry& entry, RowMatrix& tensor) const;
  std::size_t count_until(Index step) const;

  std::vector<Entry> entries_;
  std::vector<double> values_;
  std::array<double, kTensorCount> initial_ = not_a_number();
  std::array<std::vector<std::pair<Index, std::ptrdiff_t>>, kTensorCount> last_;

  static std::array<double, kTensorCount> not_a_number();
};

/// Counters of one head up to a step.
struct HeadCounters {
  BytesByTensor bytes{};
  Flops flops;
  /// The warps' counts by partition, if the algorithm defines one.
  std::array<WarpTally, kWarpPartitions> warps{WarpTally({WarpPartition::split_q, kPaperWarps}),
                                               WarpTally({WarpPartition::sliced_k, kPaperWarps})};
  bool has_warps = false;
  void begin_block();
  void add(const TileOp& op, const TileGrid& grid);
  WarpsByPartition warp_traffic() const { return {warps[0].traffic(), warps[1].traffic()}; }
};

/// The state before operation `step`, from which replaying can start.
struct Keyframe {
  Index step = 0;
  std::size_t block_index = 0;  ///< index into the block starts
  HeadCounters counters;
  /// Empty at the start of a block, unless on-chip memory keeps stale values.
  NumericExecutor::OnChip on_chip;
};

/// One atomic add to a tile in HBM.
struct AddRecord {
  std::int32_t step = 0;
  std::int32_t block = 0;  ///< the thread block that adds
};

/// The first step that stored each tile of an HBM tensor, and every atomic add to it.
struct StoreHistory {
  Index tile_rows = 0;  ///< 0 if the pass never stores the tensor
  Index tile_cols = 0;
  std::vector<std::int32_t> first_store;     ///< C order over tiles; -1 if none
  std::vector<std::vector<AddRecord>> adds;  ///< of each tile, by step; empty if nothing is added
};

/// A range of steps [begin, end).
struct StepRange {
  std::int32_t begin = 0, end = 0;
};

/// The operations that process each row: ascending ranges of steps, for groups of rows that every
/// launch processes together.
struct RowVisits {
  Index group_rows = 1;
  std::vector<std::vector<StepRange>> ranges;  ///< of each group

  /// The last operation up to `step` that processed the row; -1 if there is none.
  Index last(Index row, Index step) const;
};

/// The data kept from a run, from which every step can be shown again.
struct RunHistory {
  RowVisits rows;
  std::vector<BlockStart> blocks;   ///< by first step
  std::vector<Keyframe> keyframes;  ///< by step
  std::array<StoreHistory, kTensorCount> stores;
  Journal journal;
};

class RunRecorder : public Observer {
 public:
  /// `executor` may be null: then only geometry, bytes and tile lives are recorded.
  RunRecorder(RunInfo& info, RunHistory& history, NumericExecutor* executor, double keyframe_flops)
      : info_(info), history_(history), executor_(executor), keyframe_flops_(keyframe_flops) {
    counters_.has_warps = info.algorithm->warps.has_value();
  }

  void begin_launch(std::string_view name, const TileGrid& grid) override;
  void begin_block(const BlockId& block) override;
  void deadlock(std::span<const StuckAgent> stuck) override;
  void observe(std::span<const TileOp> ops) override;
  void end_launch() override { info_.launches.back().end = step_; }

  /// The counters over all observed operations.
  const HeadCounters& counters() const { return counters_; }

 private:
  void begin_outer(std::string label);
  void note_outer(const TileOp& op);
  std::string block_label(const Launch& launch, Index block) const;
  void note_tile_step();
  bool begins_tile_step(const TileOp& op) const;
  void note_line(const TileOp& op);
  void note_score_tile(const Tile& tile);
  void note_score_values(const TileOp& op);
  void note_rows(const TileOp& op);
  void note_store(const TileOp& op);
  void keep_keyframe(bool with_memory);

  RunInfo& info_;
  RunHistory& history_;
  NumericExecutor* executor_;
  double keyframe_flops_;
  const TileGrid* grid_ = nullptr;
  int launch_ = -1;
  std::int32_t outer_j_ = -1;  ///< column tile of the outer loop, with one block per head
  bool seen_scores_ = false;   ///< in this thread block
  std::int32_t rows_end_ = 0;  ///< the step after the last operation that processed rows
  Index step_ = 0;
  HeadCounters counters_;
  double flops_since_keyframe_ = 0;
  Index ops_since_keyframe_ = 0;
};

}  // namespace attnscope
