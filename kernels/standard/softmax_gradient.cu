/// The softmax's gradient of standard attention: dS = P * (dP - rowsum(P * dP)), row by row, one
/// launch between cuBLAS products. The twin of the launch "dS" in
/// sim/schedule/standard_backward.cpp.
///
/// P and dP are whole [B, H, N, N_kv] tensors in HBM: both are read once and dS is written once, in
/// dP's place. The rows stay in registers in between, as they are stored; those beyond 16,384 keys
/// do not fit there, and P and dP are read twice. The mask needs no work: P is zero where it hides.
/// Dropout draws the forward pass's bits again: dP = dropout(dP). A soft cap has S read once more:
/// dS = (1 - tanh(S / cap)^2) * dS; rows beyond 8,192 keys are then read in two sweeps.

#include "kernels/host/launch_kernel.h"
#include "kernels/standard/row_launch.cuh"
#include "kernels/standard/row_scores.cuh"
#include "kernels/standard/softmax_gradient.h"

namespace attnscope::kernels {

namespace {

/// kThreads threads hold a row, kElements each, in pieces of kWidth.
template <typename T, int kThreads, int kElements, int kWidth, typename Parameters>
__global__ void __launch_bounds__(kThreads == 32 ? 128 : kThreads)
    softmax_gradient(const Parameters parameters) {
  constexpr int kPieces = kElements / kWidth;
  const ForwardShape& shape = parameters.shape;
  const Index row = row_of_thread(kThreads);
  const RowScores<Parameters> scores(parameters, row);
  if (row >= parameters.rows) return;
  const int first = static_cast<int>(threadIdx.x) % kThreads * kWidth;
  const T* const P = static_cast<const T*>(parameters.P) + row * shape.N_kv;
  T* const dP = static_cast<T*>(parameters.dP) + row * shape.N_kv;

  // load P, dP; dP = dropout(dP), but for its scale; D = rowsum(P * dP)
  RowPiece<T, kWidth> P_pieces[kPieces], dP_pieces[kPieces];
  float D = 0.0f;
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const int column = first + piece * kThreads * kWidth;
    if (column >= shape.N_kv) continue;
    load_piece(P_pieces[piece], P + column);
    load_piece(dP_pieces[piece], dP + column);
    const uint32_t kept = scores.template kept<kWidth>(column);
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      if ((kept >> e) % 2 == 0) dP_pieces[piece].elements[e] = static_cast<T>(0.0f);
      D = fmaf(P_pieces[piece].value(e), dP_pieces[piece].value(e), D);
    }
  }
  D = reduce_row<kThreads>(D, Sum{}) * scores.dropout_scale();

  // dS = P * (dP - D), times the soft cap's slope; write dS
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const int column = first + piece * kThreads * kWidth;
    if (column >= shape.N_kv) continue;
    float dS[kWidth];
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      dS[e] = P_pieces[piece].value(e) * (dP_pieces[piece].value(e) * scores.dropout_scale() - D);
    }
    scores.template apply_slopes<T, kWidth>(dS, parameters, row * shape.N_kv + column);
    store_elements<T, kWidth>(dP + column, dS);
  }
}

template <int kWidth>
__device__ inline void zero_dropped(float (&values)[kWidth], uint32_t kept) {
#pragma unroll
  for (int e = 0; e < kWidth; ++e) {
    if ((kept >> e) % 2 == 0) values[e] = 0.0f;
  }
}

