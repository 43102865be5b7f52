/// Geometry of one launch over one head: the tiles, their sizes, and which are empty under the
/// mask. Ragged tiles have their valid size; nothing is padded.
#pragma once

#include <algorithm>

#include "reference/block_mask.h"
#include "reference/schedule_variant.h"
#include "sim/ops/tensor_info.h"

namespace attnscope {

/// The steps of the problem's score function.
struct ScoreStepFlags {
  bool soft_cap = false;
  bool alibi = false;
  bool dropout = false;
  bool operator==(const ScoreStepFlags&) const = default;
};
ScoreStepFlags score_steps_of(const AttentionProblem& problem);

/// The choices of a schedule other than its tiling.
struct ScheduleOptions {
  ScheduleVariant variant;
  /// standard: also write LSE, if it is an output (the paper's algorithm does not write it).
  bool standard_writes_lse = false;
  /// standard: 0 if a row of S fits on chip, so that the softmax reads S once; else the columns
  /// of the panels in which it sweeps S twice.
  Index softmax_panel_cols = 0;
  /// The same for the backward pass, which holds a row of P and one of dP.
  Index gradient_panel_cols = 0;
  /// Backward: if more than 1, dK and dV of a group's query heads are summed.
  Index heads_per_kv_head = 1;
  /// The steps of the problem's score function, which determine the lines of the pseudo-code.
  ScoreStepFlags score_steps;
  Index splits = 1;  ///< split_kv: parts into which the keys are divided
  /// Whether, inside a column tile, the rows of K and V beyond a key length are zero on chip
  /// instead of being loaded.
  bool skips_padded_keys = false;
  /// Whether the problem hides keys, so that a launch that only applies the mask exists.
  bool masked = false;
};

/// Ascending tile indices: [first, past_last), or those that a block mask lists at positions
/// [first, past_last).
struct TileRange {
  std::int32_t first = 0;
  std::int32_t past_last = 0;
  const std::int32_t* list = nullptr;

  struct Iterator {
    std::int32_t position;
    const std::int32_t* list;
    std::int32_t operator*() const { return list == nullptr ? position : list[position]; }
    Iterator& operator++() {
      ++position;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return position < other.position; }
  };
  Iterator begin() const { return {first, list}; }
  Iterator end() const { return {past_last, list}; }
  bool empty() const { return first >= past_last; }
  bool contains(std::int32_t index) const {
    if (list != nullptr) return std::binary_search(list + first, list + past_last, index);
    return index >= first && index < past_last;
  }
  Index size() const { return empty() ? 0 : past_last - first; }
  /// The tile at a position of [first, past_last).
  std::int32_t at(std::int32_t position) const {
    return list == nullptr ? position : list[position];
  }
  /// The position of the first tile that is not before `index`.
  std::int32_t position_of(std::int32_t index) const;
  /// The tiles of this range that are within the plain range `bounds`.
  TileRange within(const TileRange& bounds) const;
};

/// Rows and columns of a tile or tensor, in elements.
struct Shape {
  Index rows = 0;
  Index cols = 0;
  Index elems() const { return rows * cols; }
  bool operator==(const Shape&) const = default;
};

class TileGrid {
 public:
  /// `d_cols`: the number of columns of a tile of Q, K, V, O or their gradients; 0: all d.
  /// Otherwise these tiles are divided into d_parts(), numbered by Tile::part. With `shares`,
  /// Tile::part is an agent's share of a tile (TileShare).
  TileGrid(const AttentionProblem& problem, const Tiling& tiling, const ScheduleOptions& options,
           Index d_cols = 0, Index shares = 0);

  const AttentionProblem& problem() const { return problem_; }
  /// Sets the batch entry whose key length hides keys; it is 0 at first.
  void set_batch(Index b);
  Index batch() const { return batch_; }
  const Tiling& tiling() const { return tiling_; }
  const ScheduleOptions& options() const { return options_; }
  std::int32_t Tr() const { return Tr_; }
  std::int32_t Tc() const { return Tc_; }
  Index d_parts() const { return ceil_div(problem_.d, d_cols_); }
  /// The number of equal shares into which agents divide the queries or the keys of a tile; 1
  /// without agents.
  Index shares() const { return std::max<Index>(shares_, 1); }
  /// The share of a whole tile that this tile is.
  TileShare share_of(const Tile& tile) const {
    return shares_ > 0 ? TileShare::from_part(tile.part) : TileShare{};
  }

