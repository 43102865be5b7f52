/// FlashAttention-2, backward, in fp32 on the CUDA cores (arXiv 2307.08691, Algorithm 2).
/// The schedule is sim/schedule/flash2_backward.cpp, launches "preprocess", "backward" and
/// "convert".
///
/// The same block program as flash2_backward.cuh, without tensor cores, with one slot per tile and
/// a shared one for P and dS; LSEi and Di go straight from HBM to registers, and dQ_accum is stored
/// in row order. Read this version first.
#pragma once

#include "kernels/device/backward_parts.cuh"
#include "kernels/device/cuda_core_gradients.cuh"
#include "kernels/device/score_columns.cuh"
#include "kernels/device/tile_of_block.cuh"
#include "kernels/device/trace.cuh"
#include "kernels/device/turns.cuh"
#include "kernels/flash2/flash2_backward_shared.cuh"

namespace attnscope::kernels {

/// The first row of a head's dQ_accum, [B, H, N, d].
__device__ inline float* dQ_accum_of_head(const BackwardParameters& parameters, int batch,
                                          int head) {
  const ForwardShape& shape = parameters.shape;
  return parameters.dQ_accum + (Index{batch} * shape.heads + head) * shape.N * shape.d;
}

/// D = rowsum(dO * O); dQ_accum = 0; sets the first turn.
__global__ void __launch_bounds__(kFlash2RowThreads)
    flash2_preprocess_fp32(const BackwardParameters parameters, int Br) {
  using namespace device;
  constexpr int kRows = kFlash2RowThreads / kLanesPerRow * kRowsPerLane;  // at a time
  const ForwardShape& shape = parameters.shape;
  const TileOfBlock tile(shape.heads, shape.N, Br);
  const auto O = rows_of_head<const float>(parameters.O, tile.batch, tile.head);
  const auto dO = rows_of_head<const float>(parameters.dO, tile.batch, tile.head);
  float* const D_tile =
      parameters.D + (Index{tile.batch} * shape.heads + tile.head) * shape.N + tile.first_row;
  const int thread = static_cast<int>(threadIdx.x);
  const int x = thread % kLanesPerRow;

  for (int first = 0; first < tile.rows; first += kRows) {
    const int first_row = first + thread / kLanesPerRow * kRowsPerLane;
    float D[kRowsPerLane];
#pragma unroll
    for (int r = 0; r < kRowsPerLane; ++r) {
      const int row = first_row + r;
      float sum = 0.0f;
      for (int column = x; row < tile.rows && column < shape.d; column += kLanesPerRow) {
        const Index head_row = tile.first_row + row;
        sum = fmaf(__ldcg(O.row(head_row) + column), __ldcg(dO.row(head_row) + column), sum);
      }
      D[r] = row_sum(sum);
    }
    store_statistic(D_tile, D, first_row, tile.rows, x);
  }

  if (parameters.dQ_turns != nullptr && thread == 0) parameters.dQ_turns[blockIdx.x] = 0;
  float* const dQ_accum =
      dQ_accum_of_head(parameters, tile.batch, tile.head) + tile.first_row * shape.d;
  for (int n = thread; n < tile.rows * shape.d; n += kFlash2RowThreads) __stcg(dQ_accum + n, 0.0f);
}

/// dQ = softmax_scale dQ_accum: scales the sum, without rounding.
__global__ void __launch_bounds__(kFlash2RowThreads)
    flash2_convert_dq_fp32(const BackwardParameters parameters, int Br) {
  const ForwardShape& shape = parameters.shape;
  const device::TileOfBlock tile(shape.heads, shape.N, Br);
  const auto dQ = rows_of_head<float>(parameters.dQ, tile.batch, tile.head);
  const float* const dQ_accum =
      dQ_accum_of_head(parameters, tile.batch, tile.head) + tile.first_row * shape.d;
  const int thread = static_cast<int>(threadIdx.x);
  for (int n = thread; n < tile.rows * shape.d; n += kFlash2RowThreads) {
    const int row = n / shape.d;
    __stcg(dQ.row(tile.first_row + row) + n % shape.d, shape.softmax_scale * __ldcg(dQ_accum + n));
  }
}

/// The number of columns of a tile's product that are summed at a time: all at once would need too
/// many registers.
template <int d>
constexpr int columns_at_a_time = d <= 32 ? d : (d % 64 == 0 ? 64 : 32);

/// dQi += dS Kj atomically, in L2, without the scale: the thread's four rows from `first_row` on.
/// Blocks take turns if the order of the adds must be the same on every run.
template <int d, int Br, int Bc>
__device__ inline void add_query_gradient_fp32(const BackwardParameters& parameters, int i,
                                               const float* dS_rows,
                                               const device::FloatTile<Bc, d>& Kj, int first_row,
                                               int x) {
  constexpr int kPart = columns_at_a_time<d>;
  const ForwardShape& shape = parameters.shape;
  const auto tile = device::column_tile_of_block<Bc>(shape);
  const int row = i * Br + first_row;
  float* const dQ_rows = dQ_accum_of_head(parameters, tile.batch, tile.head) + Index{row} * shape.d;
  const bool in_turns = parameters.dQ_turns != nullptr;
  if (in_turns) device::await_turn(device::turn_of_row_tile<Br, Bc>(parameters, i), tile.j);
#pragma unroll 1
  for (int column = 0; column < d; column += kPart) {
    device::LanePiece<kPart> dQ{};
    device::accumulate_rows(dQ, dS_rows, Kj, x, column);
    device::atomic_add_rows<kPart>(dQ_rows + column, shape.d, dQ, shape.N - row, shape.d - column,
                                   x);
  }
  if (in_turns) device::pass_turn(device::turn_of_row_tile<Br, Bc>(parameters, i));
}

template <int d, int Br, int Bc, typename Trace = device::NoTrace>
__global__ void __launch_bounds__(4 * Br, 1)
    flash2_backward_fp32(const typename Trace::template Parameters<BackwardParameters> parameters) {
  using namespace device;
  static_assert(flash2_backward_fp32_shared_bytes(d, {Br, Bc}) ==
                4 * (2 * (Br + Bc) * d + Br * padded<Bc>));
  static_assert(Br == Bc);  // each thread owns four rows and four keys
  constexpr int kThreads = 4 * Br;
  constexpr Columns kColumns = Columns::first;
  extern __shared__ __align__(1024) float shared_floats[];
  using TileQ = FloatTile<Br, d>;
  using TileKV = FloatTile<Bc, d>;
  const TileKV Kj{shared_floats};
  const TileKV Vj{Kj.data + TileKV::kFloats};
  const TileQ Qi{Vj.data + TileKV::kFloats};
  const TileQ dOi{Qi.data + TileQ::kFloats};
  float* const P_dS = dOi.data + TileQ::kFloats;

  const ForwardShape& shape = parameters.shape;
  const auto [j, head, batch, keys] = column_tile_of_block<Bc>(shape);
  const int thread = static_cast<int>(threadIdx.x);
  const int x = thread % kLanesPerRow;
  const int first = thread / kLanesPerRow * kRowsPerLane;  // row or key of this thread, in the tile
  const int kv_head = head / shape.heads_per_kv_head;
  const auto Q = rows_of_head<const float>(parameters.Q, batch, head);
  const auto K = rows_of_head<const float>(parameters.K, batch, kv_head);
  const auto V = rows_of_head<const float>(parameters.V, batch, kv_head);
  const auto dO = rows_of_head<const float>(parameters.dO, batch, head);
  const Index head_rows = (Index{batch} * shape.heads + head) * shape.N;
  const PlainColumns<Br, Bc> seen(parameters, j, keys, head, batch, nullptr);

  Trace trace(parameters, j);

  // load Kj, Vj; dKj = 0; dVj = 0
  load_tile_async<kThreads, kColumns>(Kj.layout(), K.row(Index{j} * Bc), K.stride_row, keys, thread,
                                      shape.d);
  trace.did(TraceStep::load_Kj, 0, j);
  load_tile_async<kThreads, kColumns>(Vj.layout(), V.row(Index{j} * Bc), V.stride_row, keys, thread,
                                      shape.d);
  commit_copies();
  trace.did(TraceStep::load_Vj, 0, j);
  LanePiece<d> dK{}, dV{};

  for (int i = seen.first_tile(); i < seen.past_last_tile(); ++i) {
    // load Qi, dOi, LSEi, Di
    const Index first_query = Index{i} * Br;
    const int rows = min(Br, shape.N - i * Br);
    __syncthreads();  // Barrier A: every thread is done with Qi and dS before they are overwritten.
    load_tile_async<kThreads, kColumns>(Qi.layout(), Q.row(first_query), Q.stride_row, rows, thread,
                                        shape.d);
    trace.did(TraceStep::load_Qi, i, 0);
    load_tile_async<kThreads, kColumns>(dOi.layout(), dO.row(first_query), dO.stride_row, rows,
                                        thread, shape.d);
    commit_copies();
    trace.did(TraceStep::load_dOi, i, 0);
    float LSE[kRowsPerLane], D[kRowsPerLane];
    load_statistic(LSE, parameters.LSE + head_rows, i * Br + first, shape.N, kMinusInfinity, x);
    load_statistic(D, parameters.D + head_rows, i * Br + first, shape.N, 0.0f, x);
    trace.did(TraceStep::load_statistics, i, 0);
    wait_copies<0>();
    __syncthreads();  // Barrier B: every thread's copies of Qi and dOi, Kj and Vj have arrived.
    trace.did(TraceStep::wait, i, j);

    // S = scale Qi Kj^T, masked where the mask's edge or the last key cuts the tile; P = exp(S -
    // LSEi)
    LanePiece<Bc> P;
    multiply_scores(P, Qi, Kj, first, x);
    trace.did(TraceStep::scores, i, j);
    if ((j + 1) * Bc > shape.keys_end(i * Br)) {
      mask_scores<Bc>(P, i * Br + first + shape.diagonal_offset + 1 - j * Bc, keys, x);
      trace.did(TraceStep::mask, i, j);
    }
    exponentiate<Bc>(P, LSE, shape.softmax_scale);
    trace.did(TraceStep::exponentiate, i, j);

    // dVj = dVj + P^T dOi
    write_rows<Bc>(P_dS + first * padded<Bc>, P, x);
    __syncthreads();  // Barrier C: P of every thread is in shared memory.
    accumulate_columns<Br, Bc, columns_at_a_time<d>>(dV, P_dS, dOi, first, x);
    trace.did(TraceStep::accumulate_dV, i, j);

    // dP = dOi Vj^T; dS = P * (dP - Di)
    LanePiece<Bc> dS;
    multiply_scores(dS, dOi, Vj, first, x);
    trace.did(TraceStep::product_dP, i, j);
    softmax_gradient<Bc>(dS, P, D);
    trace.did(TraceStep::softmax_gradient, i, j);
    __syncthreads();  // Barrier D: every thread has read P before dS takes its place.
    write_rows<Bc>(P_dS + first * padded<Bc>, dS, x);
    __syncthreads();  // Barrier E: dS of every thread is in shared memory.

    // dQi = dQi + dS Kj, atomically; dKj = dKj + dS^T Qi; both without the scale
    add_query_gradient_fp32<d, Br, Bc>(parameters, i, P_dS + first * padded<Bc>, Kj, first, x);
    trace.did(TraceStep::add_dQi, i, j);
    accumulate_columns<Br, Bc, columns_at_a_time<d>>(dK, P_dS, Qi, first, x);
    trace.did(TraceStep::accumulate_dK, i, j);
  }

  // store dKj, dVj
  wait_copies<0>();  // copies of a block that no row tile sees
  const auto dK_rows = rows_of_head<float>(parameters.dK_heads, batch, head);
  const auto dV_rows = rows_of_head<float>(parameters.dV_heads, batch, head);
  const Index first_key = Index{j} * Bc + first;
  store_rows<d>(dK_rows.row(first_key), dK_rows.stride_row, dK, shape.softmax_scale, keys - first,
                shape.d, x);
  trace.did(TraceStep::store_dKj, 0, j);
  store_rows<d>(dV_rows.row(first_key), dV_rows.stride_row, dV, 1.0f, keys - first, shape.d, x);
  trace.did(TraceStep::store_dVj, 0, j);
  trace.end();
}

}  // namespace attnscope::kernels
