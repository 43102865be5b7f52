#include "sim/observers/numeric_executor.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "reference/check.h"
#include "reference/rounding.h"

namespace attnscope {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// Precision of a tensor in HBM.
DType storage_type(Tensor tensor, DType dtype) {
  return element_bytes(tensor, dtype) == size_bytes(DType::fp32) ? DType::fp32 : dtype;
}

}  // namespace

NumericRules numeric_rules(const RunSpec& spec) {
  NumericRules rules{.round_to_storage = spec.round_to_storage,
                     .fp32_accumulators = spec.fp32_accumulators,
                     .stale_memory = spec.stale_memory};
  const ReplacedOperand& replaced = spec.variant.broken.replaced;
  const auto tensor = parse_name<Tensor>(replaced.tensor);
  if (tensor) rules.replaced = {*tensor, static_cast<double>(replaced.value)};
  return rules;
}

void NumericExecutor::begin_head(Index batch, Index head,
                                 std::span<const InitialValue> initial_values) {
  batch_ = batch;
  head_ = head;
  const bool new_group = head % problem_.heads_per_kv_head() == 0;
  for (const Tensor tensor : kTensors) {
    const bool of_group = layout_of(tensor) == TensorLayout::group_key_by_d;
    if (new_group || !of_group) hbm(tensor).resize(0, 0);
  }
  const Index kv_head = problem_.kv_head_of(head);
  hbm(Tensor::Q) = head_matrix(inputs_.Q, batch, head);
  hbm(Tensor::K) = head_matrix(inputs_.K, batch, kv_head);
  hbm(Tensor::V) = head_matrix(inputs_.V, batch, kv_head);
  if (inputs_.dO.size() > 0) hbm(Tensor::dO) = head_matrix(inputs_.dO, batch, head);
  set_initial_values(initial_values);
}

void NumericExecutor::set_initial_values(std::span<const InitialValue> initial_values) {
  for (const InitialValue& initial : initial_values) {
    const Shape shape = tensor_shape(initial.tensor, problem_);
    hbm(initial.tensor).setConstant(shape.rows, shape.cols, initial.value);
  }
}

void NumericExecutor::begin_block(const BlockId& /*block*/) {
  for (auto& slots : on_chip_) {
    for (Slot& slot : slots) slot.valid = false;
  }
}

void NumericExecutor::observe(std::span<const TileOp> ops) {
  for (const TileOp& op : ops) execute(op);
}

namespace {

/// Copies into `to` the part of `from` that overlaps it; `to` begins at `begin` within `from`.
void copy_from(const RowMatrix& from, const Shape& begin, RowMatrix& to) {
  const auto rows = std::clamp<Eigen::Index>(from.rows() - begin.rows, 0, to.rows());
  const auto cols = std::clamp<Eigen::Index>(from.cols() - begin.cols, 0, to.cols());
  if (rows == 0 || cols == 0) return;
  to.topLeftCorner(rows, cols) = from.block(begin.rows, begin.cols, rows, cols);
}

/// The position of a share in the whole tile.
Shape begin_within(const Tile& share, const TileGrid& grid) {
  const Shape begin = grid.origin(share), whole = grid.origin(grid.held_by_slot(share));
  return {begin.rows - whole.rows, begin.cols - whole.cols};
}

}  // namespace

/// A share of the tile in its slot; NaN where nothing was written.
RowMatrix NumericExecutor::read_within(const Tile& tile) const {
  const Shape shape = grid_->shape(tile);
  RowMatrix values = RowMatrix::Constant(shape.rows, shape.cols, kNaN);
  const Slot& from = slot(tile);
  if (from.holds(tile) || rules_.stale_memory) {
    copy_from(from.values, begin_within(tile, *grid_), values);
  }
  return values;
}

/// Writes the values of a share to its slot. If the slot held another tile, the rest of the tile is
/// unwritten.
void NumericExecutor::write_within(const Tile& tile) {
  Slot& to = slot(tile);
  if (!to.holds(tile)) {
    const Shape shape = grid_->shape(grid_->held_by_slot(tile));
    RowMatrix unwritten = RowMatrix::Constant(shape.rows, shape.cols, kNaN);
    if (rules_.stale_memory) copy_from(to.values, {}, unwritten);
    to.values = std::move(unwritten);
  }
  to.valid = true;
  to.tile = grid_->held_by_slot(tile);
  const Shape begin = begin_within(tile, *grid_);
  to.values.block(begin.rows, begin.cols, share_.rows(), share_.cols()) = share_;
}

