/// The changes that a problem's ScoreFeatures make to a row of scores in standard attention's
/// row-wise launches. Here the scores already include the softmax scale.
#pragma once

#include "kernels/device/score_steps.cuh"
#include "kernels/score_features.cuh"
#include "kernels/standard/row_launch.cuh"

namespace attnscope::kernels {

inline constexpr float kLog2e = 1.4426950408889634f;

template <ScoreFeatures kFeatures>
class RowScores {
 public:
  /// `row` is an index into the B * H * N rows; the last block may have rows beyond the end.
  template <typename Parameters>
  __device__ RowScores(const Parameters& parameters, Index row) : scores_(parameters.scores) {
    const ForwardShape& shape = parameters.shape;
    if constexpr (kFeatures.any()) {
      const Index existing = min(row, parameters.rows - 1);
      const Index head = existing / shape.N;
      query_ = static_cast<int>(existing % shape.N);
      head_ = static_cast<int>(head % shape.heads);
      batch_ = static_cast<int>(head / shape.heads);
      seen_ = seen_keys(shape, scores_, batch_, query_);
      slope_ = device::alibi_slope(scores_, head_);
    } else {
      seen_ = {0, shape.keys_end(static_cast<int>(row % shape.N)), 0};
    }
  }

  /// Applies soft cap, ALiBi and mask to one score; T is the type in which scores are stored.
  template <typename T>
  __device__ void shape_score(float& s, int key) const {
    if constexpr (kFeatures.soft_cap) s = scores_.soft_cap * capped_tanh<T>(s);
    if constexpr (kFeatures.alibi) {
      s += device::alibi_bias(slope_, static_cast<float>(key - seen_.aligned));
    }
    if ((kFeatures.key_ranges && key < seen_.begin) || key >= seen_.end) {
      s = device::kMinusInfinity;
    }
  }

  /// Which of kWidth neighbouring elements dropout keeps, one bit each.
  template <int kWidth>
  __device__ uint32_t kept(int column) const {
    if constexpr (!kFeatures.dropout) return ~0u;
    constexpr int kKeys = 4;  // of a drawing
    uint32_t bits = 0;
#pragma unroll
    for (int e = 0; e < kWidth; e += kKeys) bits |= drawn((column + e) / kKeys) << e;
    return kWidth < kKeys ? bits >> column % kKeys : bits;
  }
  __device__ float dropout_scale() const {
    return kFeatures.dropout ? scores_.dropout_scale : 1.0f;
  }

  /// Writes P_dropped: P times dropout's factor if the element is kept, else zero.
  template <typename T, int kWidth, typename Parameters>
  __device__ void store_dropped(const Parameters& parameters, Index row, int column,
                                float (&P)[kWidth]) const {
    if constexpr (!kFeatures.dropout) return;
    const uint32_t kept_bits = kept<kWidth>(column);
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      P[e] = (kept_bits >> e) % 2 == 0 ? 0.0f : P[e] * dropout_scale();
    }
    T* const P_dropped = static_cast<T*>(parameters.P_dropped) + row * parameters.shape.N_kv;
    store_elements<T, kWidth>(P_dropped + column, P);
  }

  /// dS = slope * dS with the soft cap's slopes at the stored scores, from element `first` on.
  template <typename T, int kWidth, typename Parameters>
  __device__ void apply_slopes(float (&dS)[kWidth], const Parameters& parameters,
                               Index first) const {
    if constexpr (!kFeatures.soft_cap) return;
    float stored[kWidth];
    load_elements<T, kWidth>(stored, static_cast<const T*>(parameters.S) + first);
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      const float tanh = capped_tanh<T>(stored[e]);
      dS[e] *= fmaf(-tanh, tanh, 1.0f);
    }
  }

 private:
  template <typename T>
  __device__ float capped_tanh(float s) const {
    const float x = s * scores_.inverse_soft_cap;
    return device::kIsSame<T, float> ? tanhf(x) : device::tanh_fast(x);
  }
  __device__ uint32_t drawn(int quad) const {
    return device::kept_keys(scores_, batch_, head_, query_, quad);
  }

  const ScoreParameters& scores_;
  SeenKeys seen_;
  // Set if there is any feature
  int query_ = 0, head_ = 0, batch_ = 0;
  float slope_ = 0.0f;  ///< of ALiBi
};

}  // namespace attnscope::kernels