  TileRange row_tiles() const { return {0, Tr_}; }
  TileRange column_tiles() const { return {0, Tc_}; }
  /// The column tiles in which row tile i has a visible key (with ScheduleVariant::visit_hidden,
  /// also the others): those that the mask's band crosses and the block mask keeps. With packed
  /// sequences, whose bands leave gaps, the tiles from the first band to the last: some of these
  /// may be empty().
  TileRange column_tiles_for(std::int32_t i) const;
  /// Row tiles in which a query sees a key of column tile j, with the same exception.
  TileRange row_tiles_for(std::int32_t j) const;
  /// The same, ignoring the block mask.
  TileRange row_tiles_in_band(std::int32_t j) const;
  /// Whether no key of tile (i, j) is visible although the tile is in the ranges above.
  bool empty(std::int32_t i, std::int32_t j) const { return problem_.is_packed() && is_gap(i, j); }
  /// The first key from which all keys are padding in this batch entry.
  Index key_end() const { return key_end_; }
  /// Whether every key of column tile j is padding in this batch entry.
  bool is_padding(std::int32_t j) const { return col_begin(j) >= key_end_; }
  /// Whether some key is hidden from some query.
  bool hides_keys() const {
    return !problem_.mask.is_none() || problem_.is_packed() || key_end_ < problem_.N_kv;
  }
  /// Whether the mask hides part of tile (i, j), so that its scores must be masked; for the whole
  /// tile, or for the share given by S.
  bool edge(std::int32_t i, std::int32_t j) const { return is_edge(rows_of(Q(i)), keys_of(K(j))); }
  bool edge(const Tile& S) const { return is_edge(rows_of(S), keys_of(S)); }

  /// Whether all row tiles see the same columns, with the same keys hidden.
  bool rows_see_equal_columns() const { return rows_see_equal_columns(problem_); }
  static bool rows_see_equal_columns(const AttentionProblem& problem) {
    return problem.mask.is_none() && !problem.is_packed() && problem.block_mask == nullptr;
  }
  // Equal tiles: every schedule processes them in the same way, and every count of their operations
  // is the same
  /// Number of consecutive positions of `columns`, from `position` on (at least 1), whose tiles
  /// (i, j) are equal.
  Index equal_columns(std::int32_t i, const TileRange& columns, std::int32_t position) const;
  /// The same for the tiles (i, j) of column tile j.
  Index equal_rows(std::int32_t j, const TileRange& rows, std::int32_t position) const;
  /// Number of row tiles, from i on (at least 1), that are equal and whose tiles (i, j) are equal.
  /// For a program that does not check which tiles the mask hides, equal sizes suffice.
  Index equal_whole_rows(std::int32_t i, bool asks_mask) const;
  /// The same for column tiles.
  Index equal_whole_columns(std::int32_t j, bool asks_mask) const;

  Index row_begin(std::int32_t i) const { return i * tiling_.Br; }
  Index col_begin(std::int32_t j) const { return j == kAllColumns ? 0 : j * tiling_.Bc; }
  /// The valid query rows of row tile i, and the valid key columns of column tile j.
  Index rows_of(std::int32_t i) const { return i + 1 < Tr_ ? tiling_.Br : last_rows_; }
  Index cols_of(std::int32_t j) const {
    if (j == kAllColumns) return problem_.N_kv;
    return j + 1 < Tc_ ? tiling_.Bc : last_cols_;
  }

  Index col_end(std::int32_t j) const { return col_begin(j) + cols_of(j); }

  /// The valid query rows of a tile of queries, counted within the head; of a share, only its own.
  KeyRange rows_of(const Tile& tile) const;
  /// The same for the keys of a tile of keys.
  KeyRange keys_of(const Tile& tile) const;
  /// The tile held in this tile's slot: the whole one if this is a share within it.
  Tile held_by_slot(Tile tile) const {
    if (share_of(tile).in_whole_tile) tile.part = 0;
    return tile;
  }

  /// Valid extent of a tile: [rows, d] for Q, O and [cols, d] for K, V, or a part of d; [rows,
  /// cols] for S, P; [rows, 1] for row statistics.
  Shape shape(const Tile& tile) const;
  /// Extent of a slot large enough for any tile of the tensor: Br and Bc, or the rows or keys of a
  /// share.
  Shape slot_shape(const Tile& tile) const;
  /// First row and column of the tile in its tensor.
  Shape origin(const Tile& tile) const;

