#include "sim/ops/tile_grid.h"

#include <algorithm>

#include "reference/check.h"

namespace attnscope {

TensorLayout layout_of(Tensor tensor) {
  switch (tensor) {
    case Tensor::Q:
    case Tensor::O:
    case Tensor::O_carry:
    case Tensor::dO:
    case Tensor::dQ:
    case Tensor::dQ_accum:
      return TensorLayout::query_by_d;
    case Tensor::K:
    case Tensor::V:
    case Tensor::dK:
    case Tensor::dV:
      return TensorLayout::key_by_d;
    case Tensor::dK_heads:
    case Tensor::dV_heads:
      return TensorLayout::group_key_by_d;
    case Tensor::S:
    case Tensor::P:
    case Tensor::dP:
    case Tensor::dS:
    case Tensor::P_drop:
    case Tensor::T:
      return TensorLayout::query_by_key;
    case Tensor::LSE:
    case Tensor::m:
    case Tensor::l:
    case Tensor::alpha:
    case Tensor::m_tile:
    case Tensor::l_tile:
    case Tensor::D:
    case Tensor::beta:
      return TensorLayout::query_by_one;
  }
  return TensorLayout::query_by_one;
}

namespace {

Shape by_layout(Tensor tensor, Index rows, Index cols, Index d) {
  switch (layout_of(tensor)) {
    case TensorLayout::query_by_d:
      return {rows, d};
    case TensorLayout::key_by_d:
    case TensorLayout::group_key_by_d:
      return {cols, d};
    case TensorLayout::query_by_key:
      return {rows, cols};
    case TensorLayout::query_by_one:
      return {rows, 1};
  }
  return {};
}

}  // namespace

ScoreStepFlags score_steps_of(const AttentionProblem& problem) {
  const ScoreFunction& score = problem.score;
  return {score.soft_cap.has_value(), score.has_alibi(), score.has_dropout()};
}

TileGrid::TileGrid(const AttentionProblem& problem, const Tiling& tiling,
                   const ScheduleOptions& options)
    : problem_(problem),
      tiling_(tiling),
      options_(options),
      Tr_(static_cast<std::int32_t>(ceil_div(problem.N, tiling.Br))),
      Tc_(static_cast<std::int32_t>(ceil_div(problem.N_kv, tiling.Bc))),
      last_rows_(problem.N - (Tr_ - 1) * tiling.Br),
      last_cols_(problem.N_kv - (Tc_ - 1) * tiling.Bc) {
  ATTNSCOPE_CHECK(tiling.Br, >=, 1);
  ATTNSCOPE_CHECK(tiling.Bc, >=, 1);
  if (problem_.block_mask != nullptr) {
    ATTNSCOPE_CHECK(problem.block_mask->tiling().Br, ==, tiling.Br);
    ATTNSCOPE_CHECK(problem.block_mask->tiling().Bc, ==, tiling.Bc);
    ATTNSCOPE_CHECK(problem.block_mask->Tr(), ==, Tr_);
    ATTNSCOPE_CHECK(problem.block_mask->Tc(), ==, Tc_);
  }
  set_batch(0);
}

void TileGrid::set_batch(Index b) {
  batch_ = b;
  key_end_ = problem_.has_key_lengths() ? problem_.key_lengths[static_cast<std::size_t>(b)]
                                        : problem_.N_kv;
}

namespace {

/// The part of an ascending list that lies in the range.
TileRange within(std::span<const std::int32_t> list, const TileRange& range) {
  const auto first = std::ranges::lower_bound(list, range.first);
  const auto past_last = std::lower_bound(first, list.end(), range.past_last);
  return {static_cast<std::int32_t>(first - list.begin()),
          static_cast<std::int32_t>(past_last - list.begin()), list.data()};
}

}  // namespace

TileRange TileGrid::column_tiles_for(std::int32_t i) const {
  const TileRange band = column_tiles_in_band(i);
  return problem_.block_mask == nullptr ? band : within(problem_.block_mask->columns_of(i), band);
}

TileRange TileGrid::row_tiles_for(std::int32_t j) const {
  const TileRange band = row_tiles_in_band(j);
  return problem_.block_mask == nullptr ? band : within(problem_.block_mask->rows_of(j), band);
}

TileRange TileGrid::column_tiles_in_band(std::int32_t i) const {
  if (problem_.is_packed()) return packed_column_tiles_for(i);
  // Both ends of the visible band rise with the query, so the first and last row bound the tile
  const Index first = row_begin(i);
  const Index last = first + rows_of(i) - 1;
  const KeyRange keys{problem_.keys_of(first, batch_).begin, problem_.keys_of(last, batch_).end};
  return tiles_of(keys, tiling_.Bc);
}

TileRange TileGrid::row_tiles_in_band(std::int32_t j) const {
  if (problem_.is_packed()) return packed_row_tiles_for(j);
  const KeyRange keys{col_begin(j), std::min(col_begin(j) + cols_of(j), key_end_)};
  if (keys.size() == 0) return {};

  // Query q sees key k when -left <= k - (q + offset) <= right; no side reaches farther than this
  constexpr Index kLongestSide = 2 * kMaxSequenceLength;
  const Index offset = problem_.diagonal(0);
  const Mask& mask = problem_.mask;
  KeyRange queries{0, problem_.N};
  if (mask.right != Mask::kUnlimited) {
    const Index right = std::min(mask.right, kLongestSide);
    queries.begin = std::clamp<Index>(keys.begin - right - offset, 0, problem_.N);
  }
  if (mask.left != Mask::kUnlimited) {
    const Index left = std::min(mask.left, kLongestSide);
    queries.end = std::clamp<Index>(keys.end + left - offset, 0, problem_.N);
  }
  return tiles_of(queries, tiling_.Br);
}

bool TileGrid::edge(std::int32_t i, std::int32_t j) const {
  const Index first = row_begin(i);
  const Index last = first + rows_of(i) - 1;
  const bool all_visible = problem_.keys_of(last, batch_).begin <= col_begin(j) &&
                           problem_.keys_of(first, batch_).end >= col_begin(j) + cols_of(j);
  return !all_visible;
}

Shape TileGrid::shape(const Tile& tile) const {
  return by_layout(tile.tensor, rows_of(tile.i), cols_of(tile.j), problem_.d);
}

Shape TileGrid::slot_shape(const Tile& tile) const {
  const Index cols = tile.j == kAllColumns ? problem_.N_kv : tiling_.Bc;
  return by_layout(tile.tensor, tiling_.Br, cols, problem_.d);
}

Shape TileGrid::origin(const Tile& tile) const {
  switch (layout_of(tile.tensor)) {
    case TensorLayout::key_by_d:
      return {col_begin(tile.j), 0};
    case TensorLayout::group_key_by_d:
      return {tile.i * problem_.N_kv + col_begin(tile.j), 0};
    case TensorLayout::query_by_key:
      return {row_begin(tile.i), col_begin(tile.j)};
    case TensorLayout::query_by_d:
    case TensorLayout::query_by_one:
      return {row_begin(tile.i), 0};
  }
  return {};
}

Shape tensor_shape(Tensor tensor, const AttentionProblem& problem) {
  if (layout_of(tensor) == TensorLayout::group_key_by_d) {
    return {problem.heads_per_kv_head() * problem.N_kv, problem.d};
  }
  return by_layout(tensor, problem.N, problem.N_kv, problem.d);
}

Index element_bytes(Tensor tensor, DType dtype) {
  if (layout_of(tensor) == TensorLayout::query_by_one) return kStatisticBytes;
  if (tensor == Tensor::O_carry || tensor == Tensor::dQ_accum) return size_bytes(DType::fp32);
  return size_bytes(dtype);
}

}  // namespace attnscope
