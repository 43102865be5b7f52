/// Rate of wgmma.m64nNk16 on one SM: an operation of time_operations(). Compiles only to machine
/// code for sm_90a.
#pragma once

#include "kernels/device/warpgroup_products.cuh"
#include "kernels/measure/calibrate/shared_operations.cuh"

namespace attnscope::kernels {

// clang-format off
#define ATTNSCOPE_C(n) "+f"(C[n][0]), "+f"(C[n][1]), "+f"(C[n][2]), "+f"(C[n][3])
#define ATTNSCOPE_C8(n) ATTNSCOPE_C(n), ATTNSCOPE_C(n + 1), ATTNSCOPE_C(n + 2), ATTNSCOPE_C(n + 3), \
                        ATTNSCOPE_C(n + 4), ATTNSCOPE_C(n + 5), ATTNSCOPE_C(n + 6), ATTNSCOPE_C(n + 7)
// The operands %t0 to %t9
#define ATTNSCOPE_TEN(t) "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, " \
                         "%" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
#define ATTNSCOPE_20 ATTNSCOPE_TEN() ATTNSCOPE_TEN(1)
#define ATTNSCOPE_60 ATTNSCOPE_20 ATTNSCOPE_TEN(2) ATTNSCOPE_TEN(3) ATTNSCOPE_TEN(4) ATTNSCOPE_TEN(5)
#define ATTNSCOPE_120 ATTNSCOPE_60 ATTNSCOPE_TEN(6) ATTNSCOPE_TEN(7) ATTNSCOPE_TEN(8) \
                      ATTNSCOPE_TEN(9) ATTNSCOPE_TEN(10) ATTNSCOPE_TEN(11)
// C += A B; the result's registers come first
#define ATTNSCOPE_WGMMA(SHAPE, RESULT, OPERANDS, ...)                       \
  asm volatile("{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\n"                   \
               "wgmma.mma_async.sync.aligned." SHAPE ".f32.bf16.bf16 {" RESULT "}, " OPERANDS ";\n}\n" \
               : __VA_ARGS__)
// clang-format on

/// Both operands in shared memory: product_operand()s, with the sum along their rows.
template <int kN>
__device__ inline void start_measured_product(device::FragmentC (&C)[kN / 8], uint64_t A,
                                              uint64_t B) {
  if constexpr (kN == 64) {
    ATTNSCOPE_WGMMA("m64n64k16", ATTNSCOPE_20 ATTNSCOPE_TEN(2) "%30, %31",
                    "%32, %33, p, 1, 1, 0, 0", ATTNSCOPE_C8(0)
                    : "l"(A), "l"(B));
  } else if constexpr (kN == 128) {
    ATTNSCOPE_WGMMA("m64n128k16", ATTNSCOPE_60 "%60, %61, %62, %63", "%64, %65, p, 1, 1, 0, 0",
                    ATTNSCOPE_C8(0), ATTNSCOPE_C8(8)
                    : "l"(A), "l"(B));
  } else {
    static_assert(kN == 256);
    ATTNSCOPE_WGMMA("m64n256k16", ATTNSCOPE_120 "%120, %121, %122, %123, %124, %125, %126, %127",
                    "%128, %129, p, 1, 1, 0, 0", ATTNSCOPE_C8(0), ATTNSCOPE_C8(8), ATTNSCOPE_C8(16),
                    ATTNSCOPE_C8(24)
                    : "l"(A), "l"(B));
  }
}

/// The same with A in registers.
template <int kN>
__device__ inline void start_measured_product(device::FragmentC (&C)[kN / 8],
                                              const device::FragmentA& A, uint64_t B) {
  if constexpr (kN == 64) {
    ATTNSCOPE_WGMMA("m64n64k16", ATTNSCOPE_20 ATTNSCOPE_TEN(2) "%30, %31",
                    "{%32, %33, %34, %35}, %36, p, 1, 1, 0", ATTNSCOPE_C8(0)
                    : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "l"(B));
  } else if constexpr (kN == 128) {
    ATTNSCOPE_WGMMA("m64n128k16", ATTNSCOPE_60 "%60, %61, %62, %63",
                    "{%64, %65, %66, %67}, %68, p, 1, 1, 0", ATTNSCOPE_C8(0), ATTNSCOPE_C8(8)
                    : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "l"(B));
  } else {
    static_assert(kN == 256);
    ATTNSCOPE_WGMMA("m64n256k16", ATTNSCOPE_120 "%120, %121, %122, %123, %124, %125, %126, %127",
                    "{%128, %129, %130, %131}, %132, p, 1, 1, 0", ATTNSCOPE_C8(0), ATTNSCOPE_C8(8),
                    ATTNSCOPE_C8(16), ATTNSCOPE_C8(24)
                    : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "l"(B));
  }
}

#undef ATTNSCOPE_C
#undef ATTNSCOPE_C8
#undef ATTNSCOPE_TEN
#undef ATTNSCOPE_20
#undef ATTNSCOPE_60
#undef ATTNSCOPE_120
#undef ATTNSCOPE_WGMMA

/// Products of each warpgroup, [64 x 16] by [16 x kN], all added to one result: the tensor cores
/// then execute them one after another without a gap. A is in registers or, like B, a panel of
/// shared memory; all warpgroups use the same panels.
template <int kN, bool kFromRegisters>
struct WarpgroupProducts {
  static constexpr int kMostThreads = 256;
  uint64_t panels;  ///< product_operand() of a panel
  device::FragmentA A;
  device::Accumulator<1, kN> C;

  __device__ WarpgroupProducts() {
#pragma unroll
    for (int n = 0; n < kN / 8; ++n) C[0][n][0] = C[0][n][1] = C[0][n][2] = C[0][n][3] = 0.0f;
    // The swizzle repeats every 1024 bytes, to which a panel is aligned
    const uint32_t address = (filled_shared_memory() + 1023) / 1024 * 1024;
    panels = device::product_operand(address, 0);
#pragma unroll
    for (int n = 0; n < 4; ++n) A[n] = mixed_pair(threadIdx.x * 4 + n);
    device::show_to_async_units();
  }

  template <int kOperations>
  __device__ void run() {
    constexpr int kStepBytes = 32, kSteps = 4;  // of a panel's rows along the sum
    device::open_products();
#pragma unroll
    for (int n = 0; n < kOperations; ++n) {
      const uint64_t B = panels + n % kSteps * kStepBytes / 16;
      if constexpr (kFromRegisters) {
        start_measured_product<kN>(C[0], A, B);
      } else {
        start_measured_product<kN>(C[0], B, B);
      }
    }
    device::close_products();
    asm volatile("wgmma.wait_group.sync.aligned 1;\n" ::: "memory");
  }

  __device__ uint32_t result() {
    device::wait_products<0>(C);
    float sum = 0;
#pragma unroll
    for (int n = 0; n < kN / 8; ++n) sum += C[0][n][0] + C[0][n][1] + C[0][n][2] + C[0][n][3];
    return __float_as_uint(sum);
  }
};

}  // namespace attnscope::kernels
