#include "sim/observers/hbm_footprint.h"

#include "reference/checked_count.h"

namespace attnscope {

Index whole_tensor_bytes(Tensor tensor, const AttentionProblem& problem, Index splits) {
  const TensorLayout layout = layout_of(tensor);
  const bool by_keys = layout == TensorLayout::key_by_d || layout == TensorLayout::group_key_by_d;
  const Index heads = by_keys ? problem.kv_heads : problem.heads;
  const Index head_bytes =
      tensor_shape(tensor, problem, splits).elems() * element_bytes(tensor, problem.dtype);
  return checked_product(problem.batch * heads, head_bytes);
}

void HbmFootprint::begin_launch(std::string_view /*name*/, const TileGrid& grid) {
  splits_ = grid.options().splits;
}

void HbmFootprint::observe(std::span<const TileOp> ops) {
  for (const TileOp& op : ops) {
    if (op.kind == OpKind::load) {
      const auto tensor = static_cast<std::size_t>(op.source_tiles[0].tensor);
      if (!touched_[tensor]) needed_.set(tensor);
      touched_.set(tensor);
    }
    if (op.kind == OpKind::store || op.kind == OpKind::atomic_add)
      touched_.set(static_cast<std::size_t>(op.dest_tiles[0].tensor));
  }
}

Index HbmFootprint::peak_bytes(const AttentionProblem& problem) const {
  Index total = 0;
  for (const Tensor tensor : kTensors) {
    if (tensor == Tensor::dS && touches(Tensor::dP)) continue;  // overwrites dP
    if (!touches(tensor)) continue;
    total = checked_sum(total, whole_tensor_bytes(tensor, problem, splits_));
  }
  return total;
}

}  // namespace attnscope
