#include "sim/observers/flop_counter.h"

#include <optional>

namespace attnscope {

namespace {

/// Operations of a step that is not a matrix product, per element of its destination and per
/// element of its first source, and their purpose.
struct Cost {
  OpKind kind;
  Index per_result, per_source = 0;
  Index exponentials_per_result = 0;
  Work work = Work::score_function;
  std::optional<Work> on_output = {};  ///< its purpose for rows of O or a gradient, if different
};
constexpr Cost kCosts[] = {
    {OpKind::row_dot, 0, 2, 0, Work::row_dot},
    {OpKind::add_row_dot, 0, 2, 0, Work::row_dot},
    {OpKind::softmax_gradient, 2, 0, 0, Work::softmax_gradient},
    {OpKind::add, 1, 0, 0, Work::sums},
    {OpKind::atomic_add, 1, 0, 0, Work::sums},
    {OpKind::multiply, 1},
    {OpKind::dropout, 1},         // multiply by the factor; the bits are integer work
    {OpKind::soft_cap, 3, 0, 1},  // divide, tanh, multiply
    {OpKind::soft_cap_slope, 3},  // divide, multiply, subtract
    {OpKind::alibi, 2},           // multiply the distance by the slope, subtract; the distance is
                                  // integer work
    {OpKind::row_max, 0, 1, 0, Work::row_max},
    // The maxima, then a subtraction and an exp for each row
    {OpKind::running_max, 2, 1, 1, Work::row_max},
    {OpKind::exp, 2, 0, 1, Work::exp},
    {OpKind::row_sum, 0, 1, 0, Work::row_sum},
    {OpKind::add_row_sum, 0, 1, 0, Work::row_sum},
    {OpKind::rescale, 1, 0, 0, Work::rescale_scores, Work::rescale_output},
    {OpKind::normalize, 1, 0, 0, Work::divide_scores, Work::divide_output},
    {OpKind::scale, 1, 0, 0, Work::scale},
    {OpKind::log_sum_exp, 2, 0, 1, Work::statistics},
    {OpKind::scores, 1, 0, 0, Work::scale},  // one multiply by the scale
    {OpKind::gradient_product, 1, 0, 0, Work::scale_gradients},
    {OpKind::gradient_product_transposed, 1, 0, 0, Work::scale_gradients},
};

/// The costs by kind; an operation without an entry has none.
constexpr auto kCostOf = [] {
  std::array<Cost, kOpKindCount> costs{};
  for (const Cost& cost : kCosts) costs[static_cast<std::size_t>(cost.kind)] = cost;
  return costs;
}();

/// Multiply-adds of a matrix product: for each result, the number of addends of its sum.
Index multiply_adds(const TileOp& op, const TileGrid& grid) {
  const Shape a = grid.shape(op.source_tiles[0]);
  const Shape result = grid.shape(op.dest_tiles[0]);
  return result.elems() * (op.sums_queries() ? a.rows : a.cols);
}

Work work_of(const TileOp& op) {
  const Cost& cost = kCostOf[static_cast<std::size_t>(op.kind)];
  const Tensor tensor = (cost.per_source > 0 ? op.source_tiles[0] : op.dest_tiles[0]).tensor;
  if (op.kind == OpKind::scale && tensor != Tensor::S) return Work::scale_gradients;
  switch (layout_of(tensor)) {
    case TensorLayout::query_by_one:
      return Work::statistics;
    case TensorLayout::query_by_key:
      return cost.work;
    default:
      return cost.on_output.value_or(cost.work);
  }
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

void FlopCounter::observe(std::span<const TileOp> ops) {
  for (const TileOp& op : ops) counts() += flops_of(op, grid());
}

void WorkCounter::observe(std::span<const TileOp> ops) {
  const auto count = [this](Work work, Index operations) {
    counts()[static_cast<std::size_t>(work)] += operations;
  };
  for (const TileOp& op : ops) {
    Index others = flops_of(op, grid()).non_matmul;
    if (others == 0) continue;
    if (op.kind == OpKind::running_max) {
      const Index alphas = 2 * grid().shape(op.dest_tiles[0]).elems();  // exp(m_prev - m)
      count(Work::statistics, alphas);
      others -= alphas;
    }
    count(work_of(op), others);
  }
}

}  // namespace attnscope
