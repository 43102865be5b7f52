/// The tiles that flash1's loops visit, and the changes that a problem's ScoreFeatures make to the
/// scores.
#pragma once

#include "kernels/device/score_columns.cuh"
#include "kernels/device/score_rows.cuh"
#include "kernels/flash1/flash1_backward_shared.cuh"
#include "kernels/flash1/flash1_forward_shared.cuh"
#include "kernels/flash1/flash1_parameters.cuh"

namespace attnscope::kernels {

/// Positions of the row tiles that see column tile j: in the lists of packed sequences
/// (kernels/tile_lists.h) or, without lists, the indices of the tiles.
struct RowTilePositions {
  const int* lists;

  __device__ int first(int j, int first_tile) const {
    return lists == nullptr ? first_tile : __ldg(lists + j);
  }
  __device__ int past_last(int j, int past_last_tile) const {
    if (lists == nullptr) return past_last_tile;
    int end = __ldg(lists + j);
    while (row_tile(end) >= 0) ++end;
    return end;
  }
  __device__ int row_tile(int position) const {
    return lists == nullptr ? position : __ldg(lists + position);
  }
};

/// The tiles and scores of one head in the forward pass. A warp has 16 rows of each row tile.
template <ScoreFeatures kFeatures, int Br, int Bc>
class Flash1Rows {
  using Rows = device::ScoreRows<kFeatures, 16, Bc>;  // a warp's
  static_assert(Br / 16 * Rows::kSharedBytes ==
                flash1_score_rows_shared_bytes(kFeatures, {Br, Bc}));

 public:
  __device__ Flash1Rows(const Flash1Parameters& parameters, int head, int batch,
                        unsigned char* shared)
      : parameters_(parameters),
        batch_(batch),
        rows_(parameters, head, batch, shared + device::thread_index() / 32 * Rows::kSharedBytes) {}

  /// The column tiles [first, past last) that any row sees: the outer loop. Both ends of a row's
  /// keys increase with the row.
  __device__ int first_column_tile() const {
    if constexpr (kFeatures.key_ranges) return seen(0).begin / Bc;
    return 0;
  }
  __device__ int past_last_column_tile() const {
    const int last_row = shape().N - 1;
    if constexpr (!kFeatures.key_ranges) return (shape().keys_end(last_row) + Bc - 1) / Bc;
    const int end = seen(last_row).end;
    return end > seen(0).begin ? (end + Bc - 1) / Bc : 0;
  }

  /// Positions of the row tiles that see column tile j, and the tile at a position: the inner loop.
  __device__ int first_position(int j) const {
    if constexpr (!kFeatures.key_ranges) return max(0, j * Bc - shape().diagonal_offset) / Br;
    return positions().first(j,
                             device::first_row_that_sees(shape(), parameters_.scores, j * Bc) / Br);
  }
  __device__ int past_last_position(int j) const {
    if constexpr (!kFeatures.key_ranges) return (shape().N + Br - 1) / Br;
    const int* const lengths = parameters_.scores.key_lengths;
    const int keys = lengths == nullptr ? shape().N_kv : __ldg(lengths + batch_);
    const int past =
        device::past_last_row_that_sees(shape(), parameters_.scores, min((j + 1) * Bc, keys));
    return positions().past_last(j, (past + Br - 1) / Br);
  }
  __device__ int row_tile(int position) const { return positions().row_tile(position); }
  /// Whether no row tile sees this column tile of the outer loop: its keys belong to a packed
  /// sequence without queries, or fall between the windows of two sequences.
  __device__ static bool is_unseen(int first, int past) {
    return kFeatures.key_ranges && first >= past;
  }

  __device__ int keys_to_load(int j) const {
    if constexpr (!kFeatures.key_ranges) return min(Bc, shape().N_kv - j * Bc);
    return device::keys_of_tile<Bc>(shape(), parameters_.scores, batch_, j);
  }

  /// Sets the rows that the warp computes next, from `first_row` on.
  __device__ void note_rows(int first_row, int lane) const { rows_.note_rows(first_row, lane); }
  __device__ void draw(int j, int lane) const { rows_.template draw<1>(j, 0, lane); }
  /// Applies soft cap, ALiBi and mask to the scores of row tile i, where the warp's rows begin at
  /// `first_row`; returns whether the mask was applied.
  __device__ bool shape_scores(device::Accumulator<1, Bc>& S, int i, int j, int first_row,
                               int lane) const {
    return rows_.shape_part(S, first_row, j * Bc, (j + 1) * Bc > shape().keys_end(i * Br), 0, lane);
  }
  __device__ void drop(device::Accumulator<1, Bc>& P, int lane) const { rows_.drop(P, 0, lane); }
  __device__ float output_scale() const { return rows_.output_scale(); }

 private:
  __device__ const ForwardShape& shape() const { return parameters_.shape; }
  __device__ RowTilePositions positions() const {
    return {kFeatures.key_ranges ? parameters_.row_tiles : nullptr};
  }
  __device__ SeenKeys seen(int row) const {
    return seen_keys(shape(), parameters_.scores, batch_, row);
  }

  const Flash1Parameters& parameters_;
  int batch_;
  Rows rows_;
};

/// The unsigned integer type of kBytes bytes.
template <int kBytes>
struct WordOf {
  using Type = uint32_t;
};
template <>
struct WordOf<2> {
  using Type = uint16_t;
};

/// One stage suffices, since each step has four barriers. Half-words save shared memory where
/// possible.
template <ScoreFeatures kFeatures, int Br, int Bc, int kWarps>
using Flash1ScoreColumns =
    device::ScoreColumns<kFeatures, Br, Bc, kWarps, 1,
                         typename WordOf<flash1_drawn_bytes({Br, Bc}, kWarps)>::Type>;

/// The scores of column tile j in the backward pass, as in flash2, and the row tiles that see it.
template <ScoreFeatures kFeatures, int Br, int Bc, int kWarps>
class Flash1Columns : public Flash1ScoreColumns<kFeatures, Br, Bc, kWarps> {
  using Base = Flash1ScoreColumns<kFeatures, Br, Bc, kWarps>;
  static_assert(Base::kSharedBytes ==
                flash1_score_columns_shared_bytes(kFeatures, {Br, Bc}, kWarps));

 public:
  __device__ Flash1Columns(const BackwardParameters& parameters, int j, int keys, int head,
                           int batch, unsigned char* shared)
      : Base(parameters, j, keys, head, batch, shared), lists_(parameters.row_tiles), j_(j) {}

  __device__ int first_position() const { return positions().first(j_, Base::first_tile()); }
  __device__ int past_last_position() const {
    return positions().past_last(j_, Base::past_last_tile());
  }
  __device__ int row_tile(int position) const { return positions().row_tile(position); }

 private:
  __device__ RowTilePositions positions() const {
    return {kFeatures.key_ranges ? lists_ : nullptr};
  }

  const int* lists_;
  int j_;
};

}  // namespace attnscope::kernels
