/// Which keys the rows of a row tile see, and what becomes of their scores, as a policy of
/// split_kv_partial: PlainSplit takes no mask or a causal one, ScoredSplit windows, key lengths,
/// soft-capping and ALiBi as well.
#pragma once

#include "kernels/device/scored_rows.cuh"
#include "kernels/split_kv/split_kv_parameters.h"

namespace attnscope::kernels {

/// Of row tile i; kBr is its rows, kWarpKeys are a warp's of the Bc of a column tile.
template <int kBr, int Bc, int kWarpKeys>
class PlainSplit {
 public:
  __device__ PlainSplit(const SplitKvParameters& parameters, int i, int rows, int /*head*/,
                        int /*batch*/, unsigned char* /*shared*/)
      : shape_(parameters.shape),
        first_row_(i * kBr),
        past_last_((shape_.keys_end(first_row_ + rows - 1) + Bc - 1) / Bc) {}

  /// The first column tile, from that of the split on.
  __device__ int first_tile(int of_split) const { return of_split; }
  __device__ int past_last_tile() const { return past_last_; }
  /// Keys that are read: padding behind them never is.
  __device__ int keys() const { return shape_.N_kv; }

  /// Of a warp's scores in column tile j, from key `first_key` on; tells whether there was
  /// something to mask.
  __device__ bool shape_scores(device::Accumulator<1, kWarpKeys>& S, int j, int first_key,
                               int lane) const {
    if ((j + 1) * Bc <= shape_.keys_end(first_row_)) return false;
    device::mask_scores<1, kWarpKeys>(S, first_row_ + shape_.diagonal_offset + 1 - first_key,
                                      shape_.N_kv - first_key, lane);
    return true;
  }

 private:
  const ForwardShape& shape_;
  int first_row_;
  int past_last_;
};

template <int kBr, int Bc, int kWarpKeys>
class ScoredSplit {
  using Rows = device::ScoredRows<kBr, kWarpKeys>;  // to it, a warp's keys are a column tile

 public:
  __device__ ScoredSplit(const SplitKvParameters& parameters, int i, int rows, int head, int batch,
                         unsigned char* shared)
      : rows_(parameters, i, rows, head, batch, shared),
        keys_(parameters.scores.key_lengths == nullptr
                  ? parameters.shape.N_kv
                  : __ldg(parameters.scores.key_lengths + batch)) {}

  __device__ int first_tile(int of_split) const {
    return max(of_split, rows_.first_tile() / kWarps);
  }
  __device__ int past_last_tile() const {
    const int past = rows_.past_last_tile();
    return past > rows_.first_tile() ? (past + kWarps - 1) / kWarps : 0;
  }
  __device__ int keys() const { return keys_; }

  __device__ bool shape_scores(device::Accumulator<1, kWarpKeys>& S, int /*j*/, int first_key,
                               int lane) const {
    return rows_.template shape_scores<1>(S, first_key / kWarpKeys, 0, lane);
  }

 private:
  static constexpr int kWarps = Bc / kWarpKeys;
  Rows rows_;
  int keys_;
};

struct PlainSplitRows {
  template <int kBr, int Bc, int kWarpKeys>
  using Rows = PlainSplit<kBr, Bc, kWarpKeys>;
};
struct ScoredSplitRows {
  template <int kBr, int Bc, int kWarpKeys>
  using Rows = ScoredSplit<kBr, Bc, kWarpKeys>;
};

}  // namespace attnscope::kernels
