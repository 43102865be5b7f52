/// The scores of a row tile in the forward pass: which keys its rows see, and how the problem's
/// ScoreFeatures change the scores.
///
/// With no mask or a causal one, the keys that a row sees follow from its index. With key ranges
/// they are computed once and kept in shared memory, and a warp masks its scores only if a key
/// there is hidden from one of its rows.
#pragma once

#include "kernels/device/knobs.cuh"
#include "kernels/device/place.cuh"
#include "kernels/device/score_steps.cuh"
#include "kernels/device/seen_keys.cuh"
#include "kernels/score_shared.cuh"

namespace attnscope::kernels::device {

/// Registers are scarce in the loop. If features take some, the tile's position is kept in shared
/// memory. Soft cap, ALiBi and dropout are inside branches that are always taken: without the
/// branches, the compiler interleaves their instructions with those of the matrix products and
/// spills registers.
template <ScoreFeatures kFeatures, int Br, int Bc>
class ScoreRows {
  /// A lane draws for this many pieces of eight keys at a time, four bits per piece.
  static constexpr int kDrawn = static_cast<int>(score_keys_drawn(Bc));
  static constexpr int kDrawings = Bc / 8 / kDrawn;

  struct Place {
    int first_row, rows, head, batch;
  };
  static_assert(sizeof(Place) == kScorePlaceBytes && sizeof(SeenKeys) == kSeenKeysBytes);
  /// The keys of a row that dropout keeps, four bits for every eight keys: [0] has keys 0 to 3 of
  /// each eight, [1] keys 4 to 7.
  using Kept = uint32_t[2][kDrawings];
  static constexpr int kKeptOffset =
      sizeof(Place) + (kFeatures.key_ranges ? Br * sizeof(SeenKeys) : 0);

 public:
  static constexpr int kSharedBytes =
      static_cast<int>(score_rows_shared_bytes(kFeatures, {Br, Bc}));

  /// The scores of row tile i, whose first `rows` rows exist.
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

  /// The scores of one warp (Br = 16) whose rows change: note_rows() sets them.
  template <typename Parameters>
  __device__ ScoreRows(const Parameters& parameters, int head, int batch, unsigned char* shared)
      : shape_(parameters.shape), scores_(parameters.scores), shared_(shared) {
    if constexpr (kFeatures.depend_on_place()) {
      if (thread_index() % 32 == 0) place() = {0, Br, head, batch};
    }
  }
  /// Sets the head and the batch entry of the warp's next rows.
  __device__ void note_head(int head, int batch) const {
    if constexpr (kFeatures.depend_on_place()) {
      if (thread_index() % 32 == 0) place().head = head, place().batch = batch;
    }
  }
  /// Sets the warp's rows. The caller synchronizes the warp before and after the call.
  __device__ void note_rows(int first_row, int lane) const {
    static_assert(Br <= 32);
    if constexpr (kFeatures.depend_on_place()) {
      if (lane == 0) place().first_row = first_row;
    }
    if constexpr (kFeatures.key_ranges) {
      if (lane < Br) seen()[lane] = seen_by_row(shape_, scores_, place().batch, first_row + lane);
    }
  }

  /// The column tiles [first, past last) that some row sees, or with knob::kVisitHidden all that
  /// are not padding; a tile has kSlices times Bc keys. Both ends of a row's keys increase with the
  /// row.
  template <int kSlices = 1>
  __device__ int first_tile() const {
    if constexpr (kFeatures.key_ranges && !knob::kVisitHidden) {
      return seen()[0].begin / (Bc * kSlices);
    }
    return 0;
  }
  template <int kSlices = 1>
  __device__ int past_last_tile() const {
    if constexpr (knob::kVisitHidden) return (keys_of_entry() + Bc * kSlices - 1) / (Bc * kSlices);
    if constexpr (!kFeatures.key_ranges) return (past_last_ + kSlices - 1) / kSlices;
    const int end = seen()[place().rows - 1].end;
    if (end <= seen()[0].begin) return first_tile<kSlices>();
    return (end + Bc * kSlices - 1) / (Bc * kSlices);
  }
  /// Keys that every row sees if there are no key ranges.
  __device__ int unmasked_keys() const { return unmasked_keys_; }
  __device__ int first_row() const { return first_row_; }

  /// The number of keys to load of column tile j, which has kKeys keys if the warps share them.
  template <int kKeys = Bc>
  __device__ int keys_to_load(int j) const {
    if constexpr (kFeatures.key_ranges) {
      return keys_of_tile<kKeys>(shape_, scores_, place().batch, j);
    }
    return min(kKeys, shape_.N_kv - j * kKeys);
  }

  /// Applies soft cap, ALiBi and mask to a warp's scores in column tile j, whose rows are those of
  /// the tile from `warp_row` on; returns whether the mask was applied.
  template <int kRowPieces>
  __device__ bool shape_scores(Accumulator<kRowPieces, Bc>& S, int j, int warp_row,
                               int lane) const {
    return shape_part(S, first_row_ + warp_row, j * Bc, (j + 1) * Bc > unmasked_keys_, warp_row,
                      lane);
  }
  /// The same for scores that begin at `first_row` and `first_key`. Without key ranges, they are
  /// masked if `crosses_edge`.
  template <int kRowPieces>
  __device__ bool shape_part(Accumulator<kRowPieces, Bc>& S, int first_row, int first_key,
                             bool crosses_edge, int warp_row, int lane) const {
    if constexpr (kFeatures.soft_cap) {
      if (scores_.soft_cap != 0.0f) cap(S);
    }
    if constexpr (kFeatures.alibi) {
      if (scores_.alibi_slopes != nullptr) {
        add_bias(S, first_row + lane / 4, warp_row + lane / 4, first_key + lane % 4 * 2);
      }
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

  /// Draws the dropout bits of column tile j, before S occupies the registers. Neighbouring lanes
  /// share two rows: an even lane draws for the upper one, an odd lane for the lower one.
  template <int kRowPieces>
  __device__ void draw(int j, int warp_row, int lane) const {
    if constexpr (!kFeatures.dropout) return;
    __syncwarp();  // Barrier: drop() has read the bits of the previous tile in all lanes.
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
    __syncwarp();  // Barrier: the bits of all lanes are written before drop() reads them.
  }

  /// Sets dropped elements of P to zero.
  template <int kRowPieces>
  __device__ void drop(Accumulator<kRowPieces, Bc>& P, int warp_row, int lane) const {
    if constexpr (!kFeatures.dropout) return;
    if (scores_.dropout_threshold == 0) return;
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

  /// The factor that P V is multiplied by, besides the division by the row sums.
  __device__ float output_scale() const {
    return kFeatures.dropout ? scores_.dropout_scale : 1.0f;
  }

 private:
  /// Keys of the batch entry that are not padding.
  __device__ int keys_of_entry() const {
    if constexpr (kFeatures.key_ranges) return keys_of(shape_, scores_, place().batch);
    return shape_.N_kv;
  }
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

  /// `row`, `tile_row` and `key` belong to the lane's first element.
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

  /// `first_key` is the key of the lane's first element.
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
  // For a row tile; only members that the features use occupy registers
  int first_row_ = 0;
  int past_last_ = 0;
  int unmasked_keys_ = 0;
};

}  // namespace attnscope::kernels::device
