/// Matrix products of a warpgroup, four neighbouring warps, on Hopper's tensor cores: wgmma.
/// Compiles only to machine code for sm_90a, which only GPUs of compute capability 9.0 run.
///
/// mma.sync takes operands from registers, so that each warp first reads them from shared memory;
/// wgmma reads B in place, and A too unless it is in registers. It runs asynchronously: start a
/// product, close_products(), and wait_products() before its result is used. Each warp has 16 rows
/// of a [64 x n] result, in fragments as in matrix_fragments.cuh.
#pragma once

#include "kernels/device/tile_products.cuh"

namespace attnscope::kernels::device {

inline constexpr int kWarpgroupThreads = 128;
inline constexpr int kWarpgroupRows = 64;  ///< of one product's result
inline constexpr int kPanelColumns = 64;   ///< 128 bytes, the width of wgmma's widest swizzle

/// A [kRows x d] tile in panels of 64 columns, one after another: wgmma reads the swizzle of a
/// SharedTile of that width.
template <int kRows_, int d>
struct PanelTile {
  using Panel = SharedTile<kRows_, kPanelColumns>;
  static constexpr int kRows = kRows_;
  static constexpr int kPanels = d / kPanelColumns;
  static constexpr int kChunks = d / 8;      ///< 16-byte chunks of a row
  static constexpr bool kWholeRows = false;  ///< the chunks of a row are in separate panels
  static constexpr int kBytes = kPanels * Panel::kBytes;
  static_assert(d % kPanelColumns == 0 && kRows_ % 8 == 0);

  uint32_t address;  ///< aligned to 1024 bytes

  __device__ Panel panel(int n) const { return {address + n * Panel::kBytes}; }
  __device__ uint32_t chunk_address(int row, int chunk) const {
    return panel(chunk / Panel::kChunks).chunk_address(row, chunk % Panel::kChunks);
  }
};

/// Makes this thread's ordinary loads and stores in shared memory visible to products and bulk
/// copies that any thread starts after a barrier that includes this one.
__device__ inline void show_to_async_units() {
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}
/// The same for all memory, and for finished copies. It also waits until the thread's accesses have
/// reached L2, and therefore takes longer.
__device__ inline void show_all_memory_to_async_units() {
  asm volatile("fence.proxy.async;\n" ::: "memory");
}

/// Numbers of the block's hardware barriers; __syncthreads() uses 0.
inline constexpr int kFirstWarpgroupBarrier = 1, kMostWarpgroups = 4,
                     kBothWarpgroupsBarrier = kFirstWarpgroupBarrier + kMostWarpgroups,
                     kFirstTurnsBarrier = kBothWarpgroupsBarrier + 1;

/// Barriers: of one of up to four consumers; of both, in blocks with two.
__device__ inline void warpgroup_barrier(int warpgroup) {
  asm volatile("bar.sync %0, %1;\n" ::"r"(kFirstWarpgroupBarrier + warpgroup),
               "n"(kWarpgroupThreads)
               : "memory");
}
__device__ inline void both_warpgroups_barrier() {
  asm volatile("bar.sync %0, %1;\n" ::"n"(kBothWarpgroupsBarrier), "n"(2 * kWarpgroupThreads)
               : "memory");
}

/// Changes the number of registers per thread of a warpgroup: to fewer, or to more after others
/// have released some.
template <int kRegisters>
__device__ inline void give_up_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}

/// Called before the first product of a group: makes values written to registers visible to it.
__device__ inline void open_products() {
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}

/// Closes the group of products started since the last call.
__device__ inline void close_products() {
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}

/// Keeps the compiler from moving uses of a product's result before the wait for it.
template <int kPieces>
__device__ inline void settle(FragmentC (&result)[1][kPieces]) {
#pragma unroll
  for (int n = 0; n < kPieces; ++n) {
    FragmentC& c = result[0][n];
    asm volatile("" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])::"memory");
  }
}

/// Waits until at most `kPending` groups are unfinished. The operands of the finished ones may then
/// be overwritten, and their `results` used.
template <int kPending, int... kPieces>
__device__ inline void wait_products(FragmentC (&... results)[1][kPieces]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
  (settle(results), ...);
}

/// How wgmma finds an operand of 16 values along the sum: rows of a panel are 128 bytes apart, the
/// swizzle repeats every eight rows, and the next panel begins `panel_bytes` further.
__device__ inline uint64_t product_operand(uint32_t address, int panel_bytes) {
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62;
  constexpr uint64_t kEightRows = uint64_t{1024 / 16} << 32;
  return kSwizzle128 | kEightRows | static_cast<uint64_t>(panel_bytes / 16) << 16 | address / 16;
}

/// The orientation of an operand's panel: either its rows are rows of the product (the sum runs
/// along each row), or the sum runs down its rows.
enum class SumAlong : int { columns = 0, rows = 1 };

// clang-format off
#define ATTNSCOPE_C(n) "+f"(C[n][0]), "+f"(C[n][1]), "+f"(C[n][2]), "+f"(C[n][3])
#define ATTNSCOPE_C8(n) ATTNSCOPE_C(n), ATTNSCOPE_C(n + 1), ATTNSCOPE_C(n + 2), ATTNSCOPE_C(n + 3), \
                        ATTNSCOPE_C(n + 4), ATTNSCOPE_C(n + 5), ATTNSCOPE_C(n + 6), ATTNSCOPE_C(n + 7)
