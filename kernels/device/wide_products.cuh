/// Products of a warpgroup whose result is as wide as a tile: S [64 x Bc] = Q K^T, both operands
/// read from shared memory, and O [64 x d] += P V, P from registers. Each warp has 16 rows of Q and
/// all keys of the tile ("split-Q"). With a wide result, the 64 rows of A are read less often.
#pragma once

#include "kernels/device/warpgroup_products.cuh"

namespace attnscope::kernels::device {

// One instruction for each width n: the registers of C are %0 up to %(n / 2 - 1), in tens
// clang-format off
#define ATTNSCOPE_TEN(t)                                                                           \
  "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, "     \
  "%" #t "9"
#define ATTNSCOPE_TENS_3 ATTNSCOPE_TEN() ", " ATTNSCOPE_TEN(1) ", " ATTNSCOPE_TEN(2)
#define ATTNSCOPE_TENS_6                                                                           \
  ATTNSCOPE_TENS_3 ", " ATTNSCOPE_TEN(3) ", " ATTNSCOPE_TEN(4) ", " ATTNSCOPE_TEN(5)
#define ATTNSCOPE_TENS_9                                                                           \
  ATTNSCOPE_TENS_6 ", " ATTNSCOPE_TEN(6) ", " ATTNSCOPE_TEN(7) ", " ATTNSCOPE_TEN(8)
#define ATTNSCOPE_TENS_12                                                                          \
  ATTNSCOPE_TENS_9 ", " ATTNSCOPE_TEN(9) ", " ATTNSCOPE_TEN(10) ", " ATTNSCOPE_TEN(11)
#define ATTNSCOPE_C(n) "+f"(C[n][0]), "+f"(C[n][1]), "+f"(C[n][2]), "+f"(C[n][3])
#define ATTNSCOPE_C2(n) ATTNSCOPE_C(n), ATTNSCOPE_C(n + 1)
#define ATTNSCOPE_C4(n) ATTNSCOPE_C2(n), ATTNSCOPE_C2(n + 2)
#define ATTNSCOPE_C8(n) ATTNSCOPE_C4(n), ATTNSCOPE_C4(n + 4)
#define ATTNSCOPE_C16(n) ATTNSCOPE_C8(n), ATTNSCOPE_C8(n + 8)

#define ATTNSCOPE_SCORE_PRODUCT(n, TYPES, C_REGISTERS, C_OPERANDS, r0, r1, r2)                     \
  asm volatile(                                                                                    \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %" #r2 ", 0;\n"                                            \
      "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." TYPES " {" C_REGISTERS "}, %" #r0          \
      ", %" #r1 ", p, 1, 1, 0, 0;\n}\n"                                                            \
      : C_OPERANDS                                                                                 \
      : "l"(A), "l"(B), "r"(int{adds}))
#define ATTNSCOPE_OUTPUT_PRODUCT(n, TYPES, C_REGISTERS, C_OPERANDS, r0, r1, r2, r3, r4)            \
  asm volatile(                                                                                    \
      "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"                                                   \
      "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." TYPES " {" C_REGISTERS "}, {%" #r0         \
      ", %" #r1 ", %" #r2 ", %" #r3 "}, %" #r4 ", p, 1, 1, 1;\n}\n"                                \
      : C_OPERANDS                                                                                 \
      : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "l"(B))

/// start_score_product: C [64 x n] = A B, or C + A B if `adds`, over 16 values along the sum, which
/// runs along the rows of both operands. Both are product_operand()s.
/// start_output_product: C [64 x n] += A B; the sum runs down the rows of B, which is a
/// product_operand().
#define ATTNSCOPE_PRODUCTS(n, C_REGISTERS, C_OPERANDS, r0, r1, r2, r3, r4)                         \
  template <typename T>                                                                            \
  __device__ inline void start_score_product(FragmentC (&C)[n / 8], uint64_t A, uint64_t B,        \
                                             bool adds) {                                          \
    if constexpr (kIsSame<T, Fp16>) {                                                              \
      ATTNSCOPE_SCORE_PRODUCT(n, "f16.f16", C_REGISTERS, ATTNSCOPE_LIST C_OPERANDS,                \
                               r0, r1, r2);                                                        \
    } else {                                                                                       \
      ATTNSCOPE_SCORE_PRODUCT(n, "bf16.bf16", C_REGISTERS, ATTNSCOPE_LIST C_OPERANDS,              \
                               r0, r1, r2);                                                        \
    }                                                                                              \
  }                                                                                                \
  template <typename T>                                                                            \
  __device__ inline void start_output_product(FragmentC (&C)[n / 8], const FragmentA& A,           \
                                              uint64_t B) {                                        \
    if constexpr (kIsSame<T, Fp16>) {                                                              \
      ATTNSCOPE_OUTPUT_PRODUCT(n, "f16.f16", C_REGISTERS, ATTNSCOPE_LIST C_OPERANDS,               \
                               r0, r1, r2, r3, r4);                                                \
    } else {                                                                                       \
      ATTNSCOPE_OUTPUT_PRODUCT(n, "bf16.bf16", C_REGISTERS, ATTNSCOPE_LIST C_OPERANDS,             \
                               r0, r1, r2, r3, r4);                                                \
    }                                                                                              \
  }
#define ATTNSCOPE_LIST(...) __VA_ARGS__

ATTNSCOPE_PRODUCTS(64, ATTNSCOPE_TENS_3 ", %30, %31",
                   (ATTNSCOPE_C8(0)), 32, 33, 34, 35, 36)
ATTNSCOPE_PRODUCTS(80, ATTNSCOPE_TENS_3 ", " ATTNSCOPE_TEN(3),
                   (ATTNSCOPE_C8(0), ATTNSCOPE_C2(8)), 40, 41, 42, 43, 44)
ATTNSCOPE_PRODUCTS(96, ATTNSCOPE_TENS_3 ", " ATTNSCOPE_TEN(3)
                   ", %40, %41, %42, %43, %44, %45, %46, %47",
                   (ATTNSCOPE_C8(0), ATTNSCOPE_C4(8)), 48, 49, 50, 51, 52)
ATTNSCOPE_PRODUCTS(112, ATTNSCOPE_TENS_3 ", " ATTNSCOPE_TEN(3) ", " ATTNSCOPE_TEN(4)
                   ", %50, %51, %52, %53, %54, %55",
                   (ATTNSCOPE_C8(0), ATTNSCOPE_C4(8), ATTNSCOPE_C2(12)), 56, 57, 58, 59, 60)
ATTNSCOPE_PRODUCTS(128, ATTNSCOPE_TENS_6 ", %60, %61, %62, %63",
                   (ATTNSCOPE_C16(0)), 64, 65, 66, 67, 68)
ATTNSCOPE_PRODUCTS(144, ATTNSCOPE_TENS_6 ", " ATTNSCOPE_TEN(6) ", %70, %71",
                   (ATTNSCOPE_C16(0), ATTNSCOPE_C2(16)), 72, 73, 74, 75, 76)
ATTNSCOPE_PRODUCTS(160, ATTNSCOPE_TENS_6 ", " ATTNSCOPE_TEN(6) ", " ATTNSCOPE_TEN(7),
                   (ATTNSCOPE_C16(0), ATTNSCOPE_C4(16)), 80, 81, 82, 83, 84)
ATTNSCOPE_PRODUCTS(176, ATTNSCOPE_TENS_6 ", " ATTNSCOPE_TEN(6) ", " ATTNSCOPE_TEN(7)
                   ", %80, %81, %82, %83, %84, %85, %86, %87",
                   (ATTNSCOPE_C16(0), ATTNSCOPE_C4(16), ATTNSCOPE_C2(20)), 88, 89, 90, 91, 92)
ATTNSCOPE_PRODUCTS(192, ATTNSCOPE_TENS_9 ", %90, %91, %92, %93, %94, %95",
                   (ATTNSCOPE_C16(0), ATTNSCOPE_C8(16)), 96, 97, 98, 99, 100)
ATTNSCOPE_PRODUCTS(256, ATTNSCOPE_TENS_12 ", %120, %121, %122, %123, %124, %125, %126, %127",
                   (ATTNSCOPE_C16(0), ATTNSCOPE_C16(16)), 128, 129, 130, 131, 132)
// clang-format on

#undef ATTNSCOPE_TEN
#undef ATTNSCOPE_TENS_3
#undef ATTNSCOPE_TENS_6
#undef ATTNSCOPE_TENS_9
#undef ATTNSCOPE_TENS_12
#undef ATTNSCOPE_C
#undef ATTNSCOPE_C2
#undef ATTNSCOPE_C4
#undef ATTNSCOPE_C8
#undef ATTNSCOPE_C16
#undef ATTNSCOPE_SCORE_PRODUCT
#undef ATTNSCOPE_OUTPUT_PRODUCT
#undef ATTNSCOPE_PRODUCTS
#undef ATTNSCOPE_LIST

/// Starts S = Qi Kj^T, unscaled: the 64 rows of Qi from `first_row` on. The tiles are as wide as
/// their panels; only the first d columns are multiplied.
template <typename T, int d, int Br, int Bc, int kWidth>
__device__ inline void start_row_scores(Accumulator<1, Bc>& S, const PanelTile<Br, kWidth>& Qi,
                                        const PanelTile<Bc, kWidth>& Kj, int first_row) {
  constexpr int kPanelSteps = kPanelColumns / 16;
#pragma unroll
  for (int k = 0; k < d / 16; ++k) {
    const uint32_t column_bytes = k % kPanelSteps * 32;
    const uint32_t queries = Qi.panel(k / kPanelSteps).address + first_row * 128 + column_bytes;
    const uint32_t keys = Kj.panel(k / kPanelSteps).address + column_bytes;
    start_score_product<T>(S[0], product_operand(queries, 0), product_operand(keys, 0), k > 0);
  }
  close_products();
}

/// Starts O += P Vj. P must stay in its registers until the product is complete.
template <typename T, int Bc, int d, int kWidth>
__device__ inline void start_output(Accumulator<1, d>& O, const ScoreOperand<Bc>& P,
                                    const PanelTile<Bc, kWidth>& Vj) {
  constexpr int kPanelBytes = PanelTile<Bc, kWidth>::Panel::kBytes;
#pragma unroll
  for (int k = 0; k < Bc / 16; ++k) {
    start_output_product<T>(O[0], P[k], product_operand(Vj.address + k * 16 * 128, kPanelBytes));
  }
  close_products();
}

}  // namespace attnscope::kernels::device
