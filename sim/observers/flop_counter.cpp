#include "sim/observers/flop_counter.h"

namespace attnscope {

Flops flops_of(const TileOp& op, const TileGrid& grid) {
  const auto elems = [&](const Tile& tile) { return grid.shape(tile).elems(); };
  switch (op.kind) {
    case OpKind::scores: {
      const Index products = elems(op.dest_tiles[0]);
      return {2 * products * grid.problem().d, products};  // and one multiply by the scale
    }
    case OpKind::accumulate: {
      const Shape a = grid.shape(op.source_tiles[0]);
      return {2 * a.elems() * grid.shape(op.dest_tiles[0]).cols, 0};
    }
    case OpKind::product_transposed: {
      const Shape b = grid.shape(op.source_tiles[1]);
      return {2 * elems(op.dest_tiles[0]) * b.cols, 0};
    }
    case OpKind::accumulate_transposed:
    case OpKind::gradient_product:
    case OpKind::gradient_product_transposed: {
      const Index products = 2 * elems(op.source_tiles[0]) * grid.shape(op.dest_tiles[0]).cols;
      const bool scaled = op.kind != OpKind::accumulate_transposed;
      return {products, scaled ? elems(op.dest_tiles[0]) : 0};
    }
    case OpKind::row_dot:
    case OpKind::add_row_dot:
      return {0, 2 * elems(op.source_tiles[0])};
    case OpKind::softmax_gradient:
      return {0, 2 * elems(op.dest_tiles[0])};
    case OpKind::add:
    case OpKind::atomic_add:
    case OpKind::multiply:
    case OpKind::dropout:  // the factor; the bits are integer work
      return {0, elems(op.dest_tiles[0])};
    case OpKind::soft_cap:  // divide, tanh, multiply
      return {0, 3 * elems(op.dest_tiles[0]), elems(op.dest_tiles[0])};
    case OpKind::soft_cap_slope:  // divide, multiply, subtract
      return {0, 3 * elems(op.dest_tiles[0])};
    case OpKind::alibi:  // distance times slope, subtracted; the distance is integer work
      return {0, 2 * elems(op.dest_tiles[0])};
    case OpKind::row_max:
      return {0, elems(op.source_tiles[0])};
    case OpKind::running_max:  // the maxima, then a subtraction and an exp for each row
      return {0, elems(op.source_tiles[0]) + 2 * elems(op.dest_tiles[0]), elems(op.dest_tiles[0])};
    case OpKind::exp:
      return {0, 2 * elems(op.dest_tiles[0]), elems(op.dest_tiles[0])};
    case OpKind::row_sum:
    case OpKind::add_row_sum:
      return {0, elems(op.source_tiles[0])};
    case OpKind::rescale:
    case OpKind::normalize:
    case OpKind::scale:
      return {0, elems(op.dest_tiles[0])};
    case OpKind::log_sum_exp:
      return {0, 2 * elems(op.dest_tiles[0]), elems(op.dest_tiles[0])};
    case OpKind::load:
    case OpKind::store:
    case OpKind::fill_zero:
    case OpKind::fill_minus_inf:
    case OpKind::mask:
    case OpKind::mask_gradient:
    case OpKind::dropout_factors:
    case OpKind::convert:
      return {};
  }
  return {};
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