std::optional<RowMatrix> NumericExecutor::held(const Tile& tile) const {
  if (!slot(tile).holds(tile)) return std::nullopt;
  return is_within(tile) ? read_within(tile) : slot(tile).values;
}

/// The tile's values. If its slot holds another tile, NaN or, with stale reads, the values of that
/// tile. The slot does not change.
const RowMatrix& NumericExecutor::read(const Tile& tile) {
  const Slot& from = slot(tile);
  if (from.holds(tile) && !is_within(tile)) return from.values;
  RowMatrix& found = found_[next_found_++ % found_.size()];
  if (is_within(tile)) return found = read_within(tile);
  const Shape shape = grid_->shape(tile);
  found.setConstant(shape.rows, shape.cols, kNaN);
  if (rules_.stale_memory) copy_from(from.values, {}, found);
  return found;
}

/// The slot's memory, now assigned to this tile; the values are unspecified.
RowMatrix& NumericExecutor::write(const Tile& tile) {
  const Shape shape = grid_->shape(tile);
  RowMatrix& values = values_of(tile);
  values.resize(shape.rows, shape.cols);
  if (is_within(tile)) return values;  // finish() puts it into the slot
  slot(tile).valid = true;
  slot(tile).tile = tile;
  return values;
}

/// The slot's memory for reading and writing.
RowMatrix& NumericExecutor::update(const Tile& tile) {
  if (is_within(tile)) return share_ = read_within(tile);
  Slot& to = slot(tile);
  if (!to.holds(tile)) to.values = read(tile);
  to.valid = true;
  to.tile = tile;
  return to.values;
}

/// The tile as a matrix-product operand, in the storage type if values are rounded.
RowMatrix NumericExecutor::operand(const Tile& tile) {
  RowMatrix values = read(tile);
  if (rules_.round_to_storage) {
    values = values.unaryExpr([this](double x) { return round_to(problem_.dtype, x); });
  }
  return values;
}

Shape NumericExecutor::place_in_hbm(const Tile& tile) const {
  Shape origin = grid_->origin(tile);
  if (is_score(tile.tensor)) origin.rows -= score_row_begin_;
  return origin;
}

void NumericExecutor::load(const TileOp& op) {
  const Tile& from = op.source_tiles[0];
  const Shape shape = grid_->shape(from);
  const Shape origin = place_in_hbm(from);
  const RowMatrix& tensor = hbm(from.tensor);
  RowMatrix& to = write(op.dest_tiles[0]);
  if (tensor.size() == 0) {
    to.setConstant(kNaN);
  } else {
    to = tensor.block(origin.rows, origin.cols, shape.rows, shape.cols);
  }
}

/// The tensor in HBM that the tile is stored to.
RowMatrix& NumericExecutor::stored_tensor(const Tile& tile) {
  RowMatrix& tensor = hbm(tile.tensor);
  if (tensor.size() == 0) {
    // The grid's problem has all heads of the group, problem_ only one of them
    Shape whole = tensor_shape(tile.tensor, grid_->problem(), grid_->options().splits);
    if (is_score(tile.tensor) && score_row_end_ > 0) whole.rows = score_row_end_ - score_row_begin_;
    tensor.setConstant(whole.rows, whole.cols, kNaN);
  }
  return tensor;
}

/// Stores the tile, or adds it to the values in HBM.
void NumericExecutor::store(const TileOp& op) {
  const Tile& to = op.dest_tiles[0];
  const Shape shape = grid_->shape(to);
  const Shape origin = place_in_hbm(to);
  RowMatrix& tensor = stored_tensor(to);
  auto place = tensor.block(origin.rows, origin.cols, shape.rows, shape.cols);
  if (op.kind == OpKind::atomic_add) {
    place += read(op.source_tiles[0]);
  } else {
    place = read(op.source_tiles[0]);
  }
  if (rules_.round_to_storage && to.tensor != Tensor::Z) {  // Z: kept or dropped
    const DType type = storage_type(to.tensor, problem_.dtype);
    place = place.unaryExpr([type](double x) { return round_to(type, x); });
  }
}

