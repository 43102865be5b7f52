/// The scores of a column tile in the backward pass: which rows see the tile, and how the problem's
/// ScoreFeatures change its scores and dS.
///
/// With no mask or a causal one, the keys that a row sees follow from its index. With key ranges,
/// these are stored in shared memory one step ahead, and a warp masks its part only if a key there
/// is hidden from one of its rows.
#pragma once

#include "kernels/device/backward_parts.cuh"
#include "kernels/device/knobs.cuh"
#include "kernels/device/place.cuh"
#include "kernels/device/score_steps.cuh"
#include "kernels/device/seen_keys.cuh"
#include "kernels/score_shared.cuh"

namespace attnscope::kernels::device {

/// The scores of column tile j. With dropout, the dropped elements of P are negative from the
/// computation of P until that of dS: the sign holds the dropout bit, and |P| is kept. kStages is 1
/// if all warps synchronize between shape_scores() and the following note_row_tile().
template <ScoreFeatures kFeatures, int Br, int Bc, int kWarps, int kStages = 2,
          typename Drawn = uint32_t>
class ScoreColumns {
  using Scores = WarpParts<Bc, Br, kWarps>;
  static constexpr int kPieces = Scores::kPartColumns / 8;                   ///< of eight queries
  static constexpr int kPiecesOfWord = 2 * static_cast<int>(sizeof(Drawn));  ///< four bits each
  static constexpr int kWords = (kPieces + kPiecesOfWord - 1) / kPiecesOfWord;

  struct Place {
    int first_key, head, batch;
    int keys;  ///< keys of the column tile that are not padding
  };
  static_assert(sizeof(Place) == kScorePlaceBytes);
  /// The dropout bits that each thread has drawn, for its own use.
  using DrawnWord = Drawn[Scores::kRowPieces][kWarps * 32];
  static constexpr int kDrawnOffset =
      sizeof(Place) + (kFeatures.key_ranges ? kStages * Br * sizeof(SeenKeys) : 0);

 public:
  static constexpr int kSharedBytes = static_cast<int>(
      score_columns_shared_bytes(kFeatures, {Br, Bc}, kWarps, kStages, sizeof(Drawn)));

  __device__ ScoreColumns(const BackwardParameters& parameters, int j, int keys, int head,
                          int batch, unsigned char* shared)
      : parameters_(parameters), shared_(shared), j_(j), keys_(keys) {
    if constexpr (kFeatures.depend_on_place()) {
      if (thread_index() == 0) {
        const int* const lengths = scores().key_lengths;
        const bool shortened = kFeatures.key_ranges && lengths != nullptr;
        place() = {j * Bc, head, batch,
                   shortened ? clamp_to(__ldg(lengths + batch) - j * Bc, 0, keys) : keys};
      }
      __syncthreads();
    }
  }

  /// The row tiles [first, past last) that see a key of the tile, or all with knob::kVisitHidden,
  /// unless the whole tile is padding.
  __device__ int first_tile() const {
    if constexpr (knob::kVisitHidden) return 0;
    if constexpr (kFeatures.key_ranges) return first_row() / Br;
    const int first = max(0, j_ * Bc - shape().diagonal_offset);
    return first < shape().N ? first / Br : past_last_tile();
  }
  __device__ int past_last_tile() const {
    const int Tr = (shape().N + Br - 1) / Br;
    if constexpr (!kFeatures.key_ranges) return Tr;
    if constexpr (knob::kVisitHidden) return place().keys > 0 ? Tr : 0;
    const int first = first_row();
    const int past = past_last_row();
    return past > first ? (past + Br - 1) / Br : first / Br;
  }
  /// The keys to read, without padding: P is 0 there, but its memory may hold NaN, and 0 times NaN
  /// is NaN.
  __device__ int keys_to_load() const {
    if constexpr (kFeatures.key_ranges) return place().keys;
    return keys_;
  }

