/// The keys that the rows of a tile see under windows and key lengths, and the rows that see given
/// keys.
#pragma once

#include "kernels/device/knobs.cuh"
#include "kernels/score_features.cuh"
#include "kernels/score_parameters.cuh"

namespace attnscope::kernels::device {

/// The keys that row `row` of a tile sees; nonexistent rows see everything, so that they never
/// cause masking.
__device__ inline SeenKeys seen_by_row(const ForwardShape& shape, const ScoreParameters& scores,
                                       int batch, int row) {
  constexpr int kEveryKey = 0x7fffffff;
  if (row >= shape.N) return {0, kEveryKey, 0};
  return seen_keys(shape, scores, batch, row);
}

/// The key that a query is aligned with (ALiBi) if each batch entry is a single sequence, whose
/// last query is aligned with its last key.
__device__ inline int aligned_key(const ForwardShape& shape, int row) {
  return row + shape.N_kv - shape.N;
}

/// The rows that may see a range of keys, judged by the window alone: query q sees key k when -left
/// <= k - (q + offset) <= right.
__device__ inline int first_row_that_sees(const ForwardShape& shape, const ScoreParameters& scores,
                                          int first_key) {
  if (scores.window_right < 0) return 0;
  return clamp_to(first_key - scores.window_right - shape.diagonal_offset, 0, shape.N);
}
__device__ inline int past_last_row_that_sees(const ForwardShape& shape,
                                              const ScoreParameters& scores, int past_last_key) {
  if (scores.window_left < 0) return shape.N;
  return clamp_to(past_last_key + scores.window_left - shape.diagonal_offset, 0, shape.N);
}

/// Keys of a batch entry that are not padding.
__device__ inline int keys_of(const ForwardShape& shape, const ScoreParameters& scores, int batch) {
  if (scores.key_lengths == nullptr) return shape.N_kv;
  return min(shape.N_kv, __ldg(scores.key_lengths + batch));
}

/// The number of keys of column tile j that are not padding; only these are read. Negative: none.
template <int Bc>
__device__ inline int keys_of_tile(const ForwardShape& shape, const ScoreParameters& scores,
                                   int batch, int j) {
  return min(Bc, keys_of(shape, scores, batch) - j * Bc);
}

/// The column tiles [first, past_last) of Bc keys.
struct TileSpan {
  int first, past_last;
};

/// The tiles in which one of the `rows` existing rows from `first_row` on sees a key; none if there
/// are no rows. Both ends of the range of keys that a row sees increase with the row. With
/// knob::kVisitHidden: all tiles that are not padding.
template <ScoreFeatures kFeatures, int Bc>
__device__ inline TileSpan tiles_seen_by(const ForwardShape& shape, const ScoreParameters& scores,
                                         int batch, int first_row, int rows) {
  const auto tiles = [](int keys) { return (keys + Bc - 1) / Bc; };
  if constexpr (knob::kVisitHidden) {
    return {0, tiles(kFeatures.key_ranges ? keys_of(shape, scores, batch) : shape.N_kv)};
  }
  if (rows <= 0) return {0, 0};
  if constexpr (!kFeatures.key_ranges) return {0, tiles(shape.keys_end(first_row + rows - 1))};
  const int begin = seen_keys(shape, scores, batch, first_row).begin;
  const int end = seen_keys(shape, scores, batch, first_row + rows - 1).end;
  return {begin / Bc, end <= begin ? begin / Bc : tiles(end)};
}

/// Whether some key of [first_key, first_key + keys) is hidden from one of a warp's rows.
__device__ inline bool hides_keys(const SeenKeys* rows, int row_count, int first_key, int keys,
                                  int lane) {
  bool hides = false;
  for (int row = lane; row < row_count; row += 32) {
    hides |= rows[row].begin > first_key || rows[row].end < first_key + keys;
  }
  return __any_sync(0xffffffffu, hides);
}

}  // namespace attnscope::kernels::device
