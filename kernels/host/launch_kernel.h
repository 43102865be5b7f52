/// Starts a CUDA kernel with checks. Only for .cu files.
#pragma once

#include "kernels/host/cuda_check.h"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

/// Enqueues `kernel` on `blocks` thread blocks of `threads` threads with `shared_bytes` of dynamic
/// shared memory (raising the kernel's limit where that exceeds 48 KB).
template <typename... Parameters, typename... Values>
void start_kernel(void (*kernel)(Parameters...), Index blocks, int threads, int shared_bytes,
                  void* stream, const Values&... values) {
  constexpr int kDefaultSharedBytes = 48 * 1024;
  if (shared_bytes > kDefaultSharedBytes) {
    check_shared_memory(shared_bytes);
    ATTNSCOPE_CUDA(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  }
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads),
           static_cast<std::size_t>(shared_bytes), static_cast<cudaStream_t>(stream)>>>(values...);
  ATTNSCOPE_CUDA(cudaGetLastError());
}

}  // namespace attnscope::kernels
