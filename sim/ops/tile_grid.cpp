#include "sim/ops/tile_grid.h"

#include "reference/check.h"

namespace attnscope {

namespace {

Shape by_layout(Tensor tensor, Index rows, Index cols, Index d) {
  switch (layout_of(tensor)) {
    case TensorLayout::query_by_d:
    case TensorLayout::query_by_split_d:
      return {rows, d};
    case TensorLayout::key_by_d:
    case TensorLayout::group_key_by_d:
      return {cols, d};
    case TensorLayout::query_by_key:
      return {rows, cols};
    case TensorLayout::query_by_one:
    case TensorLayout::query_by_split:
      return {rows, 1};
  }
  return {};
}

}  // namespace

ScoreStepFlags score_steps_of(const AttentionProblem& problem) {
  const ScoreFunction& score = problem.score;
  return {score.soft_cap.has_value(), score.has_alibi(), score.has_dropout()};
}

std::int32_t TileRange::position_of(std::int32_t index) const {
  if (list == nullptr) return std::clamp(index, first, std::max(first, past_last));
  return static_cast<std::int32_t>(std::lower_bound(list + first, list + past_last, index) - list);
}

TileRange TileRange::within(const TileRange& bounds) const {
  if (list == nullptr) {
    return {std::max(first, bounds.first), std::min(past_last, bounds.past_last)};
  }
  const std::int32_t* const begin = std::lower_bound(list + first, list + past_last, bounds.first);
  const std::int32_t* const end = std::lower_bound(begin, list + past_last, bounds.past_last);
  return {static_cast<std::int32_t>(begin - list), static_cast<std::int32_t>(end - list), list};
}

TileGrid::TileGrid(const AttentionProblem& problem, const Tiling& tiling,
                   const ScheduleOptions& options, Index d_cols, Index shares)
    : problem_(problem),
      tiling_(tiling),
      options_(options),
      d_cols_(d_cols > 0 ? std::min(d_cols, problem.d) : problem.d),
      shares_(shares),
      Tr_(static_cast<std::int32_t>(ceil_div(problem.N, tiling.Br))),
      Tc_(static_cast<std::int32_t>(ceil_div(problem.N_kv, tiling.Bc))),
      last_rows_(problem.N - (Tr_ - 1) * tiling.Br),
      last_cols_(problem.N_kv - (Tc_ - 1) * tiling.Bc) {
  ATTNSCOPE_CHECK(tiling.Br, >=, 1);
  ATTNSCOPE_CHECK(tiling.Bc, >=, 1);
  ATTNSCOPE_CHECK(d_parts(), <=, kMostParts);
  ATTNSCOPE_CHECK(shares == 0 || d_parts() == 1, ==, true);
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

TileRange listed(std::span<const std::int32_t> tiles) {
  return {0, static_cast<std::int32_t>(tiles.size()), tiles.data()};
}

}  // namespace

TileRange TileGrid::column_tiles_for(std::int32_t i) const {
  const TileRange band = column_tiles_in_band(i);
  return problem_.block_mask == nullptr ? band
                                        : listed(problem_.block_mask->columns_of(i)).within(band);
}

TileRange TileGrid::row_tiles_for(std::int32_t j) const {
  const TileRange band = row_tiles_in_band(j);
  return problem_.block_mask == nullptr ? band
                                        : listed(problem_.block_mask->rows_of(j)).within(band);
}

TileRange TileGrid::column_tiles_in_band(std::int32_t i) const {
  if (problem_.is_packed()) return packed_column_tiles_for(i);
  if (options_.variant.visit_hidden) return tiles_of({0, key_end_}, tiling_.Bc);
  // Both ends of the visible band rise with the query, so the first and last row bound the tile
  const Index first = row_begin(i);
  const Index last = first + rows_of(i) - 1;
  const KeyRange keys{problem_.keys_of(first, batch_).begin, problem_.keys_of(last, batch_).end};
  return tiles_of(keys, tiling_.Bc);
}

TileRange TileGrid::row_tiles_in_band(std::int32_t j) const {
  if (problem_.is_packed()) return packed_row_tiles_for(j);
  if (options_.variant.visit_hidden) return is_padding(j) ? TileRange{} : row_tiles();
  const KeyRange keys{col_begin(j), std::min(col_begin(j) + cols_of(j), key_end_)};
  if (keys.size() == 0) return {};

  // Query q sees key k when -left <= k - (q + offset) <= right; no side extends farther than this
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

bool TileGrid::is_edge(const KeyRange& rows, const KeyRange& keys) const {
  if (rows.size() == 0 || keys.size() == 0) return false;
  const bool all_visible = problem_.keys_of(rows.end - 1, batch_).begin <= keys.begin &&
                           problem_.keys_of(rows.begin, batch_).end >= keys.end;
  return !all_visible;
}

namespace {

/// Share `number` of the range `all`; every share but the last has `each` elements.
KeyRange share_within(const KeyRange& all, Index each, Index number) {
  const Index begin = all.begin + number * each;
  return {std::min(begin, all.end), std::min(begin + each, all.end)};
}

}  // namespace

KeyRange TileGrid::rows_of_share(std::int32_t i, Index number) const {
  return share_within({row_begin(i), row_begin(i) + rows_of(i)}, ceil_div(tiling_.Br, shares()),
                      number);
}

KeyRange TileGrid::keys_of_share(std::int32_t j, Index number) const {
  return share_within({col_begin(j), col_end(j)}, ceil_div(tiling_.Bc, shares()), number);
}

KeyRange TileGrid::rows_of(const Tile& tile) const {
  const TileShare share = share_of(tile);
  if (share.of == TileShare::Of::queries) return rows_of_share(tile.i, share.number);
  return {row_begin(tile.i), row_begin(tile.i) + rows_of(tile.i)};
}

KeyRange TileGrid::keys_of(const Tile& tile) const {
  const TileShare share = share_of(tile);
  if (share.of == TileShare::Of::keys) return keys_of_share(tile.j, share.number);
  return {col_begin(tile.j), col_end(tile.j)};
}

Shape TileGrid::shape(const Tile& tile) const {
  if (shares_ > 0) {
    return by_layout(tile.tensor, rows_of(tile).size(), keys_of(tile).size(), problem_.d);
  }
  const Index d_cols = std::min(d_cols_, problem_.d - tile.part * d_cols_);
  return by_layout(tile.tensor, rows_of(tile.i), cols_of(tile.j), d_cols);
}

Shape TileGrid::slot_shape(const Tile& tile) const {
  const Index cols = tile.j == kAllColumns ? problem_.N_kv : tiling_.Bc;
  const TileShare share = share_of(held_by_slot(tile));
  const auto each = [&](TileShare::Of of, Index size) {
    return share.of == of ? ceil_div(size, shares()) : size;
  };
  return by_layout(tile.tensor, each(TileShare::Of::queries, tiling_.Br),
                   each(TileShare::Of::keys, cols), d_cols_);
}

Shape TileGrid::origin(const Tile& tile) const {
  if (shares_ > 0) {
    const Index key = keys_of(tile).begin;
    if (layout_of(tile.tensor) == TensorLayout::group_key_by_d) {
      return {tile.i * problem_.N_kv + key, 0};
    }
    if (is_by_keys(tile.tensor)) return {key, 0};
    return {rows_of(tile).begin, is_score(tile.tensor) ? key : 0};
  }
  switch (layout_of(tile.tensor)) {
    case TensorLayout::key_by_d:
      return {col_begin(tile.j), tile.part * d_cols_};
    case TensorLayout::group_key_by_d:
      return {tile.i * problem_.N_kv + col_begin(tile.j), tile.part * d_cols_};
    case TensorLayout::query_by_key:
      return {row_begin(tile.i), col_begin(tile.j)};
    case TensorLayout::query_by_split_d:
      return {row_begin(tile.i), tile.j * problem_.d};
    case TensorLayout::query_by_split:
      return {row_begin(tile.i), tile.j};
    case TensorLayout::query_by_d:
      return {row_begin(tile.i), tile.part * d_cols_};
    case TensorLayout::query_by_one:
      return {row_begin(tile.i), 0};
  }
  return {};
}

Shape tensor_shape(Tensor tensor, const AttentionProblem& problem, Index splits) {
  if (layout_of(tensor) == TensorLayout::group_key_by_d) {
    return {problem.heads_per_kv_head() * problem.N_kv, problem.d};
  }
  Shape shape = by_layout(tensor, problem.N, problem.N_kv, problem.d);
  const TensorLayout layout = layout_of(tensor);
  if (layout == TensorLayout::query_by_split_d || layout == TensorLayout::query_by_split) {
    shape.cols *= splits;
  }
  return shape;
}

Index element_bytes(Tensor tensor, DType dtype) {
  switch (info_of(tensor).in_hbm) {
    case ElementType::problem:
      return size_bytes(dtype);
    case ElementType::statistic:
      return kStatisticBytes;
    case ElementType::fp32:
      return size_bytes(DType::fp32);
    case ElementType::byte:
      return 1;
  }
  return 0;
}

}  // namespace attnscope
