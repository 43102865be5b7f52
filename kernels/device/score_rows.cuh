/// The scores of a row tile, in the forward pass: which keys its rows see, and what the problem's
/// ScoreFeatures do to a score.
///
/// Under no mask or a causal one, what a row sees follows from its index. With key ranges it is
/// worked out once and kept in shared memory; a warp asks there whether any of its rows has a
/// hidden key before it hides some.
#pragma once

#include "kernels/device/knobs.cuh"
#include "kernels/device/place.cuh"
#include "kernels/device/score_steps.cuh"
#include "kernels/device/seen_keys.cuh"
#include "kernels/score_shared.h"

namespace attnscope::kernels::device {

/// What is not a parameter of the kernel stays in shared memory where the features take registers
/// of their own: they are short in the loop.
template <ScoreFeatures kFeatures, int Br, int Bc>
class ScoreRows {
  /// A lane draws for this many pieces of eight keys at a time, four bits each.
  static constexpr int kDrawn = static_cast<int>(score_keys_drawn(Bc));
  static constexpr int kDrawings = Bc / 8 / kDrawn;

  struct Place {
    int first_row, rows, head, batch;
  };
  static_assert(sizeof(Place) == kScorePlaceBytes && sizeof(SeenKeys) == kSeenKeysBytes);
  /// What dropout keeps of a row: four bits for each second four keys, from 0 or from 4 on.
  using Kept = uint32_t[2][kDrawings];
  static constexpr int kKeptOffset =
      sizeof(Place) + (kFeatures.key_ranges ? Br * sizeof(SeenKeys) : 0);

 public:
  static constexpr int kSharedBytes =
      static_cast<int>(score_rows_shared_bytes(kFeatures, {Br, Bc}));

  /// Of row tile i, whose first `rows` rows exist.
  template <typename Parameters>
  __device__ ScoreRows(const Parameters& parameters, int i, int rows, int head, int batch,
                       unsigned char* shared)
      : shape_(parameters.shape),
        scores_(parameters.scores),
        shared_(shared),
        first_row_(i * Br),
        past_last_((shape_.keys_end(first_row_ + rows - 1) + Bc - 1) / Bc),
        unmasked_keys_(shape_.keys_end(first_row_)) {
    if constexpr (kFeatures.depend_on_place()) {
      if (thread_index() == 0) place() = {i * Br, rows, head, batch};
      if constexpr (kFeatures.key_ranges) {
        for (int row = thread_index(); row < Br; row += static_cast<int>(blockDim.x)) {
          seen()[row] = seen_by_row(shape_, scores_, batch, i * Br + row);
        }
      }
      __syncthreads();
    }
  }

  /// Of one warp (Br = 16), whose rows change: note_rows() says to which.
  template <typename Parameters>
  __device__ ScoreRows(const Parameters& parameters, int head, int batch, unsigned char* shared)
      : shape_(parameters.shape), scores_(parameters.scores), shared_(shared) {
    if constexpr (kFeatures.depend_on_place()) {
      if (thread_index() % 32 == 0) place() = {0, Br, head, batch};
    }
  }
  /// The warp's lanes meet before it and after it.
  __device__ void note_rows(int first_row, int lane) const {
    static_assert(Br <= 32);
    if constexpr (kFeatures.depend_on_place()) {
      if (lane == 0) place().first_row = first_row;
    }
    if constexpr (kFeatures.key_ranges) {
      if (lane < Br) seen()[lane] = seen_by_row(shape_, scores_, place().batch, first_row + lane);
    }
  }

  /// Column tiles that some row sees. Both ends of the keys that a row sees rise with the row.
  __device__ int first_tile() const {
    if constexpr (kFeatures.key_ranges) return seen()[0].begin / Bc;
    return 0;
  }
  __device__ int past_last_tile() const {
    if constexpr (!kFeatures.key_ranges) return past_last_;
    const int end = seen()[place().rows - 1].end;
    return end > seen()[0].begin ? (end + Bc - 1) / Bc : first_tile();
  }
  /// Keys that every row sees where there are no key ranges.
  __device__ int unmasked_keys() const { return unmasked_keys_; }
  __device__ int first_row() const { return first_row_; }

  __device__ int keys_to_load(int j) const {
    if constexpr (kFeatures.key_ranges) return keys_of_tile<Bc>(shape_, scores_, place().batch, j);
    return min(Bc, shape_.N_kv - j * Bc);
  }

  /// Soft cap, ALiBi, mask of a warp's scores in column tile j, whose rows are those of the tile
  /// from `warp_row` on; tells whether there was something to mask.
  template <int kRowPieces>
  __device__ bool shape_scores(Accumulator<kRowPieces, Bc>& S, int j, int warp_row,
                               int lane) const {
    return shape_part(S, first_row_ + warp_row, j * Bc, (j + 1) * Bc > unmasked_keys_, warp_row,
                      lane);
  }
  /// The same of scores that begin at `first_row` and `first_key`. Without key ranges, they are
  /// masked where `crosses_edge`.
  template <int kRowPieces>
  __device__ bool shape_part(Accumulator<kRowPieces, Bc>& S, int first_row, int first_key,
                             bool crosses_edge, int warp_row, int lane) const {
    if constexpr (kFeatures.soft_cap) cap(S);
    if constexpr (kFeatures.alibi) {
      add_bias(S, first_row + lane / 4, warp_row + lane / 4, first_key + lane % 4 * 2);
    }
    if constexpr (kFeatures.key_ranges) {
      const SeenKeys* const rows = seen() + warp_row;
      const bool hides = hides_keys(rows, 16 * kRowPieces, first_key, Bc, lane);
      if (hides || knob::kMaskAll) mask(S, rows, first_key + lane % 4 * 2, lane);
      return hides || knob::kMaskAll;
    }
    if (!crosses_edge && !knob::kMaskAll) return false;
    mask_scores<kRowPieces, Bc>(S, first_row + shape_.diagonal_offset + 1 - first_key,
                                shape_.N_kv - first_key, lane);
    return true;
  }

