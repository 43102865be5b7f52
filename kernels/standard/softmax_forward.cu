/// The softmax of standard attention: P = softmax(mask(S)), row by row, one launch between two
/// cuBLAS products. The twin of the launch "softmax" in sim/schedule/standard_forward.cpp.
///
/// The lowest rung: S and P are whole [B, H, N, N_kv] tensors in HBM. The kernel is as good as an
/// unfused softmax gets: S is read once and P written once, 16 bytes a thread, the row stays in
/// registers in between. S holds softmax_scale Q K^T already (the product's alpha), so that fp16
/// scores overflow no earlier than the scaled ones.
///
/// All of S is read and all of P is written under a mask too: the product that follows reads the
/// zeros. Rows of N_kv <= 1024 keys are one warp's, four to a block; longer rows are one block's.
/// Rows beyond 32,768 keys (16,384 where N_kv leaves them unaligned to 16 bytes) do not fit in the
/// registers of a block, and S is read twice.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/device/online_softmax.cuh"
#include "kernels/host/launch_kernel.h"
#include "kernels/standard/row_launch.cuh"
#include "kernels/standard/softmax_forward.h"

namespace attnscope::kernels {

namespace {

constexpr float kLog2e = 1.4426950408889634f;

/// kThreads threads hold a row in registers, kElements each, in pieces of kWidth.
template <typename T, int kThreads, int kElements, int kWidth>
__global__ void __launch_bounds__(kThreads == 32 ? 128 : kThreads)
    softmax_forward(const SoftmaxParameters parameters) {
  using namespace device;
  constexpr int kPieces = kElements / kWidth;
  const ForwardShape& shape = parameters.shape;
  const auto [row, keys_end] = row_of_thread(shape, kThreads);
  if (row >= parameters.rows) return;
  const int first = static_cast<int>(threadIdx.x) % kThreads * kWidth;
  const T* const S = static_cast<const T*>(parameters.S) + row * shape.N_kv;
  T* const P = static_cast<T*>(parameters.P) + row * shape.N_kv;

  // load S, mask
  float values[kPieces][kWidth];
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const int column = first + piece * kThreads * kWidth;
    if (column < shape.N_kv) load_elements<T, kWidth>(values[piece], S + column);
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      if (column + e >= keys_end) values[piece][e] = kMinusInfinity;
    }
  }

  // m = rowmax(S); P = exp(S - m); l = rowsum(P)
  float m = kMinusInfinity;
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
#pragma unroll
    for (int e = 0; e < kWidth; ++e) m = fmaxf(m, values[piece][e]);
  }
  m = reduce_row<kThreads>(m, Max{});
  const float m_log2 = finite_log2(m, kLog2e);
  float l = 0.0f;
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      values[piece][e] = exp2_fast(fmaf(values[piece][e], kLog2e, -m_log2));
      l += values[piece][e];
    }
  }
  l = reduce_row<kThreads>(l, Sum{});

  // P = P / l; write P, LSE; a row without keys has P = 0
  const float inverse_l = l == 0.0f ? 0.0f : 1.0f / l;
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const int column = first + piece * kThreads * kWidth;
    if (column >= shape.N_kv) continue;
#pragma unroll
    for (int e = 0; e < kWidth; ++e) values[piece][e] *= inverse_l;
    store_elements<T, kWidth>(P + column, values[piece]);
  }
  if (parameters.LSE != nullptr && first == 0) parameters.LSE[row] = log_sum_exp(m, l, 1.0f);
}

