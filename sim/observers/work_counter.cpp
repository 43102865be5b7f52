#include "sim/observers/work_counter.h"

#include "sim/observers/flop_counter.h"

namespace attnscope {

namespace {

bool one_a_row(const Tile& tile) {
  return layout_of(tile.tensor) == TensorLayout::query_by_one;
}

/// By the kind of destination: scores, output or gradient rows, or one number per row.
Work by_layout(const Tile& tile, Work of_scores, Work of_output) {
  if (one_a_row(tile)) return Work::statistics;
  return layout_of(tile.tensor) == TensorLayout::query_by_key ? of_scores : of_output;
}

Work work_of(const TileOp& op) {
  const Tile& dest = op.dest_tiles[0];
  switch (op.kind) {
    case OpKind::row_max:
    case OpKind::running_max:
      return one_a_row(op.source_tiles[0]) ? Work::statistics : Work::row_max;
    case OpKind::exp:
      return one_a_row(dest) ? Work::statistics : Work::exp;
    case OpKind::row_sum:
    case OpKind::add_row_sum:
      return one_a_row(op.source_tiles[0]) ? Work::statistics : Work::row_sum;
    case OpKind::rescale:
      return by_layout(dest, Work::rescale_scores, Work::rescale_output);
    case OpKind::normalize:
      return by_layout(dest, Work::divide_scores, Work::divide_output);
    case OpKind::log_sum_exp:
      return Work::statistics;
    case OpKind::row_dot:
    case OpKind::add_row_dot:
      return Work::row_dot;
    case OpKind::softmax_gradient:
      return Work::softmax_gradient;
    case OpKind::add:
    case OpKind::atomic_add:
      return Work::sums;
    case OpKind::scores:
      return Work::scale;
    case OpKind::gradient_product:
    case OpKind::gradient_product_transposed:
      return Work::scale_gradients;
    case OpKind::scale:
      return dest.tensor == Tensor::S ? Work::scale : Work::scale_gradients;
    default:
      return Work::score_function;
  }
}

}  // namespace

void WorkCounter::begin_launch(std::string_view /*name*/, const TileGrid& grid) {
  grid_ = &grid;
  launches_.emplace_back();
}

void WorkCounter::observe(std::span<const TileOp> ops) {
  WorkFlops& flops = launches_.back();
  const auto count = [&flops](Work work, Index operations) {
    flops[static_cast<std::size_t>(work)] += operations;
  };
  for (const TileOp& op : ops) {
    Index others = flops_of(op, *grid_).non_matmul;
    if (others == 0) continue;
    if (op.kind == OpKind::running_max) {
      const Index alphas = 2 * grid_->shape(op.dest_tiles[0]).elems();  // exp(m_prev - m)
      count(Work::statistics, alphas);
      others -= alphas;
    }
    count(work_of(op), others);
  }
}

}  // namespace attnscope
