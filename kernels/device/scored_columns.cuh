/// The backward half of ScoreFunctions (score_functions.cuh): the scores of a column tile, and what
/// dS has of them.
///
/// Which keys the rows of a row tile see is noted in shared memory a step ahead; a warp asks there
/// whether any row of its part has a hidden key before it hides some.
#pragma once

#include "kernels/device/backward_parts.cuh"
#include "kernels/device/place.cuh"
#include "kernels/device/score_steps.cuh"
#include "kernels/device/seen_keys.cuh"
#include "kernels/scored_shared.h"

namespace attnscope::kernels::device {

/// Of column tile j, in the backward pass. P is negative where dropout drops its element, from the
/// moment that P is known until dS is: that remembers the bits, and |P| is still there. kStages is
/// 1 where all warps meet between shape_scores() and the next note_row_tile().
template <int Br, int Bc, int kWarps, int kStages = 2, typename Drawn = uint32_t>
class ScoredColumns {
  using Scores = WarpParts<Bc, Br, kWarps>;

 public:
  static constexpr int kPieces = Scores::kPartColumns / 8;                   ///< of eight queries
  static constexpr int kPiecesOfWord = 2 * static_cast<int>(sizeof(Drawn));  ///< four bits each
  static constexpr int kWords = (kPieces + kPiecesOfWord - 1) / kPiecesOfWord;

  struct Shared {
    Drawn drawn[kWords][Scores::kRowPieces][kWarps * 32];  ///< of each thread, for itself
    SeenKeys seen[kStages][Br];                            ///< by the rows of a row tile
    int first_key, head, batch;
    int keys;  ///< of the column tile that are no padding
  };
  static constexpr int kSharedBytes = sizeof(Shared);
  static_assert(kSharedBytes ==
                scored_columns_shared_bytes({Br, Bc}, kWarps, kStages, sizeof(Drawn)));

  __device__ ScoredColumns(const BackwardParameters& parameters, int j, int keys, int head,
                           int batch, unsigned char* shared)
      : parameters_(parameters), tile_(reinterpret_cast<Shared*>(shared)) {
    if (thread_index() == 0) {
      tile_->first_key = j * Bc;
      tile_->head = head;
      tile_->batch = batch;
      const int* const lengths = scores().key_lengths;
      tile_->keys = lengths == nullptr ? keys : clamp_to(__ldg(lengths + batch) - j * Bc, 0, keys);
    }
    __syncthreads();
  }

  __device__ int first_tile() const { return first_row() / Br; }
  __device__ int past_last_tile() const {
    const int first = first_row();
    const int past = past_last_row();
    return past > first ? (past + Br - 1) / Br : first / Br;
  }
  /// Padding is not read: P is 0 there, but 0 times what may stand there need not be.
  __device__ int keys_to_load() const { return tile_->keys; }

  /// What the rows of row tile i see, for shape_scores() after the next barrier, and what dropout
  /// keeps of the tile, for drop(): drawn before P and dP take the registers.
  __device__ void note_row_tile(int i, int stage) const {
    for (int row = thread_index(); row < Br; row += static_cast<int>(blockDim.x)) {
      tile_->seen[stage][row] =
          seen_by_row(parameters_.shape, scores(), tile_->batch, i * Br + row);
    }
    if (scores().drops) draw(i, thread_index() / 32, thread_index() % 32);
  }

  /// Soft cap, ALiBi, mask. The soft cap's slopes d(score) / d(score before it) go to `slopes`, in
  /// half precision, where only this warp's lanes read them.
  template <typename Part>
  __device__ bool shape_scores(typename Part::Registers& S, const SharedTile<Bc, Br>& slopes,
                               int /*i*/, int stage, int warp, int lane) const {
    const int part_key = Part::first_row(warp);
    const int part_query = Part::first_column(warp);
    const SeenKeys* const rows = tile_->seen[stage] + part_query;
    const int key = tile_->first_key + part_key;
    if (scores().soft_cap > 0.0f) {
      cap_keeping_slope<Part>(S);
      if (Part::is_first(warp)) {
        write_part<Fp16, Part::kRowPieces, Part::kPartColumns>(slopes, part_key, part_query, S,
                                                               lane, Slope{});
      }
      scale_capped<Part>(S);
    }
    if (scores().alibi_slopes != nullptr) add_bias<Part>(S, rows, key + lane / 4, lane);
    const bool hides = hides_keys(rows, Part::kPartColumns, key, Part::kPartRows, lane);
    if (hides) mask<Part>(S, rows, key + lane / 4, lane);
    return hides;
  }

  /// Makes dropped elements of P negative.
  template <typename Part>
  __device__ void drop(typename Part::Registers& P, int /*i*/, int /*warp*/, int lane) const {
    if (!scores().drops) return;
    const int own = lane / 4 % 4;  // this lane's key of the four of a drawing
#pragma unroll
    for (int n = 0; n < kWords * Part::kRowPieces; ++n) {
      const int word = n / Part::kRowPieces;
      const int r = n % Part::kRowPieces;
      const uint32_t drawn = tile_->drawn[word][r][thread_index()];
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int source = (lane & ~12) | c << 2;
        const uint32_t kept = __shfl_sync(0xffffffffu, drawn, source) >> own;
#pragma unroll
        for (int bit = 0; bit < kPiecesOfWord; ++bit) {
          const int piece = word * kPiecesOfWord + bit;
          if (piece < kPieces && (kept >> 4 * bit) % 2 == 0) P[r][piece][c] = -P[r][piece][c];
        }
      }
    }
  }