  /// Stores the keys that the rows of row tile i see, for shape_scores() after the next barrier,
  /// and the elements that dropout keeps, for drop(). These are drawn here because P and dP occupy
  /// the registers later.
  __device__ void note_row_tile(int i, int stage) const {
    if constexpr (kFeatures.key_ranges) {
      for (int row = thread_index(); row < Br; row += static_cast<int>(blockDim.x)) {
        seen(stage)[row] = seen_by_row(shape(), scores(), place().batch, i * Br + row);
      }
    }
    if constexpr (kFeatures.dropout) draw(i, thread_index() / 32, thread_index() % 32);
  }

  /// Applies soft cap, ALiBi and mask to a warp's part; returns whether the mask was applied. The
  /// soft cap's slopes d(capped score) / d(score) are written to `slopes` in half precision; only
  /// this warp's lanes read them.
  template <typename Part>
  __device__ bool shape_scores(typename Part::Registers& S, const SharedTile<Bc, Br>& slopes, int i,
                               int stage, int warp, int lane) const {
    const int part_key = Part::first_row(warp);
    const int part_query = Part::first_column(warp);
    const int key = first_key() + part_key;
    if constexpr (kFeatures.soft_cap) {
      if (scores().soft_cap != 0.0f) {  // always true; the branch is there for the reason given in
                                        // score_rows.cuh
        cap_keeping_slope<Part>(S);
        if (Part::is_first(warp)) {
          write_part<Fp16, Part::kRowPieces, Part::kPartColumns>(slopes, part_key, part_query, S,
                                                                 lane, Slope{});
        }
        scale_all(S, scores().soft_cap);
      }
    }
    if constexpr (kFeatures.alibi) {
      // Without a soft cap, the branch would itself cause spills
      if (!kFeatures.soft_cap || scores().alibi_slopes != nullptr) {
        add_bias<Part>(S, key + lane / 4, i * Br + part_query + lane % 4 * 2,
                       seen(stage) + part_query + lane % 4 * 2);
      }
    }
    if constexpr (kFeatures.key_ranges) {
      const SeenKeys* const rows = seen(stage) + part_query;
      const bool hides = hides_keys(rows, Part::kPartColumns, key, Part::kPartRows, lane);
      if (hides || knob::kMaskAll) mask<Part>(S, rows, key + lane / 4, lane);
      return hides || knob::kMaskAll;
    }
    if (shape().keys_end(i * Br) >= (j_ + 1) * Bc && !knob::kMaskAll) return false;
    mask_scores_transposed<Part::kRowPieces, Part::kPartColumns>(
        S, key - shape().diagonal_offset - i * Br - part_query, shape().N_kv - key, lane);
    return true;
  }

  /// Makes dropped elements of P negative.
  template <typename Part>
  __device__ void drop(typename Part::Registers& P, int lane) const {
    if constexpr (!kFeatures.dropout) return;
    if (scores().dropout_threshold == 0) return;
    const int own = lane / 4 % 4;  // this lane's key among the four of a draw
#pragma unroll
    for (int n = 0; n < kWords * Part::kRowPieces; ++n) {
      const int word = n / Part::kRowPieces;
      const int r = n % Part::kRowPieces;
      const uint32_t drawn_now = drawn()[word][r][thread_index()];
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int source = (lane & ~12) | c << 2;
        const uint32_t kept = __shfl_sync(0xffffffffu, drawn_now, source) >> own;
#pragma unroll
        for (int bit = 0; bit < kPiecesOfWord; ++bit) {
          const int piece = word * kPiecesOfWord + bit;
          if (piece < kPieces && (kept >> 4 * bit) % 2 == 0) P[r][piece][c] = -P[r][piece][c];
        }
      }
    }
  }

  /// P with zeros in place of dropped elements.
  __device__ static float kept(float P) {
    return kFeatures.dropout ? fmaxf(P, 0.0f) : P;
  }

  /// dS = P * (Z * dP - D), Z = 1 without dropout.
  __device__ float gradient(float P, float dP, float D) const {
    if constexpr (!kFeatures.dropout) return P * (dP - D);
    const bool dropped = __float_as_int(P) < 0;
    return fabsf(P) * ((dropped ? 0.0f : dP * scores().dropout_scale) - D);
  }

  /// dS = slope * dS.
  template <typename Part>
  __device__ void apply_slopes(typename Part::Registers& dS, const SharedTile<Bc, Br>& slopes,
                               int warp, int lane) const {
    if constexpr (!kFeatures.soft_cap) return;
    multiply_part<Fp16, Part::kRowPieces, Part::kPartColumns>(dS, slopes, Part::first_row(warp),
                                                              Part::first_column(warp), lane);
  }