  /// Draws for column tile j, before S takes the registers. Of the two rows that neighbouring lanes
  /// share, an even lane draws for the upper and an odd one for the lower.
  template <int kRowPieces>
  __device__ void draw(int j, int warp_row, int lane) const {
    if constexpr (!kFeatures.dropout) return;
#pragma unroll
    for (int r = 0; r < kRowPieces; ++r) {
      const int row = warp_row + r * 16 + lane % 2 * 8 + lane / 4;
#pragma unroll
      for (int drawing = 0; drawing < kDrawings; ++drawing) {
        uint32_t kept_now = 0;
#pragma unroll 4
        for (int n = 0; n < kDrawn; ++n) {
          const int quad = (j * Bc + (drawing * kDrawn + n) * 8) / 4 + lane % 4 / 2;
          kept_now |= kept_keys(scores_, place().batch, place().head, place().first_row + row, quad)
                      << 4 * n;
        }
        kept()[row][lane % 4 / 2][drawing] = kept_now;
      }
    }
    __syncwarp();  // Barrier: what every lane has drawn can be read.
  }

  /// Makes dropped elements of P zero.
  template <int kRowPieces>
  __device__ void drop(Accumulator<kRowPieces, Bc>& P, int warp_row, int lane) const {
    if constexpr (!kFeatures.dropout) return;
#pragma unroll
    for (int row = 0; row < 2 * kRowPieces; ++row) {
#pragma unroll
      for (int drawing = 0; drawing < kDrawings; ++drawing) {
        const uint32_t kept_here =
            kept()[warp_row + row * 8 + lane / 4][lane % 4 / 2][drawing] >> lane % 2 * 2;
#pragma unroll
        for (int n = 0; n < kDrawn; ++n) {
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            float& p = P[row / 2][drawing * kDrawn + n][row % 2 * 2 + c];
            if ((kept_here >> (4 * n + c)) % 2 == 0) p = 0.0f;
          }
        }
      }
    }
  }

  /// What P V lacks beside the row sums.
  __device__ float output_scale() const {
    return kFeatures.dropout ? scores_.dropout_scale : 1.0f;
  }

 private:
  __device__ Place& place() const {
    return *reinterpret_cast<Place*>(shared_);
  }
  __device__ SeenKeys* seen() const {
    return reinterpret_cast<SeenKeys*>(shared_ + sizeof(Place));
  }
  __device__ Kept* kept() const {
    return reinterpret_cast<Kept*>(shared_ + kKeptOffset);
  }

  template <int kRowPieces>
  __device__ void cap(Accumulator<kRowPieces, Bc>& S) const {
#pragma unroll
    for (int r = 0; r < kRowPieces; ++r) {
#pragma unroll
      for (int n = 0; n < Bc / 8; ++n) {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          S[r][n][c] = scores_.soft_cap * tanh_fast(S[r][n][c] * scores_.inverse_soft_cap);
        }
      }
    }
  }

  /// `row`, `tile_row` and `key` are those of the lane's first element.
  template <int kRowPieces>
  __device__ void add_bias(Accumulator<kRowPieces, Bc>& S, int row, int tile_row, int key) const {
    const float slope = alibi_slope(scores_, place().head);
#pragma unroll
    for (int piece = 0; piece < 2 * kRowPieces; ++piece) {
      const int aligned = kFeatures.key_ranges ? seen()[tile_row + piece * 8].aligned
                                               : aligned_key(shape_, row + piece * 8);
      const auto distance = static_cast<float>(key - aligned);
#pragma unroll
      for (int n = 0; n < Bc / 8; ++n) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          S[piece / 2][n][piece % 2 * 2 + c] +=
              alibi_bias(slope, distance + static_cast<float>(n * 8 + c));
        }
      }
    }
  }

  /// `first_key` is that of the lane's first element.
  template <int kRowPieces>
  __device__ static void mask(Accumulator<kRowPieces, Bc>& S, const SeenKeys* rows, int first_key,
                              int lane) {
#pragma unroll
    for (int row = 0; row < 2 * kRowPieces; ++row) {
      const SeenKeys& seen = rows[row * 8 + lane / 4];
      const int begin = seen.begin - first_key;
      const int end = seen.end - first_key;
#pragma unroll
      for (int n = 0; n < Bc / 8; ++n) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const int key = n * 8 + c;
          if (key < begin || key >= end) S[row / 2][n][row % 2 * 2 + c] = kMinusInfinity;
        }
      }
    }
  }

  const ForwardShape& shape_;
  const ScoreParameters& scores_;
  unsigned char* shared_;
  // Of a row tile; only what the features use takes registers
  int first_row_ = 0;
  int past_last_ = 0;
  int unmasked_keys_ = 0;
};

}  // namespace attnscope::kernels::device
