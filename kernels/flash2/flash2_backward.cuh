/// FlashAttention-2, backward, on the tensor cores (arXiv 2307.08691, Algorithm 2).
/// The twin of sim/schedule/flash2_backward.cpp, launch "backward".
///
/// A thread block owns column tile j of one head and sweeps the row tiles i that see it, ascending.
/// dKj and dVj never leave the chip. Every row tile's dQ is a sum over the blocks of all column
/// tiles: each adds its part to dQ_accum in HBM, atomically, so dQ depends on their order in its
/// last bits; dK and dV do not.
///
/// Requested of memory by one block, valid rows only: Kj, Vj once; Qi, dOi, LSEi, Di of each row
/// tile that sees column tile j; dQi added in fp32 for each; dKj and dVj written once.
///
/// On chip: Kj, Vj, two stages of (Qi, dOi, LSEi, Di) and dS in shared memory; S, P, dP, dS, dKj
/// and dVj in registers, transposed. Each warp owns 16 keys.
#pragma once

#include <algorithm>

#include "kernels/backward_parameters.h"
#include "kernels/device/gradient_products.cuh"
#include "kernels/device/place.cuh"

namespace attnscope::kernels {

/// Where things lie in the shared memory of one block, in bytes.
template <int Br, int Bc, int d>
struct Flash2BackwardShared {
  static constexpr int kRowTileBytes = Br * d * 2;
  static constexpr int kColumnTileBytes = Bc * d * 2;
  static constexpr int K = 0;
  static constexpr int V = K + kColumnTileBytes;
  static constexpr int Q = V + kColumnTileBytes;  ///< two stages
  static constexpr int dO = Q + 2 * kRowTileBytes;
  static constexpr int dS = dO + 2 * kRowTileBytes;
  static constexpr int statistics = dS + Br * Bc * 2;  ///< two stages of LSE log2(e), D
  static constexpr int kBytes = statistics + 2 * 2 * Br * 4;
};

/// How the warps share dQi = dS K: each takes a part of 16 kRowPieces rows and kColumns columns,
/// near square, so that each reads little of dS and K.
template <int Br, int d, int kWarps>
struct QueryGradientParts {
  static constexpr int kAcross = std::min(kWarps / std::max(1, std::min(kWarps, Br / 32)), d / 16);
  static constexpr int kDown = kWarps / kAcross;
  static constexpr int kRowPieces = Br / kDown / 16;
  static constexpr int kColumns = d / kAcross;
  static_assert(kDown * kRowPieces * 16 == Br && kAcross * kColumns == d && kColumns % 16 == 0);
};

/// Which column tile a block owns. Column tiles are neighbours in the grid, the first of a head
/// first: under a causal mask the most row tiles see it.
struct ColumnTile {
  int j, head, batch;
  int keys;  ///< valid columns of the tile
};

template <int Bc>
__device__ inline ColumnTile column_tile_of_block(const ForwardShape& shape) {
  const int block = device::block_index();
  const int Tc = (shape.N_kv + Bc - 1) / Bc;
  const int j = block % Tc;
  const int head = block / Tc;
  return {j, head % shape.heads, head / shape.heads, min(Bc, shape.N_kv - j * Bc)};
}

/// One value of LSEi (threads 0 to Br - 1) or Di (the next Br), as the forward pass and preprocess
/// left it. Rows that do not exist look like empty ones.
template <int Br>
__device__ inline float load_row_statistic(const BackwardParameters& parameters, Index head_row,
                                           int i, int thread) {
  const bool is_LSE = thread < Br;
  const int row = i * Br + thread % Br;
  if (thread >= 2 * Br || row >= parameters.shape.N) return is_LSE ? device::kMinusInfinity : 0.0f;
  return __ldcg((is_LSE ? parameters.LSE : parameters.D) + head_row + row);
}

/// Puts it into shared memory: LSE in the exponent's unit, and as infinity for an empty row, whose
/// P is zero.
template <int Br>
__device__ inline void store_row_statistic(float* statistics, float value, int thread) {
  constexpr float kLog2e = 1.4426950408889634f;
  if (thread < Br) value = value == device::kMinusInfinity ? -value : value * kLog2e;
  if (thread < 2 * Br) statistics[thread] = value;
}

/// The end of a warp's program for one of dKj, dVj: store it through the warp's rows of `slot`.
template <typename T, int Bc, int d>
__device__ inline void store_key_gradient(const TensorView& tensor, std::uint32_t slot,
                                          const device::Accumulator<1, d>& gradient,
                                          const ForwardShape& shape) {
  using namespace device;
  const auto [j, head, batch, keys] = column_tile_of_block<Bc>(shape);
  const int lane = thread_index() % 32;
  const int warp_key = thread_index() / 32 * 16;
  const SharedTile<16, d> tile{slot + warp_key * SharedTile<Bc, d>::kRowBytes};
  write_fragments<T, 1, d>(tile, gradient, lane);
  __syncwarp();  // Barrier D: the fragments of all lanes are written before rows are read.
  const auto rows = rows_of_head<T>(tensor, batch, head);
  store_tile<32>(rows.row(Index{j} * Bc + warp_key), rows.stride_row, tile, keys - warp_key, lane);
}

template <typename T, int d, int Br, int Bc, int kWarps>
__global__ void __launch_bounds__(kWarps * 32, 1)
    flash2_backward(const BackwardParameters parameters) {
  using namespace device;
  using Shared = Flash2BackwardShared<Br, Bc, d>;
  using Part = QueryGradientParts<Br, d, kWarps>;
  using TileQ = SharedTile<Br, d>;
  using TileKV = SharedTile<Bc, d>;
  using TileS = SharedTile<Bc, Br>;
  constexpr int kThreads = kWarps * 32;
  static_assert(Bc == 16 * kWarps && Br % 16 == 0 && d % 16 == 0 && 2 * Br <= kThreads);
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t base = shared_address(shared);
  float* const statistics = reinterpret_cast<float*>(shared + Shared::statistics);

  const ForwardShape& shape = parameters.shape;
  const auto [j, head, batch, keys] = column_tile_of_block<Bc>(shape);
  const int thread = thread_index();
  const int kv_head = head / shape.heads_per_kv_head;
  const auto Q = rows_of_head<const T>(parameters.Q, batch, head);
  const auto dO = rows_of_head<const T>(parameters.dO, batch, head);
  const int head_index = batch * shape.heads + head;

  // Qi, dOi of the next row tile to load
  const int Tr = (shape.N + Br - 1) / Br;
  const int first_row = max(0, j * Bc - shape.diagonal_offset);  // that sees column tile j
  const int first_i = first_row < shape.N ? first_row / Br : Tr;
  const T* Qi_source = Q.row(Index{first_i} * Br);
  const T* dOi_source = dO.row(Index{first_i} * Br);
  float statistic = 0.0f;  // of the row tile on its way
  const auto load_row_tile = [&](int i) {
    const int rows = min(Br, shape.N - i * Br);
    const std::uint32_t stage = base + i % 2 * Shared::kRowTileBytes;
    load_tile_async<kThreads>(TileQ{stage + Shared::Q}, Qi_source, Q.stride_row, rows,
                              thread_index());
    load_tile_async<kThreads>(TileQ{stage + Shared::dO}, dOi_source, dO.stride_row, rows,
                              thread_index());
    commit_copies();
    Qi_source += Br * Q.stride_row;
    dOi_source += Br * dO.stride_row;
    statistic = load_row_statistic<Br>(parameters, Index{head_index} * shape.N, i, thread_index());
  };

  // load Kj, Vj; dKj = 0; dVj = 0
  const auto K = rows_of_head<const T>(parameters.K, batch, kv_head);
  const auto V = rows_of_head<const T>(parameters.V, batch, kv_head);
  load_tile_async<kThreads>(TileKV{base + Shared::K}, K.row(Index{j} * Bc), K.stride_row, keys,
                            thread);
  load_tile_async<kThreads>(TileKV{base + Shared::V}, V.row(Index{j} * Bc), V.stride_row, keys,
                            thread);
  commit_copies();
  if (first_i < Tr) load_row_tile(first_i);
  Accumulator<1, d> dK{}, dV{};

  for (int i = first_i; i < Tr; ++i) {
    // Barrier A: row tile i (and Kj, Vj) is in shared memory, and every warp is done with row tile
    // i - 1 and its dS before they are overwritten.
    wait_copies<0>();
    float* const LSE_log2 = statistics + i % 2 * 2 * Br;
    store_row_statistic<Br>(LSE_log2, statistic, thread_index());
    __syncthreads();
    if (i + 1 < Tr) load_row_tile(i + 1);

    // S = scale Qi Kj^T, masked where the mask's edge or the last key cuts the tile
    const int lane = thread_index() % 32;
    const int warp = thread_index() / 32;
    const std::uint32_t stage = base + i % 2 * Shared::kRowTileBytes;
    const TileQ Qi{stage + Shared::Q}, dOi{stage + Shared::dO};
    const std::uint32_t warp_keys = base + warp * 16 * TileKV::kRowBytes;
    TransposedScores<Br> P;
    multiply_scores<T, 1, Br, d>(P, TileKV{warp_keys + Shared::K}.lane_address_rows(lane),
                                 Qi.lane_address_columns(lane));
    if (shape.keys_end(i * Br) < (j + 1) * Bc) {
      const int key = j * Bc + warp * 16;
      mask_scores_transposed<Br>(P, key - shape.diagonal_offset - i * Br, shape.N_kv - key, lane);
    }

    // P = exp(S - LSEi); dVj = dVj + P^T dOi
    exponentiate_transposed<Br>(P, LSE_log2, shape.softmax_scale_log2, lane);
    accumulate_output<T, 1, Br, d>(dV, P, dOi.lane_address_rows(lane));

    // dP = dOi Vj^T; dS = P * (dP - Di)
    TransposedScores<Br> dS;
    multiply_scores<T, 1, Br, d>(dS, TileKV{warp_keys + Shared::V}.lane_address_rows(lane),
                                 dOi.lane_address_columns(lane));
    softmax_gradient_transposed<Br>(dS, P, LSE_log2 + Br, lane);
    write_fragments<T, 1, Br>(SharedTile<16, Br>{base + Shared::dS + warp * 16 * TileS::kRowBytes},
                              dS, lane);
    __syncthreads();  // Barrier B: dS of every warp's keys is in shared memory.

    // dKj = dKj + dS^T Qi, without the scale; dQi = dQi + dS Kj atomically in HBM, without it too
    accumulate_output<T, 1, Br, d>(dK, dS, Qi.lane_address_rows(lane));
    const int part_row = warp / Part::kAcross * Part::kRowPieces * 16;
    const int part_column = warp % Part::kAcross * Part::kColumns;
    Accumulator<Part::kRowPieces, Part::kColumns> dQ;
    multiply_gradients<T, Part::kRowPieces, Part::kColumns, Br, Bc, d>(
        dQ, TileS::piece(TileS{base + Shared::dS}.lane_address_columns(lane), 0, part_row / 16),
        TileKV::piece(TileKV{base + Shared::K}.lane_address_rows(lane), 0, part_column / 16));
    const Index dQ_row = Index{head_index} * shape.N + i * Br + part_row;
    atomic_add_fragments<Part::kRowPieces, Part::kColumns, d>(
        parameters.dQ_accum + dQ_row * d + part_column, dQ, shape.N - i * Br - part_row, lane);
  }

  // store dKj, dVj
  wait_copies<0>();
  __syncthreads();  // Barrier C: no warp reads Kj or Vj any more; their slots pass dKj and dVj on.
#pragma unroll
  for (int n = 0; n < d / 8; ++n) {
#pragma unroll
    for (int c = 0; c < 4; ++c) dK[0][n][c] *= shape.softmax_scale;
  }
  store_key_gradient<T, Bc, d>(parameters.dK_heads, base + Shared::K, dK, shape);
  store_key_gradient<T, Bc, d>(parameters.dV_heads, base + Shared::V, dV, shape);
}

}  // namespace attnscope::kernels
