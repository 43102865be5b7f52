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
  if (problem.block_mask != nullptr) {
    ATTNSCOPE_CHECK(problem.block_mask->tiling().Br, ==, tiling.Br);
    ATTNSCOPE_CHECK(problem.block_mask->tiling().Bc, ==, tiling.Bc);
    ATTNSCOPE_CHECK(problem.block_mask->Tr(), ==, Tr_);
    ATTNSCOPE_CHECK(problem.block_mask->Tc(), ==, Tc_);
  }
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
  // Both ends of the visible band rise with the query, so the first and last row bound the tile
  const Index first = row_begin(i);
  const Index last = first + rows_of(i) - 1;
  const KeyRange keys{problem_.keys_of(first).begin, problem_.keys_of(last).end};
  if (keys.size() == 0) return {};
  return {static_cast<std::int32_t>(keys.begin / tiling_.Bc),
          static_cast<std::int32_t>(ceil_div(keys.end, tiling_.Bc))};
}

TileRange TileGrid::row_tiles_in_band(std::int32_t j) const {
  const Index first_key = col_begin(j);
  const Index last_key = first_key + cols_of(j) - 1;
  const Index offset = problem_.diagonal(0);

  // Query q sees key k when -left <= k - (q + offset) <= right
  Index query_begin = 0;
  Index query_end = problem_.N;
  const Mask& mask = problem_.mask;
  if (mask.right != Mask::kUnlimited) {
    query_begin = std::clamp<Index>(first_key - mask.right - offset, 0, problem_.N);
  }
  if (mask.left != Mask::kUnlimited) {
    query_end = std::clamp<Index>(last_key + mask.left - offset + 1, 0, problem_.N);
  }
  if (query_begin >= query_end) return {};
  return {static_cast<std::int32_t>(query_begin / tiling_.Br),
          static_cast<std::int32_t>(ceil_div(query_end, tiling_.Br))};
}

bool TileGrid::edge(std::int32_t i, std::int32_t j) const {
  const Index first = row_begin(i);
  const Index last = first + rows_of(i) - 1;
  const bool all_visible = problem_.keys_of(last).begin <= col_begin(j) &&
                           problem_.keys_of(first).end >= col_begin(j) + cols_of(j);
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