/// Rows that no block can hold: a sweep for m and l (online), and a second for P.
template <typename T, int kWidth>
__global__ void __launch_bounds__(1024)
    softmax_forward_two_sweeps(const SoftmaxParameters parameters) {
  using namespace device;
  constexpr int kThreads = 1024;
  const ForwardShape& shape = parameters.shape;
  const auto [row, keys_end] = row_of_thread(shape, kThreads);
  const int first = static_cast<int>(threadIdx.x) * kWidth;
  const T* const S = static_cast<const T*>(parameters.S) + row * shape.N_kv;
  T* const P = static_cast<T*>(parameters.P) + row * shape.N_kv;

  // First sweep: m and l of this thread's elements, then of the row
  float m_thread = kMinusInfinity, l_thread = 0.0f;
  float values[kWidth];
  for (int column = first; column < shape.N_kv; column += kThreads * kWidth) {
    load_elements<T, kWidth>(values, S + column);
    float m_new = m_thread;
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      if (column + e >= keys_end) values[e] = kMinusInfinity;
      m_new = fmaxf(m_new, values[e]);
    }
    l_thread *= rescaling_factor(m_thread, m_new, kLog2e);
    m_thread = m_new;
    const float m_log2 = finite_log2(m_new, kLog2e);
#pragma unroll
    for (int e = 0; e < kWidth; ++e) l_thread += exp2_fast(fmaf(values[e], kLog2e, -m_log2));
  }
  const float m = reduce_row<kThreads>(m_thread, Max{});
  const float l = reduce_row<kThreads>(l_thread * rescaling_factor(m_thread, m, kLog2e), Sum{});

  // Second sweep: P
  const float m_log2 = finite_log2(m, kLog2e);
  const float inverse_l = l == 0.0f ? 0.0f : 1.0f / l;
  for (int column = first; column < shape.N_kv; column += kThreads * kWidth) {
    load_elements<T, kWidth>(values, S + column);
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      const float s = column + e < keys_end ? values[e] : kMinusInfinity;
      values[e] = exp2_fast(fmaf(s, kLog2e, -m_log2)) * inverse_l;
    }
    store_elements<T, kWidth>(P + column, values);
  }
  if (parameters.LSE != nullptr && first == 0) parameters.LSE[row] = log_sum_exp(m, l, 1.0f);
}

/// The smallest instance that holds a row. kWidth is 16 bytes' worth, or 1 where rows are not
/// aligned to 16 bytes.
template <typename T, int kWidth>
void start_instance(const SoftmaxParameters& parameters, void* stream) {
  const Index rows = parameters.rows;
  const int keys = parameters.shape.N_kv;
  const auto start = [&](auto kernel, int threads, Index rows_per_block) {
    start_kernel(kernel, ceil_div(rows, rows_per_block), threads, 0, stream, parameters);
  };
  static_assert(softmax_rows_per_block(1024) == 4 && softmax_rows_per_block(1025) == 1);
  if (keys <= 256) return start(softmax_forward<T, 32, 8, kWidth>, 128, 4);
  if (keys <= 512) return start(softmax_forward<T, 32, 16, kWidth>, 128, 4);
  if (keys <= 1024) return start(softmax_forward<T, 32, 32, kWidth>, 128, 4);
  if (keys <= 2048) return start(softmax_forward<T, 128, 16, kWidth>, 128, 1);
  if (keys <= 4096) return start(softmax_forward<T, 256, 16, kWidth>, 256, 1);
  if (keys <= 8192) return start(softmax_forward<T, 256, 32, kWidth>, 256, 1);
  if (keys <= 16384) return start(softmax_forward<T, 512, 32, kWidth>, 512, 1);
  if constexpr (kWidth > 1) {
    if (keys <= 32768) return start(softmax_forward<T, 1024, 32, kWidth>, 1024, 1);
  }
  start(softmax_forward_two_sweeps<T, kWidth>, 1024, 1);
}

template <typename T>
void start_softmax(const SoftmaxParameters& parameters, void* stream) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
  if (parameters.shape.N_kv % kWidth == 0) {
    start_instance<T, kWidth>(parameters, stream);
  } else {
    start_instance<T, 1>(parameters, stream);
  }
}

}  // namespace

void start_softmax_forward(const SoftmaxParameters& parameters, DType dtype, void* stream) {
  switch (dtype) {
    case DType::fp32:
      return start_softmax<float>(parameters, stream);
    case DType::fp16:
      return start_softmax<__half>(parameters, stream);
    case DType::bf16:
      return start_softmax<__nv_bfloat16>(parameters, stream);
  }
}

}  // namespace attnscope::kernels
