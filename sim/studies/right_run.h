/// The correct run beside a broken one, operation by operation, and how the values of the two
/// deviate (break_effect.h).
#pragma once

#include <array>
#include <deque>
#include <map>

#include "sim/observers/numeric_executor.h"
#include "sim/studies/deviation.h"

namespace attnscope {

/// A tile's values, on chip or in HBM; none if the tile is not there.
struct HeldTile {
  bool is_there = false;
  RowMatrix values;
};

/// An operation's first destination before the operation, and each destination after it.
struct RightResult {
  HeldTile before;
  std::array<HeldTile, 2> after;
};

/// Executes the correct run's operation for each operation of the broken one. For agents, whose
/// order may differ from that in the broken run, it executes a whole thread block in advance.
class RightRun : public Observer {
 public:
  /// Both must outlive the object; `pass` is the correct run's.
  RightRun(NumericExecutor& executor, const Pass& pass) : executor_(executor), pass_(pass) {}

  void begin_launch(std::string_view name, const TileGrid& grid) override;
  void begin_block(const BlockId& block) override;
  void observe(std::span<const TileOp> ops) override;

  /// The correct run's result of the broken run's operation, which is the next one of its agent.
  RightResult result_of(const TileOp& op);

 private:
  HeldTile held(const Tile& tile) const;
  RightResult executed(const TileOp& op);

  NumericExecutor& executor_;
  const Pass& pass_;
  std::size_t launch_count_ = 0;
  const Launch* launch_ = nullptr;
  const TileGrid* grid_ = nullptr;
  std::map<Agent, std::deque<RightResult>> in_advance_;
};

/// The deviation of `wrong` from `right`. Differences of at most `rounding` times the largest of
/// the correct values are rounding. The two matrices have the same size.
Deviation deviation_of(const RowMatrix& wrong, const RowMatrix& right, double rounding);

/// The same for a tile, by row for O and the gradients: rows count from the first row of its row or
/// column tile, of which it may be a share.
Deviation deviation_of_tile(const TileGrid& grid, const Tile& tile, const RowMatrix& wrong,
                            const RowMatrix& right, double rounding);

}  // namespace attnscope
