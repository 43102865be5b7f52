/// What standard attention's row-wise launches do to the scores of a row, as a policy of theirs:
/// PlainRow hides keys under no mask or a causal one, ScoredRow does everything that a problem may
/// ask for, each a run-time branch. Scores are held after the softmax scale here.
#pragma once

#include "kernels/device/score_steps.cuh"
#include "kernels/standard/row_launch.cuh"

namespace attnscope::kernels {

/// A policy's members of the same name do the same; what does nothing here costs nothing.
class PlainRow {
 public:
  /// `row` counts the B * H * N rows; the last block's may lie beyond.
  template <typename Parameters>
  __device__ PlainRow(const Parameters& parameters, Index row)
      : keys_end_(parameters.shape.keys_end(static_cast<int>(row % parameters.shape.N))) {}

  /// Soft cap, ALiBi, mask of one score; T is what scores are stored as.
  template <typename T>
  __device__ void shape_score(float& s, int key) const {
    if (key >= keys_end_) s = device::kMinusInfinity;
  }
  /// Which of kWidth neighbouring elements dropout keeps, a bit each.
  template <int kWidth>
  __device__ uint32_t kept(int /*column*/) const {
    return ~0u;
  }
  __device__ float dropout_scale() const { return 1.0f; }
  /// dS = slope * dS with the soft cap's slopes at the stored scores, from element `first` on.
  template <typename T, int kWidth, typename Parameters>
  __device__ void apply_slopes(float (&)[kWidth], const Parameters&, Index /*first*/) const {}

 private:
  int keys_end_;
};

class ScoredRow {
 public:
  template <typename Parameters>
  __device__ ScoredRow(const Parameters& parameters, Index row) : scores_(parameters.scores) {
    const ForwardShape& shape = parameters.shape;
    const Index existing = min(row, parameters.rows - 1);
    const Index head = existing / shape.N;
    query_ = static_cast<int>(existing % shape.N);
    head_ = static_cast<int>(head % shape.heads);
    batch_ = static_cast<int>(head / shape.heads);
    seen_ = seen_keys(shape, scores_, batch_, query_);
    slope_ = device::alibi_slope(scores_, head_);
  }

  template <typename T>
  __device__ void shape_score(float& s, int key) const {
    if (scores_.soft_cap > 0.0f) s = scores_.soft_cap * capped_tanh<T>(s);
    if (scores_.alibi_slopes != nullptr) {
      s += device::alibi_bias(slope_, static_cast<float>(key - seen_.aligned));
    }
    if (key < seen_.begin || key >= seen_.end) s = device::kMinusInfinity;
  }

  template <int kWidth>
  __device__ uint32_t kept(int column) const {
    constexpr int kKeys = 4;  // of a drawing
    if (!scores_.drops) return ~0u;
    uint32_t bits = 0;
#pragma unroll
    for (int e = 0; e < kWidth; e += kKeys) bits |= drawn((column + e) / kKeys) << e;
    return kWidth < kKeys ? bits >> column % kKeys : bits;
  }
  __device__ bool drops() const {
    return scores_.drops;
  }
  __device__ float dropout_scale() const {
    return scores_.dropout_scale;
  }

  template <typename T, int kWidth, typename Parameters>
  __device__ void apply_slopes(float (&dS)[kWidth], const Parameters& parameters,
                               Index first) const {
    if (!(scores_.soft_cap > 0.0f)) return;
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
  int query_, head_, batch_;
  SeenKeys seen_;
  float slope_;  ///< of ALiBi
};

template <typename Parameters>
inline constexpr bool kIsScored = requires(Parameters given) {
  given.scores;
};

/// The policy that a launch's parameters ask for.
template <typename Parameters>
using RowScores = device::Select<kIsScored<Parameters>, ScoredRow, PlainRow>;

}  // namespace attnscope::kernels
