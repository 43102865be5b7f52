#include "sim/observers/flop_counter.h"

namespace attnscope {

namespace {

/// Operations of a step that is not a matrix product: for each element of its destination, and for
/// each of its first source.
struct Cost {
  OpKind kind;
  Index per_result, per_source = 0;
  Index exponentials_per_result = 0;
};

constexpr Cost kCosts[] = {
    {OpKind::row_dot, 0, 2},
    {OpKind::add_row_dot, 0, 2},
    {OpKind::softmax_gradient, 2},
    {OpKind::add, 1},
    {OpKind::atomic_add, 1},
    {OpKind::multiply, 1},
    {OpKind::dropout, 1},         // the factor; the bits are integer work
    {OpKind::soft_cap, 3, 0, 1},  // divide, tanh, multiply
    {OpKind::soft_cap_slope, 3},  // divide, multiply, subtract
    {OpKind::alibi, 2},           // distance times slope, subtracted; the distance is integer work
    {OpKind::row_max, 0, 1},
    {OpKind::running_max, 2, 1, 1},  // the maxima, then a subtraction and an exp for each row
    {OpKind::exp, 2, 0, 1},
    {OpKind::row_sum, 0, 1},
    {OpKind::add_row_sum, 0, 1},
    {OpKind::rescale, 1},
    {OpKind::normalize, 1},
    {OpKind::scale, 1},
    {OpKind::log_sum_exp, 2, 0, 1},
    {OpKind::scores, 1},  // one multiply by the scale
    {OpKind::gradient_product, 1},
    {OpKind::gradient_product_transposed, 1},
};

/// The costs by kind; an operation without an entry has none.
constexpr auto kCostOf = [] {
  std::array<Cost, kOpKindCount> costs{};
  for (const Cost& cost : kCosts) costs[static_cast<std::size_t>(cost.kind)] = cost;
  return costs;
}();

/// Multiply-adds of a matrix product: for each of its results, as many as its sum has addends.
Index multiply_adds(const TileOp& op, const TileGrid& grid) {
  const Shape a = grid.shape(op.source_tiles[0]);
  const Shape result = grid.shape(op.dest_tiles[0]);
  const bool is_transposed =
      op.kind == OpKind::accumulate_transposed || op.kind == OpKind::gradient_product_transposed;
  return result.elems() * (is_transposed ? a.rows : a.cols);
}

}  // namespace

Flops flops_of(const TileOp& op, const TileGrid& grid) {
  const Cost& cost = kCostOf[static_cast<std::size_t>(op.kind)];
  const auto elems = [&](const Tile& tile) { return grid.shape(tile).elems(); };
  Flops flops;
  if (op.is_matrix_product()) flops.matmul = 2 * multiply_adds(op, grid);
  if (cost.per_result > 0) flops.non_matmul = cost.per_result * elems(op.dest_tiles[0]);
  if (cost.per_source > 0) flops.non_matmul += cost.per_source * elems(op.source_tiles[0]);
  if (cost.exponentials_per_result > 0) {
    flops.exponentials = cost.exponentials_per_result * elems(op.dest_tiles[0]);
  }
  return flops;
}

void FlopCounter::begin_launch(std::string_view /*name*/, const TileGrid& grid) {
  grid_ = &grid;
  launches_.emplace_back();
  op_counts_.push_back(0);
}

void FlopCounter::observe(std::span<const TileOp> ops) {
  Flops& flops = launches_.back();
  for (const TileOp& op : ops) flops += flops_of(op, *grid_);
  op_counts_.back() += static_cast<Index>(ops.size());
}

void FlopCounter::mark() {
  marked_flops_.mark(launches_.back());
  marked_op_counts_.mark(op_counts_.back());
}

void FlopCounter::repeat(Index times) {
  marked_flops_.repeat(launches_.back(), times);
  marked_op_counts_.repeat(op_counts_.back(), times);
}

}  // namespace attnscope
