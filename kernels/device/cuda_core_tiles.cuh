/// Tiles in fp32 on the CUDA cores. A block of 4 Br threads: sixteen lanes own four neighbouring
/// rows of the row tile, and lane x of them the columns x, x + 16, x + 32, ... of S and of O. So a
/// row's statistics stay within half a warp, and accesses to global memory are 64 bytes wide.
#pragma once

#include "kernels/device/async_copy.cuh"
#include "kernels/device/online_softmax.cuh"
#include "reference/attention_problem.h"

namespace attnscope::kernels::device {

inline constexpr int kLanesPerRow = 16;
inline constexpr int kRowsPerLane = 4;

/// Rows of shared tiles are four floats longer than d: sixteen lanes that read four floats each of
/// sixteen neighbouring rows then meet no bank twice.
template <int kColumns>
constexpr int padded = kColumns + 4;

template <int kRows, int kColumns>
constexpr int padded_tile_floats = kRows* padded<kColumns>;

/// Starts the copy of rows [0, valid_rows) of a [kRows x d] tile; zeros below, which are not read.
template <int kThreads, int kRows, int d>
__device__ inline void load_padded_tile_async(float* tile, const float* source, Index stride_row,
                                              int valid_rows, int thread) {
  constexpr int kChunks = d / 4;
  constexpr int kStepRows = kThreads / kChunks;
  static_assert(kThreads % kChunks == 0 && kRows % kStepRows == 0);
  const int column = thread % kChunks * 4;
#pragma unroll
  for (int step = 0; step < kRows / kStepRows; ++step) {
    const int row = thread / kChunks + step * kStepRows;
    copy_async_16(shared_address(tile + row * padded<d> + column),
                  source + row * stride_row + column, row < valid_rows);
  }
}

/// A thread's piece of a tile: four rows, every sixteenth column.
template <int kColumns>
using LanePiece = float[kRowsPerLane][kColumns / kLanesPerRow];

/// S = Q K^T, unscaled. `Q_rows` points at the thread's first row.
template <int Bc, int d>
__device__ inline void multiply_scores(LanePiece<Bc>& S, const float* Q_rows, const float* Kj,
                                       int x) {
#pragma unroll
  for (int r = 0; r < kRowsPerLane; ++r) {
#pragma unroll
    for (int c = 0; c < Bc / kLanesPerRow; ++c) S[r][c] = 0.0f;
  }
#pragma unroll 4
  for (int k = 0; k < d; k += 4) {
    float4 K[Bc / kLanesPerRow];
#pragma unroll
    for (int c = 0; c < Bc / kLanesPerRow; ++c) {
      K[c] = *reinterpret_cast<const float4*>(Kj + (x + c * kLanesPerRow) * padded<d> + k);
    }
#pragma unroll
    for (int r = 0; r < kRowsPerLane; ++r) {
      const float4 q = *reinterpret_cast<const float4*>(Q_rows + r * padded<d> + k);
#pragma unroll
      for (int c = 0; c < Bc / kLanesPerRow; ++c) {
        S[r][c] = fmaf(q.x, K[c].x, S[r][c]);
        S[r][c] = fmaf(q.y, K[c].y, S[r][c]);
        S[r][c] = fmaf(q.z, K[c].z, S[r][c]);
        S[r][c] = fmaf(q.w, K[c].w, S[r][c]);
      }
    }
  }
}

/// S = -inf at columns at or after keys_end of the row, relative to the column tile: the first
/// row's `first_row_end`, one more for every further row, never more than `tile_end`.
template <int Bc>
__device__ inline void mask_scores(LanePiece<Bc>& S, int first_row_end, int tile_end, int x) {
#pragma unroll
  for (int r = 0; r < kRowsPerLane; ++r) {
    const int end = min(first_row_end + r, tile_end);
#pragma unroll
    for (int c = 0; c < Bc / kLanesPerRow; ++c) {
      if (x + c * kLanesPerRow >= end) S[r][c] = kMinusInfinity;
    }
  }
}

__device__ inline float row_max(float value) {
#pragma unroll
  for (int other = kLanesPerRow / 2; other > 0; other /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, other));
  }
  return value;
}

__device__ inline float row_sum(float value) {
#pragma unroll
  for (int other = kLanesPerRow / 2; other > 0; other /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, other);
  }
  return value;
}

/// m = max(m, rowmax(S)); alpha = exp(m_prev - m); P = exp(S - m) in place of S; returns rowsum(P).
template <int Bc>
__device__ inline float fold_row(float (&S)[Bc / kLanesPerRow], float& m, float& alpha,
                                 float softmax_scale_log2) {
  float tile_max = kMinusInfinity;
#pragma unroll
  for (int c = 0; c < Bc / kLanesPerRow; ++c) tile_max = fmaxf(tile_max, S[c]);
  const float m_prev = m;
  m = fmaxf(m_prev, row_max(tile_max));
  alpha = rescaling_factor(m_prev, m, softmax_scale_log2);
  const float m_log2 = finite_log2(m, softmax_scale_log2);
  float sum = 0.0f;
#pragma unroll
  for (int c = 0; c < Bc / kLanesPerRow; ++c) {
    S[c] = exp2_fast(fmaf(S[c], softmax_scale_log2, -m_log2));
    sum += S[c];
  }
  return row_sum(sum);
}

/// O += P V. P passes through the four rows of `P_rows` in shared memory, which only these sixteen
/// lanes use.
template <int Bc, int d>
__device__ inline void accumulate_output(LanePiece<d>& O, const LanePiece<Bc>& P, float* P_rows,
                                         const float* Vj, int x) {
  __syncwarp();  // Barrier: the lanes are done reading the P of the tile before.
#pragma unroll
  for (int r = 0; r < kRowsPerLane; ++r) {
#pragma unroll
    for (int c = 0; c < Bc / kLanesPerRow; ++c) {
      P_rows[r * padded<Bc> + x + c * kLanesPerRow] = P[r][c];
    }
  }
  __syncwarp();  // Barrier: the sixteen lanes have written their columns of P.
#pragma unroll 2
  for (int k = 0; k < Bc; k += 4) {
    float4 p[kRowsPerLane];
#pragma unroll
    for (int r = 0; r < kRowsPerLane; ++r) {
      p[r] = *reinterpret_cast<const float4*>(P_rows + r * padded<Bc> + k);
    }
#pragma unroll
    for (int c = 0; c < d / kLanesPerRow; ++c) {
      const float* V = Vj + k * padded<d> + x + c * kLanesPerRow;
#pragma unroll
      for (int r = 0; r < kRowsPerLane; ++r) {
        O[r][c] = fmaf(p[r].x, V[0], O[r][c]);
        O[r][c] = fmaf(p[r].y, V[padded<d>], O[r][c]);
        O[r][c] = fmaf(p[r].z, V[2 * padded<d>], O[r][c]);
        O[r][c] = fmaf(p[r].w, V[3 * padded<d>], O[r][c]);
      }
    }
  }
}

}  // namespace attnscope::kernels::device