  /// P with zeros where it was dropped.
  __device__ static float kept(float P) {
    return fmaxf(P, 0.0f);
  }

  /// dS = P * (Z * dP - D).
  __device__ float gradient(float P, float dP, float D) const {
    const bool dropped = __float_as_int(P) < 0;
    return fabsf(P) * ((dropped ? 0.0f : dP * scores().dropout_scale) - D);
  }

  /// dS = slope * dS.
  template <typename Part>
  __device__ void apply_slopes(typename Part::Registers& dS, const SharedTile<Bc, Br>& slopes,
                               int warp, int lane) const {
    if (!(scores().soft_cap > 0.0f)) return;
    multiply_part<Fp16, Part::kRowPieces, Part::kPartColumns>(dS, slopes, Part::first_row(warp),
                                                              Part::first_column(warp), lane);
  }

  /// What dV lacks after the sum over P with zeros.
  __device__ float value_gradient_scale() const {
    return scores().dropout_scale;
  }

 private:
  /// Four lanes share the four keys of a drawing: each draws for one of the four elements that a
  /// lane has in a piece, and all take theirs from all.
  __device__ void draw(int i, int warp, int lane) const {
    const int element = lane / 4 % 4;
    const int query = i * Br + Scores::first_column(warp) + lane % 4 * 2 + element % 2;
#pragma unroll
    for (int n = 0; n < kWords * Scores::kRowPieces; ++n) {
      const int first_piece = n / Scores::kRowPieces * kPiecesOfWord;
      const int r = n % Scores::kRowPieces;
      const int key = tile_->first_key + Scores::first_row(warp) + r * 16 + element / 2 * 8;
      const int pieces = min(kPiecesOfWord, kPieces - first_piece);
      uint32_t drawn = 0;
#pragma unroll 2
      for (int piece = 0; piece < pieces; ++piece) {
        drawn |= kept_keys(scores(), tile_->batch, tile_->head, query + (first_piece + piece) * 8,
                           key / 4 + lane / 16)
                 << 4 * piece;
      }
      tile_->drawn[n / Scores::kRowPieces][r][thread_index()] = static_cast<Drawn>(drawn);
    }
  }

  /// 1 - tanh^2, of tanh.
  struct Slope {
    __device__ float operator()(float tanh) const { return fmaf(-tanh, tanh, 1.0f); }
  };

  __device__ const ScoreParameters& scores() const {
    return parameters_.scores;
  }

  __device__ int first_row() const {
    return first_row_that_sees(parameters_.shape, scores(), tile_->first_key);
  }
  __device__ int past_last_row() const {
    if (tile_->keys == 0) return 0;
    return past_last_row_that_sees(parameters_.shape, scores(), tile_->first_key + tile_->keys);
  }

  template <typename Part>
  __device__ void cap_keeping_slope(typename Part::Registers& S) const {
#pragma unroll
    for (int r = 0; r < Part::kRowPieces; ++r) {
#pragma unroll
      for (int n = 0; n < Part::kPartColumns / 8; ++n) {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          S[r][n][c] = tanh_fast(S[r][n][c] * scores().inverse_soft_cap);
        }
      }
    }
  }
  template <typename Part>
  __device__ void scale_capped(typename Part::Registers& S) const {
    scale_all(S, scores().soft_cap);
  }

  /// `first_key` is that of the lane's first element.
  template <typename Part>
  __device__ void add_bias(typename Part::Registers& S, const SeenKeys* rows, int first_key,
                           int lane) const {
    const float slope = alibi_slope(scores(), tile_->head);
#pragma unroll
    for (int n = 0; n < Part::kPartColumns / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const auto distance =
            static_cast<float>(first_key - rows[n * 8 + lane % 4 * 2 + c].aligned);
#pragma unroll
        for (int row = 0; row < 2 * Part::kRowPieces; ++row) {
          S[row / 2][n][row % 2 * 2 + c] +=
              alibi_bias(slope, distance + static_cast<float>(row * 8));
        }
      }
    }
  }

  template <typename Part>
  __device__ static void mask(typename Part::Registers& S, const SeenKeys* rows, int first_key,
                              int lane) {
#pragma unroll
    for (int n = 0; n < Part::kPartColumns / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const SeenKeys& seen = rows[n * 8 + lane % 4 * 2 + c];
        const int begin = seen.begin - first_key;
        const int end = seen.end - first_key;
#pragma unroll
        for (int row = 0; row < 2 * Part::kRowPieces; ++row) {
          if (row * 8 < begin || row * 8 >= end) {
            S[row / 2][n][row % 2 * 2 + c] = kMinusInfinity;
          }
        }
      }
    }
  }

  const BackwardParameters& parameters_;
  Shared* tile_;
};

}  // namespace attnscope::kernels::device