#define ATTNSCOPE_C_64 \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "   \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define ATTNSCOPE_C_128 \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "   \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "    \
  "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "    \
  "%56, %57, %58, %59, %60, %61, %62, %63}"
// clang-format on

/// C [64 x 64] = A B, or C + A B if `adds`, over 16 values along the sum. Both operands are
/// product_operand()s.
template <typename T, SumAlong kSumOfA, SumAlong kSumOfB>
__device__ inline void start_product(FragmentC (&C)[8], uint64_t A, uint64_t B, bool adds) {
#define ATTNSCOPE_WGMMA(TYPES)                                               \
  asm volatile(                                                              \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"                           \
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPES " " ATTNSCOPE_C_64 \
      ", %32, %33, p, 1, 1, %35, %36;\n}\n"                                  \
      : ATTNSCOPE_C8(0)                                                      \
      : "l"(A), "l"(B), "r"(int{adds}), "n"(int(kSumOfA)), "n"(int(kSumOfB)))
  if constexpr (kIsSame<T, Fp16>) {
    ATTNSCOPE_WGMMA("f16.f16");
  } else {
    ATTNSCOPE_WGMMA("bf16.bf16");
  }
#undef ATTNSCOPE_WGMMA
}

/// C [64 x 128] += A B over 16 values along the sum, which runs down the rows of B. B is a
/// product_operand().
template <typename T>
__device__ inline void start_product(FragmentC (&C)[16], const FragmentA& A, uint64_t B) {
#define ATTNSCOPE_WGMMA(TYPES)                                                 \
  asm volatile(                                                                \
      "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"                               \
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPES " " ATTNSCOPE_C_128 \
      ", {%64, %65, %66, %67}, %68, p, 1, 1, 1;\n}\n"                          \
      : ATTNSCOPE_C8(0), ATTNSCOPE_C8(8)                                       \
      : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "l"(B))
  if constexpr (kIsSame<T, Fp16>) {
    ATTNSCOPE_WGMMA("f16.f16");
  } else {
    ATTNSCOPE_WGMMA("bf16.bf16");
  }
#undef ATTNSCOPE_WGMMA
}

#undef ATTNSCOPE_C
#undef ATTNSCOPE_C8
#undef ATTNSCOPE_C_64
#undef ATTNSCOPE_C_128

/// Starts S^T = Kj Qi^T (dP^T = Vj dOi^T), unscaled: the warpgroup's 64 keys, from `first_key` on.
template <typename T, int Br, int Bc, int d>
__device__ inline void start_scores(Accumulator<1, Br>& S, const PanelTile<Bc, d>& keys,
                                    const PanelTile<Br, d>& queries, int first_key) {
  constexpr int kPanelSteps = kPanelColumns / 16;
#pragma unroll
  for (int k = 0; k < d / 16; ++k) {
    const uint32_t column_bytes = k % kPanelSteps * 32;
    const uint32_t key = keys.panel(k / kPanelSteps).address + first_key * 128 + column_bytes;
    const uint32_t query = queries.panel(k / kPanelSteps).address + column_bytes;
    start_product<T, SumAlong::columns, SumAlong::columns>(S[0], product_operand(key, 0),
                                                           product_operand(query, 0), k > 0);
  }
  close_products();
}

/// P or dS of a warpgroup's keys, rounded: operand A of the next products.
template <int Br>
using ScoreOperand = FragmentA[Br / 16];

template <typename T, int Br>
__device__ inline void round_scores(ScoreOperand<Br>& out, const Accumulator<1, Br>& scores) {
#pragma unroll
  for (int k = 0; k < Br / 16; ++k) {
    const FragmentC& left = scores[0][2 * k];
    const FragmentC& right = scores[0][2 * k + 1];
    out[k][0] = pack<T>(left[0], left[1]);
    out[k][1] = pack<T>(left[2], left[3]);
    out[k][2] = pack<T>(right[0], right[1]);
    out[k][3] = pack<T>(right[2], right[3]);
  }
}

/// Starts dVj += P^T dOi or dKj += dS^T Qi: the warpgroup's 64 keys.
template <typename T, int Br, int d>
__device__ inline void start_key_gradient(Accumulator<1, d>& gradient,
                                          const ScoreOperand<Br>& scores,
                                          const PanelTile<Br, d>& rows) {
#pragma unroll
  for (int k = 0; k < Br / 16; ++k) {
    start_product<T>(gradient[0], scores[k],
                     product_operand(rows.address + k * 16 * 128, PanelTile<Br, d>::Panel::kBytes));
  }
  close_products();
}

/// Starts dQ = dS Kj, 64 queries by one panel of columns, summed over all keys: the rows of dS.
template <typename T, int Bc, int d>
__device__ inline void start_query_gradient(Accumulator<1, kPanelColumns>& dQ,
                                            const SharedTile<Bc, 64>& dS,
                                            const PanelTile<Bc, d>& Kj, int panel) {
#pragma unroll
  for (int k = 0; k < Bc / 16; ++k) {
    start_product<T, SumAlong::rows, SumAlong::rows>(
        dQ[0], product_operand(dS.address + k * 16 * 128, 0),
        product_operand(Kj.panel(panel).address + k * 16 * 128, 0), k > 0);
  }
  close_products();
}

}  // namespace attnscope::kernels::device
