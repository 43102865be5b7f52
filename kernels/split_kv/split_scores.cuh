/// The keys that the rows of a row tile see in split_kv_partial, and the changes that a problem's
/// ScoreFeatures make to their scores.
#pragma once

#include "kernels/device/score_rows.cuh"
#include "kernels/split_kv/split_kv_parameters.cuh"
#include "kernels/split_kv/split_kv_shared.cuh"

namespace attnscope::kernels {

/// The scores of row tile i. Each warp has kWarpKeys of the Bc keys of a column tile.
template <ScoreFeatures kFeatures, int Bc, int kWarpKeys>
class SplitScores {
  // A warp's keys are the column tile of its ScoreRows
  using Rows = device::ScoreRows<kFeatures, kSplitRows, kWarpKeys>;
  static constexpr int kWarps = Bc / kWarpKeys;

 public:
  __device__ SplitScores(const SplitKvParameters& parameters, int i, int rows, int head, int batch,
                         unsigned char* shared)
      : shape_(parameters.shape), rows_(parameters, i, rows, head, batch, shared) {
    if constexpr (kFeatures.key_ranges) {
      const int* const lengths = parameters.scores.key_lengths;
      keys_ = lengths == nullptr ? shape_.N_kv : __ldg(lengths + batch);
    }
  }

  /// The first column tile that row tile i sees, from the split's first tile `of_split` on.
  __device__ int first_tile(int of_split) const {
    if constexpr (!kFeatures.key_ranges) return of_split;
    return max(of_split, rows_.first_tile() / kWarps);
  }
  __device__ int past_last_tile() const {
    const int past = rows_.past_last_tile();
    return past > rows_.first_tile() ? (past + kWarps - 1) / kWarps : 0;
  }
  /// The number of keys to read: the padding after them is never read.
  __device__ int keys() const { return kFeatures.key_ranges ? keys_ : shape_.N_kv; }

  /// Applies soft cap, ALiBi and mask to a warp's scores in column tile j, which begin at key
  /// `first_key`; returns whether the mask was applied.
  __device__ bool shape_scores(device::Accumulator<1, kWarpKeys>& S, int j, int first_key,
                               int lane) const {
    return rows_.shape_part(S, rows_.first_row(), first_key, (j + 1) * Bc > rows_.unmasked_keys(),
                            0, lane);
  }

 private:
  const ForwardShape& shape_;
  Rows rows_;
  int keys_ = 0;  ///< set if there are key ranges
};

}  // namespace attnscope::kernels
