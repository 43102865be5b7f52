/// Executes tile operations on actual values; a skipped one changes nothing. Unwritten memory is
/// NaN: a slot is invalid when a block starts, after the last use of its tile, and when it is read
/// as a tile that it does not contain; HBM is NaN outside the inputs and the pass's initial values.
/// A missing load, rescale or sum is therefore visible in the result.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "reference/eigen_view.h"
#include "reference/inputs.h"
#include "reference/run_spec.h"
#include "sim/ops/observer.h"
#include "sim/schedule/algorithm.h"

namespace attnscope {

/// The places where values are rounded, and the values that are replaced.
struct NumericRules {
  bool round_to_storage = false;   ///< to the storage type, at HBM stores and matrix operands
  bool fp32_accumulators = false;  ///< every on-chip result to fp32
  /// Reading a tile that its slot on chip does not contain yields the previous tile's values
  /// instead of NaN.
  bool stale_memory = false;
  /// The tiles of this tensor on chip have this value.
  std::optional<std::pair<Tensor, double>> replaced = {};
};
/// The rules that a run requests.
NumericRules numeric_rules(const RunSpec& spec);
inline NumericRules without_break(NumericRules rules) {
  rules.replaced.reset();
  return rules;
}

class NumericExecutor : public Observer {
 public:
  /// The contents of a slot on chip.
  struct Slot {
    bool valid = false;
    Tile tile;
    RowMatrix values;
    bool holds(const Tile& other) const { return valid && tile.i == other.i && tile.j == other.j; }
  };
  /// On-chip memory of one thread block, by tensor and slot.
  using OnChip = std::array<std::array<Slot, kMostSlots>, kTensorCount>;

  NumericExecutor(const AttentionProblem& problem, const AttentionInputs& inputs,
                  NumericRules rules)
      : problem_(problem), inputs_(inputs), rules_(rules) {}

  /// Sets the rules of the operations that follow.
  void set_rules(const NumericRules& rules) { rules_ = rules; }
  const NumericRules& rules() const { return rules_; }

  /// Loads the head's inputs and initial values into HBM and sets the rest to NaN.
  void begin_head(Index batch, Index head, std::span<const InitialValue> initial_values);

  /// Sets tensors to a value, as the caller of a pass does; the rest of HBM is unchanged.
  void set_initial_values(std::span<const InitialValue> initial_values);

  void begin_launch(std::string_view /*name*/, const TileGrid& grid) override { grid_ = &grid; }
  void begin_block(const BlockId& block) override;
  void observe(std::span<const TileOp> ops) override;
  void execute(const TileOp& op);

  /// The head's tensor in HBM, NaN where nothing was written; 0 x 0 if it was never touched.
  const RowMatrix& hbm(Tensor tensor) const { return hbm_[static_cast<std::size_t>(tensor)]; }
  RowMatrix& hbm(Tensor tensor) { return hbm_[static_cast<std::size_t>(tensor)]; }
  const OnChip& on_chip() const { return on_chip_; }
  /// The slot of a tile on chip, whatever it holds.
  const Slot& slot(const Tile& tile) const {
    return on_chip_[static_cast<std::size_t>(tile.tensor)][tile.slot - 1U];
  }
  /// The values of a tile on chip; none if its slot holds another one.
  std::optional<RowMatrix> held(const Tile& tile) const;
  /// For keyframes: restores on-chip memory.
  void restore(const OnChip& on_chip) { on_chip_ = on_chip; }
  void set_grid(const TileGrid& grid) { grid_ = &grid; }
  /// Keeps only rows [begin, end) of S, P, dP and dS in HBM; operations must not touch other rows.
  void keep_score_rows(Index begin, Index end) {
    score_row_begin_ = begin;
    score_row_end_ = end;
  }

 private:
  /// First row and column of the tile in hbm().
  Shape place_in_hbm(const Tile& tile) const;
  Slot& slot(const Tile& tile) {
    return on_chip_[static_cast<std::size_t>(tile.tensor)][tile.slot - 1U];
  }
  bool is_within(const Tile& tile) const { return grid_->share_of(tile).in_whole_tile; }
  RowMatrix read_within(const Tile& tile) const;
  void write_within(const Tile& tile);
  /// The memory that write() or update() returned for the tile.
  RowMatrix& values_of(const Tile& tile) { return is_within(tile) ? share_ : slot(tile).values; }
  const RowMatrix& read(const Tile& tile);
  RowMatrix& write(const Tile& tile);
  RowMatrix& update(const Tile& tile);
  void load(const TileOp& op);
  void store(const TileOp& op);
  RowMatrix& stored_tensor(const Tile& tile);
  void replace(const Tile& tile);
  template <typename F>
  RowMatrix by_key(RowMatrix values, const Tile& tile, F f) const;
  RowMatrix score_step_result(const TileOp& op);
  /// Sets the elements whose keys the mask hides.
  void set_hidden(const Tile& tile, double value);
  void running_max(const TileOp& op);
  RowMatrix operand(const Tile& tile);
  RowMatrix softmax_result(const TileOp& op);
  void execute_product(const TileOp& op);
  void finish(const TileOp& op);

  AttentionProblem problem_;
  Index batch_ = 0;  ///< of the head that runs
  Index head_ = 0;
  const AttentionInputs& inputs_;
  NumericRules rules_;
  const TileGrid* grid_ = nullptr;
  Index score_row_begin_ = 0;
  Index score_row_end_ = 0;  ///< 0: all rows
  std::array<RowMatrix, kTensorCount> hbm_;
  OnChip on_chip_;
  RowMatrix share_;  ///< the share within a tile that the current operation writes
  /// Values that reads return although no slot contains them, one per operand of an operation.
  std::array<RowMatrix, 4> found_;
  std::size_t next_found_ = 0;
};

/// LSE of the current head: as stored, or computed from the m and l that flash1 stores in HBM; 0 x
/// 0 if neither exists.
RowMatrix log_sum_exp(const NumericExecutor& executor);

}  // namespace attnscope
