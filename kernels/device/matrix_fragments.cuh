/// The tensor cores' m16n8k16 product and its operands. One warp multiplies a 16 x 16 tile A by a
/// 16 x 8 tile B; every thread has a piece ("fragment") of each.
///
/// In a result C [16 x 8], lane 4 g + t holds C[g][2t], C[g][2t+1], C[g+8][2t], C[g+8][2t+1]; so
/// the four lanes of a quad (equal g) share rows g and g + 8. Two neighbouring C tiles have the
/// layout of one A tile: P goes from the first product to the second without leaving registers.
#pragma once

#include "kernels/device/element_types.cuh"

namespace attnscope::kernels::device {

/// Rows that one warp-wide product covers.
inline constexpr int kFragmentRows = 16;

/// A piece of A: four registers with two 16-bit elements each.
using FragmentA = uint32_t[4];

/// A piece of C: fp32.
using FragmentC = float[4];

/// Reads four 8 x 8 tiles of 16-bit elements; each lane names one row of 16 bytes.
__device__ inline void load_matrix(uint32_t (&out)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}

/// The same, but transposes each 8 x 8 tile.
__device__ inline void load_matrix_transposed(uint32_t (&out)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(address)
               : "memory");
}

/// D = A B + C with fp32 accumulation. D and C may be the same registers.
template <typename T>
__device__ inline void multiply_add(FragmentC& D, const FragmentA& A, uint32_t b0, uint32_t b1,
                                    const FragmentC& C);

template <>
__device__ inline void multiply_add<Fp16>(FragmentC& D, const FragmentA& A, uint32_t b0,
                                          uint32_t b1, const FragmentC& C) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};\n"
      : "=f"(D[0]), "=f"(D[1]), "=f"(D[2]), "=f"(D[3])
      : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(b0), "r"(b1), "f"(C[0]), "f"(C[1]),
        "f"(C[2]), "f"(C[3]));
}

template <>
__device__ inline void multiply_add<Bf16>(FragmentC& D, const FragmentA& A, uint32_t b0,
                                          uint32_t b1, const FragmentC& C) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};\n"
      : "=f"(D[0]), "=f"(D[1]), "=f"(D[2]), "=f"(D[3])
      : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(b0), "r"(b1), "f"(C[0]), "f"(C[1]),
        "f"(C[2]), "f"(C[3]));
}

}  // namespace attnscope::kernels::device