  // Tiles on chip, in the first slot of their tensor
  Tile Q(std::int32_t i) const { return {Tensor::Q, 1, false, 0, i, 0}; }
  Tile K(std::int32_t j) const { return {Tensor::K, 1, false, 0, 0, j}; }
  Tile V(std::int32_t j) const { return {Tensor::V, 1, false, 0, 0, j}; }
  Tile O(std::int32_t i) const { return {Tensor::O, 1, false, 0, i, 0}; }
  Tile S(std::int32_t i, std::int32_t j) const { return {Tensor::S, 1, false, 0, i, j}; }
  Tile P(std::int32_t i, std::int32_t j) const { return {Tensor::P, 1, false, 0, i, j}; }
  Tile row_tile(Tensor tensor, std::int32_t i) const { return {tensor, 1, false, 0, i, 0}; }
  Tile m(std::int32_t i) const { return row_tile(Tensor::m, i); }
  Tile l(std::int32_t i) const { return row_tile(Tensor::l, i); }
  Tile alpha(std::int32_t i) const { return row_tile(Tensor::alpha, i); }
  Tile LSE(std::int32_t i) const { return row_tile(Tensor::LSE, i); }
  Tile dO(std::int32_t i) const { return row_tile(Tensor::dO, i); }
  Tile dQ(std::int32_t i) const { return row_tile(Tensor::dQ, i); }
  Tile D(std::int32_t i) const { return row_tile(Tensor::D, i); }
  Tile dK(std::int32_t j) const { return {Tensor::dK, 1, false, 0, 0, j}; }
  Tile dV(std::int32_t j) const { return {Tensor::dV, 1, false, 0, 0, j}; }
  Tile dP(std::int32_t i, std::int32_t j) const { return {Tensor::dP, 1, false, 0, i, j}; }
  Tile dS(std::int32_t i, std::int32_t j) const { return {Tensor::dS, 1, false, 0, i, j}; }
  Tile P_drop(std::int32_t i, std::int32_t j) const { return {Tensor::P_drop, 1, false, 0, i, j}; }
  Tile Z(std::int32_t i, std::int32_t j) const { return {Tensor::Z, 1, false, 0, i, j}; }
  Tile T(std::int32_t i, std::int32_t j) const { return {Tensor::T, 1, false, 0, i, j}; }

 private:
  TileRange column_tiles_in_band(std::int32_t i) const;
  /// The tiles of `size` rows or columns that cover a range.
  static TileRange tiles_of(const KeyRange& range, Index size) {
    if (range.size() == 0) return {};
    return {static_cast<std::int32_t>(range.begin / size),
            static_cast<std::int32_t>(ceil_div(range.end, size))};
  }
  bool is_edge(const KeyRange& rows, const KeyRange& keys) const;
  /// The rows of a share of row tile i, or the keys of a share of column tile j; possibly none.
  KeyRange rows_of_share(std::int32_t i, Index number) const;
  KeyRange keys_of_share(std::int32_t j, Index number) const;
  bool is_gap(std::int32_t i, std::int32_t j) const;
  /// The first tile after column tile j, in row tile i, that may begin or end a gap.
  std::int32_t next_gap_edge(std::int32_t i, std::int32_t j) const;
  /// Whether all keys of column tile j belong to one sequence.
  bool in_one_sequence(std::int32_t j) const;
  TileRange packed_column_tiles_for(std::int32_t i) const;
  TileRange packed_row_tiles_for(std::int32_t j) const;

  // Ends of runs of equal sizes; whether whole row or column tiles are equal, given equal sizes
  std::int32_t end_of_equal_rows(std::int32_t i) const;
  std::int32_t end_of_equal_columns(std::int32_t j) const;
  bool same_row(std::int32_t a, std::int32_t b) const;
  bool same_column(std::int32_t a, std::int32_t b) const;

  AttentionProblem problem_;
  Tiling tiling_;
  ScheduleOptions options_;
  Index d_cols_;
  Index shares_;  ///< 0: no agents
  std::int32_t Tr_;
  std::int32_t Tc_;
  Index last_rows_;
  Index last_cols_;
  Index batch_ = 0;
  Index key_end_;  ///< later keys are padding in this batch entry
};

/// Whole tensor of one head (dK_heads, dV_heads: of one KV head's group). `splits` is
/// ScheduleOptions's; only O_split and LSE_split depend on it.
Shape tensor_shape(Tensor tensor, const AttentionProblem& problem, Index splits = 1);

/// Bytes of one element of the tensor in HBM, by its ElementType.
Index element_bytes(Tensor tensor, DType dtype);

/// The first number of [first, past_last) for which `holds` is false, or `past_last` if there is
/// none. `holds` must be false for every number after the first for which it is false. Replaces
/// std::ranges::partition_point over std::views::iota, which clang 14 (`make fuzz`, `make lint`)
/// rejects in libstdc++.
template <typename Number, typename Holds>
Number first_without(Number first, Number past_last, Holds holds) {
  while (first < past_last) {
    const Number middle = first + (past_last - first) / 2;
    if (holds(middle)) {
      first = middle + 1;
    } else {
      past_last = middle;
    }
  }
  return first;
}

}  // namespace attnscope
