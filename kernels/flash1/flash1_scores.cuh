/// Which tiles flash1's loops visit, and what becomes of the scores, as a policy of its two
/// kernels: PlainFlash1 knows no mask and a causal one, ScoredFlash1 windows, key lengths, packed
/// sequences, soft-capping, ALiBi and dropout as well. Where a member does nothing in the one, see
/// the other.
#pragma once

#include "kernels/device/plain_scores.cuh"
#include "kernels/device/scored_columns.cuh"
#include "kernels/device/scored_rows.cuh"
#include "kernels/flash1/flash1_backward_shared.h"
#include "kernels/flash1/flash1_forward_shared.h"
#include "kernels/flash1/flash1_parameters.h"

namespace attnscope::kernels {

/// Of one head. A warp has 16 rows of each row tile that passes by.
template <int Br, int Bc>
class PlainFlash1Rows {
 public:
  __device__ PlainFlash1Rows(const Flash1Parameters& parameters, int /*head*/, int /*batch*/,
                             unsigned char* /*shared*/)
      : shape_(parameters.shape), Tr_((shape_.N + Br - 1) / Br) {}

  /// Column tiles that any row sees: the outer loop.
  __device__ int first_column_tile() const { return 0; }
  __device__ int past_last_column_tile() const {
    return (shape_.keys_end(shape_.N - 1) + Bc - 1) / Bc;
  }
  /// Positions of the row tiles that see column tile j, and the tile at a position: the inner loop.
  __device__ int first_position(int j) const {
    return max(0, j * Bc - shape_.diagonal_offset) / Br;
  }
  __device__ int past_last_position(int /*j*/) const { return Tr_; }
  __device__ static int row_tile(int position) { return position; }
  /// No row tile sees a column tile of the outer loop.
  __device__ static bool is_unseen(int /*first*/, int /*past*/) { return false; }
  __device__ int keys_to_load(int j) const { return min(Bc, shape_.N_kv - j * Bc); }

  /// The warp's rows from `first_row` on are next.
  __device__ void note_rows(int /*first_row*/, int /*lane*/) const {}
  __device__ void draw(int /*j*/, int /*lane*/) const {}
  /// Of the scores of row tile i, of which the warp has the rows from `first_row` on; tells whether
  /// there was something to mask.
  __device__ bool shape_scores(device::Accumulator<1, Bc>& S, int i, int j, int first_row, int keys,
                               int lane) const {
    if ((j + 1) * Bc <= shape_.keys_end(i * Br)) return false;
    device::mask_scores<1, Bc>(S, first_row + shape_.diagonal_offset + 1 - j * Bc, keys, lane);
    return true;
  }
  __device__ void drop(device::Accumulator<1, Bc>& /*P*/, int /*lane*/) const {}
  /// What P V lacks beside the row sums.
  __device__ float output_scale() const { return 1.0f; }

 private:
  const ForwardShape& shape_;
  int Tr_;
};

/// Positions of the row tiles that see column tile j: in the lists of packed sequences
/// (kernels/block_sparse/tile_lists.h), or, without lists, the tiles themselves.
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

template <int Br, int Bc>
class ScoredFlash1Rows {
  using Rows = device::ScoredRows<16, Bc>;  // a warp's

 public:
  static_assert(Br / 16 * Rows::kSharedBytes == flash1_scored_rows_shared_bytes({Br, Bc}));

  __device__ ScoredFlash1Rows(const ScoredFlash1Parameters& parameters, int head, int batch,
                              unsigned char* shared)
      : parameters_(parameters),
        batch_(batch),
        rows_(parameters, head, batch, shared + device::thread_index() / 32 * Rows::kSharedBytes) {}

  /// Both ends of the keys that a row sees rise with the row.
  __device__ int first_column_tile() const { return seen(0).begin / Bc; }
  __device__ int past_last_column_tile() const {
    const int end = seen(parameters_.shape.N - 1).end;
    return end > seen(0).begin ? (end + Bc - 1) / Bc : 0;
  }
  __device__ int first_position(int j) const {
    const int first = device::first_row_that_sees(parameters_.shape, parameters_.scores, j * Bc);
    return positions().first(j, first / Br);
  }
  __device__ int past_last_position(int j) const {
    const int* const lengths = parameters_.scores.key_lengths;
    const int keys = lengths == nullptr ? parameters_.shape.N_kv : __ldg(lengths + batch_);
    const int past = device::past_last_row_that_sees(parameters_.shape, parameters_.scores,
                                                     min((j + 1) * Bc, keys));
    return positions().past_last(j, (past + Br - 1) / Br);
  }
  __device__ int row_tile(int position) const { return positions().row_tile(position); }
  /// Keys of a packed sequence without queries, or between two sequences' windows.
  __device__ static bool is_unseen(int first, int past) { return first >= past; }

  __device__ int keys_to_load(int j) const {
    return device::keys_of_tile<Bc>(parameters_.shape, parameters_.scores, batch_, j);
  }

  __device__ void note_rows(int first_row, int lane) const {
    rows_.note_rows(parameters_.shape, batch_, first_row, lane);
  }
  __device__ void draw(int j, int lane) const { rows_.template draw<1>(j, 0, lane); }
  __device__ bool shape_scores(device::Accumulator<1, Bc>& S, int /*i*/, int j, int /*first_row*/,
                               int /*keys*/, int lane) const {
    return rows_.template shape_scores<1>(S, j, 0, lane);
  }
  __device__ void drop(device::Accumulator<1, Bc>& P, int lane) const {
    rows_.template drop<1>(P, 0, lane);
  }
  __device__ float output_scale() const { return rows_.output_scale(); }

