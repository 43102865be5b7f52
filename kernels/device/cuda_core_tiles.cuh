/// Tiles in fp32 on the CUDA cores. A block of 4 Br threads: sixteen lanes own four neighbouring
/// rows of the row tile, and lane x of the sixteen owns columns x, x + 16, x + 32, ... of S and of
/// O. A row's statistics therefore stay within half a warp, and accesses to global memory are 64
/// bytes wide.
#pragma once

#include "kernels/device/online_softmax.cuh"
#include "kernels/device/shared_tile.cuh"

namespace attnscope::kernels::device {

inline constexpr int kLanesPerRow = 16;
inline constexpr int kRowsPerLane = 4;

/// A [kRows x d] fp32 tile in shared memory, with the swizzle of SharedTile.
template <int kRows, int d>
struct FloatTile {
  using Layout = SharedTile<kRows, 2 * d>;
  static constexpr int kFloats = kRows * d;

  float* data;

  /// Columns [4 chunk, 4 chunk + 4) of a row.
  __device__ float4& chunk(int row, int chunk) const {
    return reinterpret_cast<float4*>(data + row * d)[chunk ^ Layout::swizzle(row)];
  }
  __device__ float element(int row, int column) const {
    return data[row * d + (((column / 4) ^ Layout::swizzle(row)) * 4 + column % 4)];
  }
  __device__ Layout layout() const { return {shared_address(data)}; }
};

/// Rows of P are four floats longer than Bc: two groups of sixteen lanes then write to different
/// banks.
template <int Bc>
constexpr int padded = Bc + 4;

/// A thread's piece of a tile: four rows, every sixteenth column.
template <int kColumns>
using LanePiece = float[kRowsPerLane][kColumns / kLanesPerRow];

/// S = Q K^T, unscaled, for the thread's rows from `first_row` on.
template <int Br, int Bc, int d>
__device__ inline void multiply_scores(LanePiece<Bc>& S, const FloatTile<Br, d>& Qi,
                                       const FloatTile<Bc, d>& Kj, int first_row, int x) {
#pragma unroll
  for (int r = 0; r < kRowsPerLane; ++r) {
#pragma unroll
    for (int c = 0; c < Bc / kLanesPerRow; ++c) S[r][c] = 0.0f;
  }
#pragma unroll 4
  for (int chunk = 0; chunk < d / 4; ++chunk) {
    float4 K[Bc / kLanesPerRow];
#pragma unroll
    for (int c = 0; c < Bc / kLanesPerRow; ++c) K[c] = Kj.chunk(x + c * kLanesPerRow, chunk);
#pragma unroll
    for (int r = 0; r < kRowsPerLane; ++r) {
      const float4 q = Qi.chunk(first_row + r, chunk);
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

/// S = -inf at columns at or after keys_end of the row, relative to the column tile:
/// `first_row_end` in the first row, one more in each further row, at most `tile_end`.
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

/// Writes the thread's piece of P (or dS) to its four rows in shared memory.
template <int Bc>
__device__ inline void write_rows(float* P_rows, const LanePiece<Bc>& P, int x) {
#pragma unroll
  for (int r = 0; r < kRowsPerLane; ++r) {
#pragma unroll
    for (int c = 0; c < Bc / kLanesPerRow; ++c) {
      P_rows[r * padded<Bc> + x + c * kLanesPerRow] = P[r][c];
    }
  }
}

/// C += P B with the four rows of P in shared memory; C holds the columns from `first_column` on,
/// kColumns per lane.
template <int Bc, int d, int kColumns>
__device__ inline void accumulate_rows(float (&C)[kRowsPerLane][kColumns], const float* P_rows,
                                       const FloatTile<Bc, d>& B, int x, int first_column = 0) {
  constexpr int kStep = 8;  // the swizzle repeats every eight rows
  for (int first_key = 0; first_key < Bc; first_key += kStep) {
#pragma unroll
    for (int k = 0; k < kStep; k += 4) {
      const int key = first_key + k;
      float4 p[kRowsPerLane];
#pragma unroll
      for (int r = 0; r < kRowsPerLane; ++r) {
        p[r] = *reinterpret_cast<const float4*>(P_rows + r * padded<Bc> + key);
      }
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const int column = first_column + x + c * kLanesPerRow;
        const float b[4] = {B.element(key, column), B.element(key + 1, column),
                            B.element(key + 2, column), B.element(key + 3, column)};
#pragma unroll
        for (int r = 0; r < kRowsPerLane; ++r) {
          C[r][c] = fmaf(p[r].x, b[0], C[r][c]);
          C[r][c] = fmaf(p[r].y, b[1], C[r][c]);
          C[r][c] = fmaf(p[r].z, b[2], C[r][c]);
          C[r][c] = fmaf(p[r].w, b[3], C[r][c]);
        }
      }
    }
  }
}

/// O += P V. P passes through the four rows of `P_rows` in shared memory, which only these sixteen
/// lanes use.
template <int Bc, int d>
__device__ inline void accumulate_output(LanePiece<d>& O, const LanePiece<Bc>& P, float* P_rows,
                                         const FloatTile<Bc, d>& Vj, int x) {
  __syncwarp();  // Barrier P: the lanes are done reading P of the previous tile.
  write_rows<Bc>(P_rows, P, x);
  __syncwarp();  // Barrier: the sixteen lanes have written their columns of P.
  accumulate_rows(O, P_rows, Vj, x);
}

/// Loads a row statistic of the thread's four rows from HBM; it is `beyond` in rows at or after
/// `N`. One lane reads each row, so the eight rows of a warp are one sector.
__device__ inline void load_statistic(float (&out)[kRowsPerLane], const float* head, int first_row,
                                      int N, float beyond, int x) {
  const bool reads = x < kRowsPerLane && first_row + x < N;
  const float mine = reads ? __ldcg(head + first_row + x) : beyond;
#pragma unroll
  for (int r = 0; r < kRowsPerLane; ++r) out[r] = __shfl_sync(0xffffffffu, mine, r, kLanesPerRow);
}

/// The reverse: stores a row statistic.
__device__ inline void store_statistic(float* head, const float (&values)[kRowsPerLane],
                                       int first_row, int N, int x) {
  float mine = values[0];
#pragma unroll
  for (int r = 1; r < kRowsPerLane; ++r) mine = x == r ? values[r] : mine;
  if (x < kRowsPerLane && first_row + x < N) __stcg(head + first_row + x, mine);
}

}  // namespace attnscope::kernels::device
