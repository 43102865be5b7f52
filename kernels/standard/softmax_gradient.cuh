/// The softmax's gradient of standard attention: dS = P * (dP - rowsum(P * dP)), row by row, one
/// launch between cuBLAS products. It follows the launch "dS" of
/// sim/schedule/standard_backward.cpp.
///
/// P and dP are whole [B, H, N, N_kv] tensors in HBM: both are read once and dS is written once, in
/// dP's place. The rows stay in registers in between, in the type in which they are stored; rows of
/// more than 16,384 keys do not fit: softmax_gradient_two_sweeps.cuh. The mask needs no work, since
/// P is zero for hidden keys. The bits of dropout are drawn as in the forward pass: dP =
/// dropout(dP). With a soft cap, S is read once more: dS = (1 - tanh(S / cap)^2) * dS; rows of more
/// than 8,192 keys are then read in two sweeps.
#pragma once

#include "kernels/standard/row_launch.cuh"
#include "kernels/standard/row_scores.cuh"
#include "kernels/standard/softmax_parameters.cuh"

namespace attnscope::kernels {

/// kThreads threads hold a row, kElements each, in pieces of kWidth.
template <typename T, int kThreads, int kElements, int kWidth, ScoreFeatures kFeatures>
__global__ void __launch_bounds__(kThreads == 32 ? 128 : kThreads)
    softmax_gradient(const SoftmaxGradientParameters parameters) {
  constexpr int kPieces = kElements / kWidth;
  const ForwardShape& shape = parameters.shape;
  const Index row = row_of_thread(kThreads);
  const RowScores<kFeatures> scores(parameters, row);
  if (row >= parameters.rows) return;
  const int first = static_cast<int>(threadIdx.x) % kThreads * kWidth;
  const T* const P = static_cast<const T*>(parameters.P) + row * shape.N_kv;
  T* const dP = static_cast<T*>(parameters.dP) + row * shape.N_kv;

  // load P, dP; dP = dropout(dP), but for its scale; D = rowsum(P * dP) @load @drop_dP
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
      D = fmaf(P_pieces[piece].value(e), dP_pieces[piece].value(e), D);  // @row_dot
    }
  }
  D = reduce_row<kThreads>(D, Sum{}) * scores.dropout_scale();

  // dS = P * (dP - D), times the soft cap's slope; write dS @softmax_gradient
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const int column = first + piece * kThreads * kWidth;
    if (column >= shape.N_kv) continue;
    float dS[kWidth];
#pragma unroll
    for (int e = 0; e < kWidth; ++e) {
      dS[e] = P_pieces[piece].value(e) * (dP_pieces[piece].value(e) * scores.dropout_scale() - D);
    }
    // @load_scores @soft_cap @apply_slope
    scores.template apply_slopes<T, kWidth>(dS, parameters, row * shape.N_kv + column);
    store_elements<T, kWidth>(dP + column, dS);  // @store
  }
}

}  // namespace attnscope::kernels
