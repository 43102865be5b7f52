
#include "kernels/device/element_types.cuh"
#include "kernels/measure/input_generator.h"

namespace attnscope::kernels {

namespace {

// input_element is exact in fp32, so that one rounding to the storage type remains
__device__ void store(float* to, float value) {
  *to = value;
}
__device__ void store(device::Fp16* to, float value) {
  *to = device::Fp16(value);
}
__device__ void store(device::Bf16* to, float value) {
  *to = device::Bf16(value);
}

template <typename T>
__global__ void input_kernel(T* __restrict__ data, InputKind kind, uint64_t seed,
                             InputTensor tensor, Index count, Index heads, Index rows, Index d) {
  const Index stride = static_cast<Index>(gridDim.x) * blockDim.x;
  for (Index i = blockIdx.x * static_cast<Index>(blockDim.x) + threadIdx.x; i < count;
       i += stride) {
    const auto col = static_cast<uint32_t>(i % d);
    const auto row = static_cast<uint32_t>(i / d % rows);
    const auto h = static_cast<uint32_t>(i / d / rows % heads);
    const auto b = static_cast<uint32_t>(i / d / rows / heads);
    store(&data[i], input_element(kind, seed, tensor, b, h, row, col));
  }
}

template <typename T>
void launch(const Stream& stream, void* data_dev, const InputSpec& spec, InputTensor tensor,
            Index batch, Index heads, Index rows, Index d) {
  constexpr Index kThreads = 256;
  constexpr Index kMaxBlocks = 65536;
  const Index count = batch * heads * rows * d;
  const auto blocks = static_cast<unsigned>(std::min(ceil_div(count, kThreads), kMaxBlocks));
  input_kernel<T><<<blocks, kThreads, 0, stream.get()>>>(static_cast<T*>(data_dev), spec.kind,
                                                         spec.seed, tensor, count, heads, rows, d);
  ATTNSCOPE_CUDA(cudaGetLastError());
}

}  // namespace

void enqueue_inputs(const Stream& stream, void* data_dev, DType dtype, const InputSpec& spec,
                    InputTensor tensor, Index batch, Index heads, Index rows, Index d) {
  switch (dtype) {
    case DType::fp32:
      return launch<float>(stream, data_dev, spec, tensor, batch, heads, rows, d);
    case DType::fp16:
      return launch<device::Fp16>(stream, data_dev, spec, tensor, batch, heads, rows, d);
    case DType::bf16:
      return launch<device::Bf16>(stream, data_dev, spec, tensor, batch, heads, rows, d);
  }
}

}  // namespace attnscope::kernels
