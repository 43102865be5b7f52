/// Asynchronous copies from global to shared memory: cp.async.cg, 16 bytes per thread, which bypass
/// L1 (two blocks of one SM that read the same line each request it from L2, as the model counts).
#pragma once

#include "kernels/device/knobs.cuh"

namespace attnscope::kernels::device {

/// The address of a shared-memory object within the 32-bit shared window, as ldmatrix and cp.async
/// expect it.
__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Starts copying 16 bytes. If not `valid`, reads nothing (`source` may point anywhere) and writes
/// zeros.
__device__ inline void copy_async_16(uint32_t destination, const void* source, bool valid) {
  if constexpr (!knob::kAsyncCopies) {
    const uint4 words = valid ? __ldcg(static_cast<const uint4*>(source)) : uint4{};
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};\n" ::"r"(destination), "r"(words.x),
                 "r"(words.y), "r"(words.z), "r"(words.w)
                 : "memory");
    return;
  }
  const int source_bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(destination), "l"(source),
               "r"(source_bytes)
               : "memory");
}

/// Closes the group of copies that this thread has started since the last commit.
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}

/// Waits until at most `kPending` of this thread's groups are still in flight. Other threads see
/// the data only after a barrier.
template <int kPending>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
}

}  // namespace attnscope::kernels::device