  /// The factor that dV is multiplied by after the sum over the kept elements of P.
  __device__ float value_gradient_scale() const {
    return kFeatures.dropout ? scores().dropout_scale : 1.0f;
  }

 private:
  /// Draws the dropout bits. One draw covers four keys, which belong to four lanes: each lane draws
  /// for one of the four elements that a lane has in a piece, and drop() exchanges the bits.
  __device__ void draw(int i, int warp, int lane) const {
    const int element = lane / 4 % 4;
    const int query = i * Br + Scores::first_column(warp) + lane % 4 * 2 + element % 2;
#pragma unroll
    for (int n = 0; n < kWords * Scores::kRowPieces; ++n) {
      const int first_piece = n / Scores::kRowPieces * kPiecesOfWord;
      const int r = n % Scores::kRowPieces;
      const int key = place().first_key + Scores::first_row(warp) + r * 16 + element / 2 * 8;
      const int pieces = min(kPiecesOfWord, kPieces - first_piece);
      uint32_t kept_keys_now = 0;
#pragma unroll 2
      for (int piece = 0; piece < pieces; ++piece) {
        kept_keys_now |= kept_keys(scores(), place().batch, place().head,
                                   query + (first_piece + piece) * 8, key / 4 + lane / 16)
                         << 4 * piece;
      }
      drawn()[n / Scores::kRowPieces][r][thread_index()] = static_cast<Drawn>(kept_keys_now);
    }
  }

  /// 1 - tanh^2, computed from tanh.
  struct Slope {
    __device__ float operator()(float tanh) const { return fmaf(-tanh, tanh, 1.0f); }
  };

  __device__ const ForwardShape& shape() const {
    return parameters_.shape;
  }
  __device__ const ScoreParameters& scores() const {
    return parameters_.scores;
  }
  __device__ Place& place() const {
    return *reinterpret_cast<Place*>(shared_);
  }
  __device__ SeenKeys* seen(int stage) const {
    return reinterpret_cast<SeenKeys*>(shared_ + sizeof(Place)) + stage * Br;
  }
  __device__ DrawnWord* drawn() const {
    return reinterpret_cast<DrawnWord*>(shared_ + kDrawnOffset);
  }

  /// The tile's first key. With features, registers are scarce: it is read from shared memory at
  /// each use.
  __device__ int first_key() const {
    if constexpr (kFeatures.depend_on_place()) return place().first_key;
    return j_ * Bc;
  }
  __device__ int first_row() const {
    return first_row_that_sees(shape(), scores(), place().first_key);
  }
  __device__ int past_last_row() const {
    if (place().keys == 0) return 0;
    return past_last_row_that_sees(shape(), scores(), place().first_key + place().keys);
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

  /// `key`, `query` and `rows` belong to the lane's first element; `rows` is used only with key
  /// ranges.
  template <typename Part>
  __device__ void add_bias(typename Part::Registers& S, int key, int query,
                           const SeenKeys* rows) const {
    const float slope = alibi_slope(scores(), place().head);
#pragma unroll
    for (int n = 0; n < Part::kPartColumns / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int aligned = kFeatures.key_ranges ? rows[n * 8 + c].aligned
                                                 : aligned_key(shape(), query + n * 8 + c);
        const auto distance = static_cast<float>(key - aligned);
#pragma unroll
        for (int row = 0; row < 2 * Part::kRowPieces; ++row) {
          S[row / 2][n][row % 2 * 2 + c] +=
              alibi_bias(slope, distance + static_cast<float>(row * 8));
        }
      }
    }
  }

  /// `first_key` is the key of the lane's first element.
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
  unsigned char* shared_;
  int j_;     ///< used if no feature depends on the position
  int keys_;  ///< likewise
};

/// For kernels that compute only softmax attention with no mask or a causal one.
template <int Br, int Bc>
using PlainColumns = ScoreColumns<ScoreFeatures{}, Br, Bc, 1>;

}  // namespace attnscope::kernels::device