/// Rows that no block can hold: a sweep for D, and a second for dS.
template <typename T, int kWidth, typename Parameters>
__global__ void __launch_bounds__(1024) softmax_gradient_two_sweeps(const Parameters parameters) {
  constexpr int kThreads = 1024;
  const ForwardShape& shape = parameters.shape;
  const Index row = row_of_thread(kThreads);
  const RowScores<Parameters> scores(parameters, row);
  const int first = static_cast<int>(threadIdx.x) * kWidth;
  const T* const P = static_cast<const T*>(parameters.P) + row * shape.N_kv;
  T* const dP = static_cast<T*>(parameters.dP) + row * shape.N_kv;

  float p[kWidth], gradient[kWidth];
  float D = 0.0f;
  for (int column = first; column < shape.N_kv; column += kThreads * kWidth) {
    load_elements<T, kWidth>(p, P + column);
    load_elements<T, kWidth>(gradient, dP + column);
    zero_dropped(gradient, scores.template kept<kWidth>(column));
#pragma unroll
    for (int e = 0; e < kWidth; ++e) D = fmaf(p[e], gradient[e], D);
  }
  D = reduce_row<kThreads>(D, Sum{}) * scores.dropout_scale();

  for (int column = first; column < shape.N_kv; column += kThreads * kWidth) {
    load_elements<T, kWidth>(p, P + column);
    load_elements<T, kWidth>(gradient, dP + column);
    zero_dropped(gradient, scores.template kept<kWidth>(column));
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      gradient[e] = p[e] * (gradient[e] * scores.dropout_scale() - D);
    }
    scores.template apply_slopes<T, kWidth>(gradient, parameters, row * shape.N_kv + column);
    store_elements<T, kWidth>(dP + column, gradient);
  }
}

/// The smallest instance that holds a row.
template <typename T, int kWidth>
void start_instance(const SoftmaxGradientParameters& parameters, void* stream) {
  using Parameters = SoftmaxGradientParameters;
  const Index rows = parameters.rows;
  const int keys = parameters.shape.N_kv;
  const auto start = [&](auto kernel, int threads, Index rows_per_block) {
    start_kernel(kernel, ceil_div(rows, rows_per_block), threads, 0, stream, parameters);
  };
  static_assert(softmax_rows_per_block(1024) == 4 && softmax_rows_per_block(1025) == 1);
  if (keys <= 256) return start(softmax_gradient<T, 32, 8, kWidth, Parameters>, 128, 4);
  if (keys <= 1024) return start(softmax_gradient<T, 32, 32, kWidth, Parameters>, 128, 4);
  if (keys <= 4096) return start(softmax_gradient<T, 256, 16, kWidth, Parameters>, 256, 1);
  if (keys <= 16384) return start(softmax_gradient<T, 512, 32, kWidth, Parameters>, 512, 1);
  start(softmax_gradient_two_sweeps<T, kWidth, Parameters>, 1024, 1);
}

template <typename T, int kWidth>
void start_instance(const ScoredGradientParameters& parameters, void* stream) {
  using Parameters = ScoredGradientParameters;
  const Index rows = parameters.rows;
  const int keys = parameters.shape.N_kv;
  const int most_keys = parameters.scores.soft_cap > 0.0f ? 8192 : 16384;
  const auto start = [&](auto kernel, int threads, Index rows_per_block) {
    start_kernel(kernel, ceil_div(rows, rows_per_block), threads, 0, stream, parameters);
  };
  if (keys <= 1024) return start(softmax_gradient<T, 32, 32, kWidth, Parameters>, 128, 4);
  if (keys <= most_keys) return start(softmax_gradient<T, 512, 32, kWidth, Parameters>, 512, 1);
  start(softmax_gradient_two_sweeps<T, kWidth, Parameters>, 1024, 1);
}

template <typename T, typename Parameters>
void start_gradient(const Parameters& parameters, void* stream) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
  if (parameters.shape.N_kv % kWidth == 0) {
    start_instance<T, kWidth>(parameters, stream);
  } else {
    start_instance<T, 1>(parameters, stream);
  }
}

template <typename Parameters>
void start_of_dtype(const Parameters& parameters, DType dtype, void* stream) {
  if (dtype == DType::fp16) return start_gradient<device::Fp16>(parameters, stream);
  start_gradient<device::Bf16>(parameters, stream);
}

}  // namespace

void start_softmax_gradient(const SoftmaxGradientParameters& parameters, DType dtype,
                            void* stream) {
  start_of_dtype(parameters, dtype, stream);
}

void start_softmax_gradient(const ScoredGradientParameters& parameters, DType dtype, void* stream) {
  start_of_dtype(parameters, dtype, stream);
}

}  // namespace attnscope::kernels