void NumericExecutor::set_hidden(const Tile& tile, double value) {
  RowMatrix& S = update(tile);
  const Index row_begin = grid_->rows_of(tile).begin;
  const Index col_begin = grid_->keys_of(tile).begin;
  for (Eigen::Index r = 0; r < S.rows(); ++r) {
    const KeyRange keys = problem_.keys_of(row_begin + r, batch_);
    for (Eigen::Index c = 0; c < S.cols(); ++c) {
      const Index key = col_begin + c;
      if (key < keys.begin || key >= keys.end) S(r, c) = value;
    }
  }
}

/// Executes a matrix product; its operands are in the storage type if values are rounded.
void NumericExecutor::execute_product(const TileOp& op) {
  const Tile& dest = op.dest_tiles[0];
  const RowMatrix a = operand(op.source_tiles[0]);
  const RowMatrix b = operand(op.source_tiles[1]);
  const double scale = problem_.softmax_scale();
  switch (op.kind) {
    case OpKind::scores:
      write(dest).noalias() = scale * (a * b.transpose());
      break;
    case OpKind::accumulate:
      update(dest).noalias() += a * b;
      break;
    case OpKind::product_transposed:
      write(dest).noalias() = a * b.transpose();
      break;
    case OpKind::accumulate_transposed:
      update(dest).noalias() += a.transpose() * b;
      break;
    case OpKind::gradient_product:
      update(dest).noalias() += scale * (a * b);
      break;
    case OpKind::gradient_product_transposed:
      update(dest).noalias() += scale * (a.transpose() * b);
      break;
    default:
      ATTNSCOPE_CHECK(to_string(op.kind), ==, "a matrix product");
  }
}

void NumericExecutor::execute(const TileOp& op) {
  const Tile& dest = op.dest_tiles[0];
  if (op.skipped) {
    if (!dest.on_chip()) stored_tensor(dest);  // NaN where nothing was stored
    return;
  }
  switch (op.kind) {
    case OpKind::load:
      load(op);
      break;
    case OpKind::store:
    case OpKind::atomic_add:
      store(op);
      break;
    case OpKind::wait:
    case OpKind::arrive:
      break;
    case OpKind::fill_zero:
      write(dest).setZero();
      break;
    case OpKind::fill_minus_inf:
      write(dest).setConstant(-kInfinity);
      break;
    case OpKind::mask:
      set_hidden(dest, -kInfinity);
      break;
    case OpKind::mask_gradient:
      set_hidden(dest, 0.0);
      break;
    case OpKind::running_max:
      running_max(op);
      break;
    case OpKind::soft_cap:
    case OpKind::soft_cap_slope:
    case OpKind::alibi:
    case OpKind::dropout:
    case OpKind::dropout_factors:
      write(dest) = score_step_result(op);
      break;
    default:
      if (op.is_matrix_product()) {
        execute_product(op);
      } else {
        const RowMatrix result = softmax_result(op);  // a source may be in the destination's slot
        write(dest) = result;
      }
  }
  finish(op);
}

/// Sets the tile on chip to the value that replaces its tensor's, if there is one.
void NumericExecutor::replace(const Tile& tile) {
  const auto& replaced = rules_.replaced;
  if (!replaced || replaced->first != tile.tensor || !tile.on_chip()) return;
  values_of(tile).setConstant(replaced->second);
}

/// Replaces or rounds the results, if requested, and invalidates the tiles read for the last time.
void NumericExecutor::finish(const TileOp& op) {
  for (const Tile& tile : op.dests()) replace(tile);
  if (rules_.fp32_accumulators) {
    for (const Tile& tile : op.dests()) {
      if (!tile.on_chip()) continue;
      RowMatrix& values = values_of(tile);
      values = values.unaryExpr([](double x) { return round_to(DType::fp32, x); });
    }
  }
  for (const Tile& tile : op.dests()) {
    if (tile.on_chip() && is_within(tile)) write_within(tile);
  }
  for (const Tile& tile : op.sources()) {
    if (tile.on_chip() && tile.last_use) slot(tile).valid = false;
  }
}

RowMatrix log_sum_exp(const NumericExecutor& executor) {
  const bool is_stored = executor.hbm(Tensor::LSE).size() > 0;
  if (is_stored) return executor.hbm(Tensor::LSE);
  return executor.hbm(Tensor::m).array() + executor.hbm(Tensor::l).array().log();
}

}  // namespace attnscope
