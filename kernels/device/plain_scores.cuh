/// The scores of softmax attention under no mask or a causal one, as a policy of flash2's kernels:
/// nothing happens to a score but that it may be hidden. Its counterpart is ScoreFunctions of
/// score_functions.cuh; where a member does nothing here, see scored_rows.cuh and
/// scored_columns.cuh what it is for.
#pragma once

#include "kernels/device/backward_parts.cuh"
#include "kernels/device/visited_tiles.cuh"

namespace attnscope::kernels::device {

/// Of row tile i, in the forward pass.
template <int Br, int Bc>
class PlainRows {
 public:
  static constexpr int kSharedBytes = 0;

  __device__ PlainRows(const ForwardParameters& parameters, int i, int rows, int /*head*/,
                       int /*batch*/, unsigned char* /*shared*/)
      : shape_(parameters.shape),
        first_row_(i * Br),
        past_last_((shape_.keys_end(first_row_ + rows - 1) + Bc - 1) / Bc),
        unmasked_columns_(shape_.keys_end(first_row_)) {}

  __device__ int first_tile() const { return 0; }
  __device__ int past_last_tile() const { return past_last_; }
  __device__ int keys_to_load(const ForwardShape& shape, int j) const {
    return min(Bc, shape.N_kv - j * Bc);
  }

  template <int kRowPieces>
  __device__ bool shape_scores(Accumulator<kRowPieces, Bc>& S, int j, int warp_row,
                               int lane) const {
    if ((j + 1) * Bc <= unmasked_columns_) return false;
    const int first_row_end = first_row_ + warp_row + shape_.diagonal_offset + 1 - j * Bc;
    mask_scores<kRowPieces, Bc>(S, first_row_end, shape_.N_kv - j * Bc, lane);
    return true;
  }
  template <int kRowPieces>
  __device__ void draw(int, int, int) const {}
  template <int kRowPieces>
  __device__ void drop(Accumulator<kRowPieces, Bc>&, int, int) const {}
  __device__ float output_scale() const { return 1.0f; }

 private:
  const ForwardShape& shape_;
  int first_row_;
  int past_last_;
  int unmasked_columns_;  ///< seen by every row of the tile
};

/// Of column tile j, in the backward pass.
template <int Br, int Bc>
class PlainColumns {
 public:
  static constexpr int kSharedBytes = 0;

  __device__ PlainColumns(const BackwardParameters& parameters, int j, int keys, int /*head*/,
                          int /*batch*/, unsigned char* /*shared*/)
      : shape_(parameters.shape), j_(j), keys_(keys) {}

  __device__ int first_tile() const {
    const int first_row = max(0, j_ * Bc - shape_.diagonal_offset);  // that sees column tile j
    return first_row < shape_.N ? first_row / Br : past_last_tile();
  }
  __device__ int past_last_tile() const { return (shape_.N + Br - 1) / Br; }
  __device__ int keys_to_load() const { return keys_; }
  __device__ void note_row_tile(int, int) const {}

  template <typename Part>
  __device__ bool shape_scores(typename Part::Registers& S, const SharedTile<Bc, Br>& /*slopes*/,
                               int i, int /*stage*/, int warp, int lane) const {
    if (shape_.keys_end(i * Br) >= (j_ + 1) * Bc) return false;
    const int key = j_ * Bc + Part::first_row(warp);
    mask_scores_transposed<Part::kRowPieces, Part::kPartColumns>(
        S, key - shape_.diagonal_offset - i * Br - Part::first_column(warp), shape_.N_kv - key,
        lane);
    return true;
  }
  template <typename Part>
  __device__ void drop(typename Part::Registers&, int, int, int) const {}
  template <typename Part>
  __device__ void apply_slopes(typename Part::Registers&, const SharedTile<Bc, Br>&, int,
                               int) const {}

  __device__ static float kept(float P) { return P; }
  __device__ float value_gradient_scale() const { return 1.0f; }
  __device__ float gradient(float P, float dP, float D) const { return P * (dP - D); }

 private:
  const ForwardShape& shape_;
  int j_;
  int keys_;
};

struct PlainScores {
  template <int Br, int Bc>
  using Rows = PlainRows<Br, Bc>;
  template <int Br, int Bc, int kWarps>
  using Columns = PlainColumns<Br, Bc>;
  static constexpr Visits kVisits = Visits::all;
};

}  // namespace attnscope::kernels::device
