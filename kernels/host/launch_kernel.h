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

/// Enqueues `kernel`, without dynamic shared memory, so that its blocks may start while the
/// previous launch on the stream still runs, if the GPU supports this (compute capability 9.0 and
/// newer). The kernel has to call device::wait_for_launch_before() before it reads what that launch
/// writes, and the previous launch has to call device::let_next_launch_start().
template <typename... Parameters, typename... Values>
void start_overlapping_kernel(void (*kernel)(Parameters...), Index blocks, int threads,
                              void* stream, const Values&... values) {
  int device = 0, major = 0;
  ATTNSCOPE_CUDA(cudaGetDevice(&device));
  ATTNSCOPE_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(static_cast<unsigned>(blocks));
  launch.blockDim = dim3(static_cast<unsigned>(threads));
  launch.stream = static_cast<cudaStream_t>(stream);
  launch.attrs = &overlap;
  launch.numAttrs = major >= 9 ? 1 : 0;
  ATTNSCOPE_CUDA(cudaLaunchKernelEx(&launch, kernel, values...));
}

}  // namespace attnscope::kernels
