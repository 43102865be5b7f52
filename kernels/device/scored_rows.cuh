/// The forward half of ScoreFunctions (score_functions.cuh): the scores of a row tile.
///
/// Which keys each row of a row tile sees is worked out once and kept in shared memory; a warp asks
/// there whether any of its rows has a hidden key before it hides some.
#pragma once

#include "kernels/device/place.cuh"
#include "kernels/device/score_steps.cuh"
#include "kernels/device/seen_keys.cuh"
#include "kernels/scored_shared.h"

namespace attnscope::kernels::device {

/// Of row tile i, in the forward pass.
template <int Br, int Bc>
class ScoredRows {
 public:
  /// A lane draws for this many pieces of eight keys at a time, four bits each.
  static constexpr int kDrawn = static_cast<int>(scored_keys_drawn(Bc));
  static constexpr int kDrawings = Bc / 8 / kDrawn;

  /// All that is not the kernel's parameters stays here: registers are short in the loop.
  struct Shared {
    SeenKeys seen[Br];
    /// What dropout keeps of each row: four bits for each second four keys, from 0 or from 4 on.
    uint32_t kept[Br][2][kDrawings];
    int first_row, rows, head, batch;
  };
  static constexpr int kSharedBytes = sizeof(Shared);
  static_assert(kSharedBytes == scored_rows_shared_bytes({Br, Bc}));

  template <typename Parameters>
  __device__ ScoredRows(const Parameters& parameters, int i, int rows, int head, int batch,
                        unsigned char* shared)
      : scores_(parameters.scores), tile_(reinterpret_cast<Shared*>(shared)) {
    if (thread_index() == 0) {
      tile_->first_row = i * Br;
      tile_->rows = rows;
      tile_->head = head;
      tile_->batch = batch;
    }
    for (int row = thread_index(); row < Br; row += static_cast<int>(blockDim.x)) {
      tile_->seen[row] = seen_by_row(parameters.shape, scores_, batch, i * Br + row);
    }
    __syncthreads();
  }

  /// Of one warp (Br = 16), whose rows change: note_rows() says to which.
  template <typename Parameters>
  __device__ ScoredRows(const Parameters& parameters, int head, int batch, unsigned char* shared)
      : scores_(parameters.scores), tile_(reinterpret_cast<Shared*>(shared)) {
    if (thread_index() % 32 != 0) return;
    tile_->head = head;
    tile_->batch = batch;
  }
  /// The warp's lanes meet before it and after it.
  __device__ void note_rows(const ForwardShape& shape, int batch, int first_row, int lane) const {
    static_assert(Br <= 32);
    if (lane == 0) tile_->first_row = first_row;
    if (lane < Br) tile_->seen[lane] = seen_by_row(shape, scores_, batch, first_row + lane);
  }

  /// Both ends of the keys that a row sees rise with the row.
  __device__ int first_tile() const { return tile_->seen[0].begin / Bc; }
  __device__ int past_last_tile() const {
    const int end = tile_->seen[tile_->rows - 1].end;
    return end > tile_->seen[0].begin ? (end + Bc - 1) / Bc : first_tile();
  }

  __device__ int keys_to_load(const ForwardShape& shape, int j) const {
    return keys_of_tile<Bc>(shape, scores_, tile_->batch, j);
  }

  /// Soft cap, ALiBi, mask; tells whether there was something to mask.
  template <int kRowPieces>
  __device__ bool shape_scores(Accumulator<kRowPieces, Bc>& S, int j, int warp_row,
                               int lane) const {
    const SeenKeys* const rows = tile_->seen + warp_row;
    if (scores_.soft_cap > 0.0f) cap(S);
    if (scores_.alibi_slopes != nullptr) add_bias(S, rows, j * Bc + lane % 4 * 2, lane);
    const bool hides = hides_keys(rows, 16 * kRowPieces, j * Bc, Bc, lane);
    if (hides) mask(S, rows, j * Bc + lane % 4 * 2, lane);
    return hides;
  }

  /// Draws for column tile j, before S takes the registers. Of the two rows that neighbouring lanes
  /// share, an even lane draws for the upper and an odd one for the lower.
  template <int kRowPieces>
  __device__ void draw(int j, int warp_row, int lane) const {
    if (!scores_.drops) return;
#pragma unroll
    for (int r = 0; r < kRowPieces; ++r) {
      const int row = warp_row + r * 16 + lane % 2 * 8 + lane / 4;
#pragma unroll
      for (int drawing = 0; drawing < kDrawings; ++drawing) {
        uint32_t kept = 0;
#pragma unroll 4
        for (int n = 0; n < kDrawn; ++n) {
          const int quad = (j * Bc + (drawing * kDrawn + n) * 8) / 4 + lane % 4 / 2;
          kept |= kept_keys(scores_, tile_->batch, tile_->head, tile_->first_row + row, quad)
                  << 4 * n;
        }
        tile_->kept[row][lane % 4 / 2][drawing] = kept;
      }
    }
    __syncwarp();  // Barrier: what every lane has drawn can be read.
  }

  /// Makes dropped elements of P zero.
  template <int kRowPieces>
  __device__ void drop(Accumulator<kRowPieces, Bc>& P, int warp_row, int lane) const {
    if (!scores_.drops) return;
#pragma unroll
    for (int row = 0; row < 2 * kRowPieces; ++row) {
#pragma unroll
      for (int drawing = 0; drawing < kDrawings; ++drawing) {
        const uint32_t kept =
            tile_->kept[warp_row + row * 8 + lane / 4][lane % 4 / 2][drawing] >> lane % 2 * 2;
#pragma unroll
        for (int n = 0; n < kDrawn; ++n) {
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            float& p = P[row / 2][drawing * kDrawn + n][row % 2 * 2 + c];
            if ((kept >> (4 * n + c)) % 2 == 0) p = 0.0f;
          }
        }
      }
    }
  }

  __device__ float output_scale() const {
    return scores_.dropout_scale;
  }

 private:
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

  /// `first_key` is that of the lane's first element.
  template <int kRowPieces>
  __device__ void add_bias(Accumulator<kRowPieces, Bc>& S, const SeenKeys* rows, int first_key,
                           int lane) const {
    const float slope = alibi_slope(scores_, tile_->head);
#pragma unroll
    for (int row = 0; row < 2 * kRowPieces; ++row) {
      const auto distance = static_cast<float>(first_key - rows[row * 8 + lane / 4].aligned);
#pragma unroll
      for (int n = 0; n < Bc / 8; ++n) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          S[row / 2][n][row % 2 * 2 + c] +=
              alibi_bias(slope, distance + static_cast<float>(n * 8 + c));
        }
      }
    }
  }

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

  const ScoreParameters& scores_;
  Shared* tile_;
};

}  // namespace attnscope::kernels::device
