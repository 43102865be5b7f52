#include "tests/measure/copy_kernel.h"

namespace attnscope::kernels {

namespace {

__global__ void copy_kernel(uint4* __restrict__ to, const uint4* __restrict__ from,
                            std::size_t count) {
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < count) to[i] = __ldcg(&from[i]);
}

__global__ void repeated_read_kernel(const uint4* __restrict__ from, std::size_t count) {
  unsigned sum = 0;
  for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) sum += __ldcg(&from[i]).x;
  if (sum == 0xffffffffu) __trap();  // keeps the loads alive; zeros never add up to it
}

__global__ void bad_write_kernel(int* nowhere) {
  *nowhere = 1;
}

}  // namespace

void enqueue_copy(const Stream& stream, void* to_dev, const void* from_dev, std::size_t bytes) {
  constexpr unsigned kThreads = 256;
  const std::size_t count = bytes / sizeof(uint4);
  copy_kernel<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0,
                stream.get()>>>(static_cast<uint4*>(to_dev), static_cast<const uint4*>(from_dev),
                                count);
  ATTNSCOPE_CUDA(cudaGetLastError());
}

void enqueue_repeated_read(const Stream& stream, const void* from_dev, std::size_t bytes,
                           int blocks) {
  repeated_read_kernel<<<static_cast<unsigned>(blocks), 1024, 0, stream.get()>>>(
      static_cast<const uint4*>(from_dev), bytes / sizeof(uint4));
  ATTNSCOPE_CUDA(cudaGetLastError());
}

void enqueue_bad_write(const Stream& stream) {
  bad_write_kernel<<<1, 1, 0, stream.get()>>>(reinterpret_cast<int*>(16));
  ATTNSCOPE_CUDA(cudaGetLastError());
}

}  // namespace attnscope::kernels
