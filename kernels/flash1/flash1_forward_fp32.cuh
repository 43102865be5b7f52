/// FlashAttention-1, forward, in fp32 on the CUDA cores (arXiv 2205.14135, Algorithm 1).
/// It follows the schedule sim/schedule/flash1_forward.cpp.
///
/// The same block program as flash1_forward.cuh, without tensor cores and with one slot per tile;
/// Oi goes straight between HBM and registers. Read this version first.
#pragma once

#include "kernels/device/cuda_core_tiles.cuh"
#include "kernels/device/trace.cuh"
#include "kernels/flash1/flash1_parameters.cuh"

namespace attnscope::kernels {

template <int d, int Br, int Bc, typename Trace = device::NoTrace>
__global__ void __launch_bounds__(4 * Br, 1)
    flash1_forward_fp32(const typename Trace::template Parameters<Flash1Parameters> parameters) {
  using namespace device;
  constexpr int kThreads = 4 * Br;
  extern __shared__ __align__(1024) float shared_floats[];
  using TileQ = FloatTile<Br, d>;
  using TileKV = FloatTile<Bc, d>;
  const TileKV Kj{shared_floats};
  const TileKV Vj{Kj.data + TileKV::kFloats};
  const TileQ Qi{Vj.data + TileKV::kFloats};
  float* const P = Qi.data + TileQ::kFloats;

  const ForwardShape& shape = parameters.shape;
  const int head = static_cast<int>(blockIdx.x) % shape.heads;
  const int batch = static_cast<int>(blockIdx.x) / shape.heads;
  const int kv_head = head / shape.heads_per_kv_head;
  const int thread = static_cast<int>(threadIdx.x);
  const int x = thread % kLanesPerRow;
  const int tile_row = thread / kLanesPerRow * kRowsPerLane;  // first row of this thread
  const auto Q = rows_of_head<const float>(parameters.Q, batch, head);
  const auto K = rows_of_head<const float>(parameters.K, batch, kv_head);
  const auto V = rows_of_head<const float>(parameters.V, batch, kv_head);
  const auto O = rows_of_head<float>(parameters.O, batch, head);
  float* const m_head = parameters.m + Index{blockIdx.x} * shape.N;
  float* const l_head = parameters.l + Index{blockIdx.x} * shape.N;
  Trace trace(parameters, 0);

  const int Tr = (shape.N + Br - 1) / Br;
  const int Tc = (shape.keys_end(shape.N - 1) + Bc - 1) / Bc;  // column tiles that any row sees
  for (int j = 0; j < Tc; ++j) {
    // load Kj, Vj
    const int keys = min(Bc, shape.N_kv - j * Bc);
    // Barrier A: every thread is done with Kj, Vj before they are overwritten, and its O, m and l
    // of the previous pass are visible to the threads that read them now.
    __syncthreads();
    trace.did(TraceStep::wait, 0, j);
    load_tile_async<kThreads, Columns::first>(Kj.layout(), K.row(Index{j} * Bc), K.stride_row, keys,
                                              thread, shape.d);
    trace.did(TraceStep::load_Kj, 0, j);
    load_tile_async<kThreads, Columns::first>(Vj.layout(), V.row(Index{j} * Bc), V.stride_row, keys,
                                              thread, shape.d);
    trace.did(TraceStep::load_Vj, 0, j);

    for (int i = max(0, j * Bc - shape.diagonal_offset) / Br; i < Tr; ++i) {
      // load Qi
      const int rows = min(Br, shape.N - i * Br);
      __syncthreads();  // Barrier B: every thread is done with Qi before it is overwritten.
      load_tile_async<kThreads, Columns::first>(Qi.layout(), Q.row(Index{i} * Br), Q.stride_row,
                                                rows, thread, shape.d);
      commit_copies();
      trace.did(TraceStep::load_Qi, i, 0);
      wait_copies<0>();
      __syncthreads();  // Barrier C: every thread's copies of Kj, Vj and Qi have arrived.
      trace.did(TraceStep::wait, i, j);

      // S = Qi Kj^T, masked where the tile crosses the mask's edge or the last key
      const int first_row = i * Br + tile_row;
      LanePiece<Bc> S;
      multiply_scores(S, Qi, Kj, tile_row, x);
      trace.did(TraceStep::scores, i, j);
      if ((j + 1) * Bc > shape.keys_end(i * Br)) {
        mask_scores<Bc>(S, first_row + shape.diagonal_offset + 1 - j * Bc, keys, x);
        trace.did(TraceStep::mask, i, j);
      }

      // load Oi, li, mi
      LanePiece<d> Oi;
      float m[kRowsPerLane], l[kRowsPerLane], inverse_l[kRowsPerLane];
      load_statistic(m, m_head, first_row, shape.N, kMinusInfinity, x);
      load_statistic(l, l_head, first_row, shape.N, 0.0f, x);
      trace.did(TraceStep::load_statistics, i, 0);
#pragma unroll
      for (int r = 0; r < kRowsPerLane; ++r) {
#pragma unroll
        for (int c = 0; c < d / kLanesPerRow; ++c) {
          const int column = x + c * kLanesPerRow;
          const bool valid = first_row + r < shape.N && column < shape.d;
          Oi[r][c] = valid ? __ldcg(O.row(first_row + r) + column) : 0.0f;
        }
      }
      trace.did(TraceStep::load_Oi, i, 0);

      // m = max(m, rowmax(S)); alpha = exp(m_prev - m); P = exp(S - m); l = alpha l + rowsum(P)
#pragma unroll
      for (int r = 0; r < kRowsPerLane; ++r) {
        float alpha;
        const float sum = fold_row<Bc>(S[r], m[r], alpha, shape.softmax_scale_log2);
        const float weight = alpha * l[r];
        l[r] = weight + sum;
        inverse_l[r] = l[r] == 0.0f ? 0.0f : 1.0f / l[r];
#pragma unroll
        for (int c = 0; c < d / kLanesPerRow; ++c) Oi[r][c] *= weight;
        trace.row(x == 0, first_row + r, j, m[r], l[r], alpha);
      }
      trace.did(TraceStep::update_max, i, j);  // all three in one loop over the rows
      trace.did(TraceStep::exponentiate, i, j);
      trace.did(TraceStep::rescale, i, j);

      // O = diag(1 / l) (diag(alpha l_prev) O + P Vj); write Oi, li, mi
      accumulate_output<Bc, d>(Oi, S, P + tile_row * padded<Bc>, Vj, x);
      trace.did(TraceStep::accumulate, i, j);
#pragma unroll
      for (int r = 0; r < kRowsPerLane; ++r) {
        if (first_row + r >= shape.N) continue;
#pragma unroll
        for (int c = 0; c < d / kLanesPerRow; ++c) {
          const int column = x + c * kLanesPerRow;
          if (column >= shape.d) continue;
          __stcg(O.row(first_row + r) + column, Oi[r][c] * inverse_l[r]);
        }
      }
      trace.did(TraceStep::normalize, i, 0);
      trace.did(TraceStep::store_Oi, i, 0);
      store_statistic(l_head, l, first_row, shape.N, x);
      store_statistic(m_head, m, first_row, shape.N, x);
      trace.did(TraceStep::store_statistics, i, 0);
    }
  }
  trace.end();
}

}  // namespace attnscope::kernels
