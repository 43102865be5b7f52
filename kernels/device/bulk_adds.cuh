/// Bulk additions from shared to global memory (compute capability 9.0): one thread starts them,
/// and L2 performs them.
#pragma once

#include "kernels/device/bulk_copies.cuh"
#include "kernels/device/gradient_products.cuh"

namespace attnscope::kernels::device {

/// Starts adding the floats in `bytes` bytes at the shared address `source` to `destination`; both
/// are aligned to 16 bytes. Called by one thread; its next close_bulk_stores() closes the
/// addition's group.
__device__ inline void start_bulk_add(float* destination, uint32_t source, int bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;\n" ::"l"(
                   destination),
               "r"(source), "r"(bytes)
               : "memory");
}

/// Writes a warp's accumulator to the shared address `destination`, each [16 x 8] piece in fragment
/// order (as in atomic_add_fragments).
template <int kPieces>
__device__ inline void leave_fragments(uint32_t destination, const FragmentC (&C)[1][kPieces],
                                       int lane) {
#pragma unroll
  for (int n = 0; n < kPieces; ++n) {
    const FragmentC& c = C[0][n];
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};\n" ::"r"(
                     destination + (n * kFragmentFloats + lane * 4) * 4),
                 "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3])
                 : "memory");
  }
}

}  // namespace attnscope::kernels::device