 private:
  __device__ RowTilePositions positions() const { return {parameters_.row_tiles}; }
  __device__ SeenKeys seen(int row) const {
    return seen_keys(parameters_.shape, parameters_.scores, batch_, row);
  }

  const ScoredFlash1Parameters& parameters_;
  int batch_;
  Rows rows_;
};

/// Of column tile j, in the backward pass: flash2's.
template <int Br, int Bc>
class PlainFlash1Columns : public device::PlainColumns<Br, Bc> {
 public:
  __device__ PlainFlash1Columns(const BackwardParameters& parameters, int j, int keys, int head,
                                int batch, unsigned char* shared)
      : device::PlainColumns<Br, Bc>(parameters, j, keys, head, batch, shared),
        shape_(parameters.shape),
        j_(j) {}

  /// Of Tr row tiles, those that see column tile j.
  __device__ int first_position(int Tr) const {
    const int first_row = max(0, j_ * Bc - shape_.diagonal_offset);
    return first_row < shape_.N ? first_row / Br : Tr;
  }
  __device__ int past_last_position(int Tr) const { return Tr; }
  __device__ static int row_tile(int position) { return position; }

  /// Of a warp's part of row tile i, which begins at `part_key` and `part_query`.
  template <typename Part>
  __device__ bool shape_scores(typename Part::Registers& S,
                               const device::SharedTile<Bc, Br>& /*slopes*/, int i, int part_key,
                               int part_query, int lane) const {
    if (shape_.keys_end(i * Br) >= (j_ + 1) * Bc) return false;
    const int key = j_ * Bc + part_key;
    device::mask_scores_transposed<Part::kRowPieces, Part::kPartColumns>(
        S, key - shape_.diagonal_offset - i * Br - part_query, shape_.N_kv - key, lane);
    return true;
  }
  template <typename Part>
  __device__ void drop(typename Part::Registers& /*P*/, int /*lane*/) const {}
  template <typename Part>
  __device__ void apply_slopes(typename Part::Registers& /*dS*/,
                               const device::SharedTile<Bc, Br>& /*slopes*/, int /*lane*/) const {}

 private:
  const ForwardShape& shape_;
  int j_;
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

/// In one stage, since each step has four barriers, and where possible in half words, because
/// shared memory is scarce.
template <int Br, int Bc, int kWarps>
using Flash1DrawnColumns =
    device::ScoredColumns<Br, Bc, kWarps, 1,
                          typename WordOf<flash1_drawn_bytes({Br, Bc}, kWarps)>::Type>;

template <int Br, int Bc, int kWarps>
class ScoredFlash1Columns : public Flash1DrawnColumns<Br, Bc, kWarps> {
  using Base = Flash1DrawnColumns<Br, Bc, kWarps>;
  static_assert(Base::kSharedBytes == flash1_scored_columns_shared_bytes({Br, Bc}, kWarps));

 public:
  __device__ ScoredFlash1Columns(const BackwardParameters& parameters, int j, int keys, int head,
                                 int batch, unsigned char* shared)
      : Base(parameters, j, keys, head, batch, shared), lists_(parameters.row_tiles), j_(j) {}

  __device__ int first_position(int /*Tr*/) const {
    return positions().first(j_, Base::first_tile());
  }
  __device__ int past_last_position(int /*Tr*/) const {
    return positions().past_last(j_, Base::past_last_tile());
  }
  __device__ int row_tile(int position) const { return positions().row_tile(position); }

  template <typename Part>
  __device__ bool shape_scores(typename Part::Registers& S,
                               const device::SharedTile<Bc, Br>& slopes, int i, int /*part_key*/,
                               int /*part_query*/, int lane) const {
    return Base::template shape_scores<Part>(S, slopes, i, 0, device::thread_index() / 32, lane);
  }
  template <typename Part>
  __device__ void drop(typename Part::Registers& P, int lane) const {
    Base::template drop<Part>(P, 0, 0, lane);
  }
  template <typename Part>
  __device__ void apply_slopes(typename Part::Registers& dS,
                               const device::SharedTile<Bc, Br>& slopes, int lane) const {
    Base::template apply_slopes<Part>(dS, slopes, device::thread_index() / 32, lane);
  }

 private:
  __device__ RowTilePositions positions() const { return {lists_}; }

  const int* lists_;
  int j_;
};

struct PlainFlash1 {
  using Parameters = Flash1Parameters;
  template <int Br, int Bc, int /*kWarps*/>
  using Columns = PlainFlash1Columns<Br, Bc>;
  template <int Br, int Bc>
  using Rows = PlainFlash1Rows<Br, Bc>;
};
struct ScoredFlash1 {
  using Parameters = ScoredFlash1Parameters;
  template <int Br, int Bc, int kWarps>
  using Columns = ScoredFlash1Columns<Br, Bc, kWarps>;
  template <int Br, int Bc>
  using Rows = ScoredFlash1Rows<Br, Bc>;
};

}  // namespace attnscope::kernels
