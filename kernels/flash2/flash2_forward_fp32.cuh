/// FlashAttention-2, forward, in fp32 on the CUDA cores (arXiv 2307.08691, Algorithm 1).
/// The schedule is sim/schedule/flash2_forward.cpp.
///
/// The same block program as flash2_forward.cuh, without tensor cores and with one slot each for Kj
/// and Vj. Read this version first. Tiles are d columns wide; where the problem's rows are shorter,
/// the columns beyond them are zero on chip and are never transferred.
#pragma once

#include "kernels/device/cuda_core_tiles.cuh"
#include "kernels/flash2/flash2_forward.cuh"

namespace attnscope::kernels {

template <int d, int Br, int Bc, typename Trace = device::NoTrace>
__global__ void __launch_bounds__(4 * Br, 1)
    flash2_forward_fp32(const typename Trace::template Parameters<ForwardParameters> parameters) {
  using namespace device;
  constexpr int kThreads = 4 * Br;
  extern __shared__ __align__(1024) float shared_floats[];
  using TileQ = FloatTile<Br, d>;
  using TileKV = FloatTile<Bc, d>;
  const TileQ Qi{shared_floats};
  const TileKV Kj{Qi.data + TileQ::kFloats};
  const TileKV Vj{Kj.data + TileKV::kFloats};
  float* const P = Vj.data + TileKV::kFloats;

  const ForwardShape& shape = parameters.shape;
  const auto [i, head, batch, rows] = row_tile_of_block<Br>(shape);
  const int thread = static_cast<int>(threadIdx.x);
  const int x = thread % kLanesPerRow;
  const int first_row = thread / kLanesPerRow * kRowsPerLane;  // of this thread, within the tile
  const int kv_head = head / shape.heads_per_kv_head;
  const auto Q = rows_of_head<const float>(parameters.Q, batch, head);
  const auto K = rows_of_head<const float>(parameters.K, batch, kv_head);
  const auto V = rows_of_head<const float>(parameters.V, batch, kv_head);

  Trace trace(parameters, i);

  // load Qi
  load_tile_async<kThreads, Columns::first>(Qi.layout(), Q.row(Index{i} * Br), Q.stride_row, rows,
                                            thread, shape.d);
  trace.did(TraceStep::load_Qi, i, 0);

  // O = 0, m = -inf, l = 0
  LanePiece<d> O{};
  float m[kRowsPerLane], l[kRowsPerLane];
#pragma unroll
  for (int r = 0; r < kRowsPerLane; ++r) {
    m[r] = kMinusInfinity;
    l[r] = 0.0f;
  }

  const int tile_count = (shape.keys_end(i * Br + rows - 1) + Bc - 1) / Bc;
  for (int j = 0; j < tile_count; ++j) {
    // load Kj, Vj
    const int keys = min(Bc, shape.N_kv - j * Bc);
    __syncthreads();  // Barrier A: every thread is done with the tiles before they are overwritten.
    load_tile_async<kThreads, Columns::first>(Kj.layout(), K.row(Index{j} * Bc), K.stride_row, keys,
                                              thread, shape.d);
    trace.did(TraceStep::load_Kj, 0, j);
    load_tile_async<kThreads, Columns::first>(Vj.layout(), V.row(Index{j} * Bc), V.stride_row, keys,
                                              thread, shape.d);
    commit_copies();
    trace.did(TraceStep::load_Vj, 0, j);
    wait_copies<0>();
    __syncthreads();  // Barrier B: every thread's copies of Qi, Kj and Vj have arrived.
    trace.did(TraceStep::wait, i, j);

    // S = Qi Kj^T, masked where the tile crosses the mask's edge or the last key
    LanePiece<Bc> S;
    multiply_scores(S, Qi, Kj, first_row, x);
    trace.did(TraceStep::scores, i, j);
    if ((j + 1) * Bc > shape.keys_end(i * Br)) {
      const int first_row_end = i * Br + first_row + shape.diagonal_offset + 1 - j * Bc;
      mask_scores<Bc>(S, first_row_end, keys, x);
      trace.did(TraceStep::mask, i, j);
    }

    // m, alpha; P = exp(S - m); l = alpha l + rowsum(P); O = diag(alpha) O + P Vj
#pragma unroll
    for (int r = 0; r < kRowsPerLane; ++r) {
      float alpha;
      const float sum = fold_row<Bc>(S[r], m[r], alpha, shape.softmax_scale_log2);
      l[r] = alpha * l[r] + sum;
#pragma unroll
      for (int c = 0; c < d / kLanesPerRow; ++c) O[r][c] *= alpha;
      trace.row(x == 0, i * Br + first_row + r, j, m[r], l[r], alpha);
    }
    trace.did(TraceStep::update_max, i, j);  // all three in one loop over the rows
    trace.did(TraceStep::exponentiate, i, j);
    trace.did(TraceStep::rescale, i, j);
    accumulate_output<Bc, d>(O, S, P + first_row * padded<Bc>, Vj, x);
    trace.did(TraceStep::accumulate, i, j);
  }

  // O = diag(1 / l) O; LSE = m + log l; store Oi, LSEi; a row without keys has O = 0
  const auto O_rows = rows_of_head<float>(parameters.O, batch, head);
  float LSE[kRowsPerLane];
#pragma unroll
  for (int r = 0; r < kRowsPerLane; ++r) {
    LSE[r] = log_sum_exp(m[r], l[r], shape.softmax_scale);
    const float inverse_l = l[r] == 0.0f ? 0.0f : 1.0f / l[r];
    const int row = first_row + r;
    if (row >= rows) continue;
#pragma unroll
    for (int c = 0; c < d / kLanesPerRow; ++c) {
      const int column = x + c * kLanesPerRow;
      if (column >= shape.d) continue;
      __stcg(O_rows.row(Index{i} * Br + row) + column, O[r][c] * inverse_l);
    }
  }
  trace.did(TraceStep::normalize, i, 0);
  trace.did(TraceStep::store_Oi, i, 0);
  float* const LSE_head = parameters.LSE + (Index{batch} * shape.heads + head) * shape.N;
  store_statistic(LSE_head, LSE, i * Br + first_row, shape.N, x);
  trace.did(TraceStep::store_LSEi, i, 0);
  trace.end();
}

}  // namespace attnscope::kernels
