/// The backward pass of one tile of scores in fp32 on the CUDA cores, in the pieces of
/// cuda_core_tiles.cuh: a thread owns four rows of S, P, dP, dS and dQi, and four keys of dKj and
/// dVj.
#pragma once

#include "kernels/device/cuda_core_tiles.cuh"

namespace attnscope::kernels::device {

/// P = exp(softmax_scale S - LSE) in place of S. LSE is -inf in a row that sees no key: its P is 0.
template <int Bc>
__device__ inline void exponentiate(LanePiece<Bc>& S, const float (&LSE)[kRowsPerLane],
                                    float softmax_scale) {
#pragma unroll
  for (int r = 0; r < kRowsPerLane; ++r) {
#pragma unroll
    for (int c = 0; c < Bc / kLanesPerRow; ++c) {
      const float exponent = fmaf(S[r][c], softmax_scale, -LSE[r]);
      S[r][c] = LSE[r] == kMinusInfinity ? 0.0f : expf(exponent);
    }
  }
}

/// dS = P * (dP - D) in place of dP.
template <int Bc>
__device__ inline void softmax_gradient(LanePiece<Bc>& dP, const LanePiece<Bc>& P,
                                        const float (&D)[kRowsPerLane]) {
#pragma unroll
  for (int r = 0; r < kRowsPerLane; ++r) {
#pragma unroll
    for (int c = 0; c < Bc / kLanesPerRow; ++c) dP[r][c] = P[r][c] * (dP[r][c] - D[r]);
  }
}

/// C += P^T B for the thread's four keys from `first_key` on. `P` is the whole tile in shared
/// memory. Each tile's product is summed on its own before it is added to C, kPart columns at a
/// time, which reduces the rounding error of a sum over a long sequence.
template <int Br, int Bc, int kPart, int d>
__device__ inline void accumulate_columns(LanePiece<d>& C, const float* P,
                                          const FloatTile<Br, d>& B, int first_key, int x) {
#pragma unroll
  for (int first_column = 0; first_column < d; first_column += kPart) {
    LanePiece<kPart> sum{};
#pragma unroll 8  // the swizzle repeats every eight rows
    for (int row = 0; row < Br; ++row) {
      const float4 p = *reinterpret_cast<const float4*>(P + row * padded<Bc> + first_key);
#pragma unroll
      for (int c = 0; c < kPart / kLanesPerRow; ++c) {
        const float b = B.element(row, first_column + x + c * kLanesPerRow);
        sum[0][c] = fmaf(p.x, b, sum[0][c]);
        sum[1][c] = fmaf(p.y, b, sum[1][c]);
        sum[2][c] = fmaf(p.z, b, sum[2][c]);
        sum[3][c] = fmaf(p.w, b, sum[3][c]);
      }
    }
#pragma unroll
    for (int r = 0; r < kRowsPerLane; ++r) {
#pragma unroll
      for (int c = 0; c < kPart / kLanesPerRow; ++c) {
        C[r][first_column / kLanesPerRow + c] += sum[r][c];
      }
    }
  }
}

/// Calls use(row, column, value) for the elements of the thread's piece in rows before `rows` and
/// columns before `columns`; the others do not exist.
template <int d, typename Use>
__device__ inline void each_element(const LanePiece<d>& values, int rows, int columns, int x,
                                    const Use& use) {
#pragma unroll
  for (int r = 0; r < kRowsPerLane; ++r) {
    if (r >= rows) continue;
#pragma unroll
    for (int c = 0; c < d / kLanesPerRow; ++c) {
      const int column = x + c * kLanesPerRow;
      if (column < columns) use(r, column, values[r][c]);
    }
  }
}

/// Adds to global memory atomically. atomicAdd() compiled to an operation that returns a value,
/// whose bytes passed through the SM port as well.
__device__ inline void atomic_add_1(float* destination, float value) {
  asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;\n" ::"l"(destination), "f"(value)
               : "memory");
}

/// Adds the thread's piece to four rows atomically, in L2; sixteen lanes cover 64 bytes of a row.
template <int d>
__device__ inline void atomic_add_rows(float* destination, Index stride_row,
                                       const LanePiece<d>& values, int rows, int columns, int x) {
  each_element<d>(values, rows, columns, x, [&](int row, int column, float value) {
    atomic_add_1(destination + row * stride_row + column, value);
  });
}

/// Stores `scale` times the thread's piece to four rows in HBM.
template <int d>
__device__ inline void store_rows(float* destination, Index stride_row, const LanePiece<d>& values,
                                  float scale, int rows, int columns, int x) {
  each_element<d>(values, rows, columns, x, [&](int row, int column, float value) {
    __stcg(destination + row * stride_row + column, scale * value);
  });
}

}  // namespace attnscope::kernels::device
