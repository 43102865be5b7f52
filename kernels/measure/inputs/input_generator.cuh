/// Generates inputs element by element, bit-identical to the host's.
#pragma once

#include "kernels/device/element_types.cuh"
#include "reference/input_element.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

/// Fills `data`, a contiguous tensor of `count` elements, [.., heads, rows, d].
template <typename T, int kThreads>
__global__ void __launch_bounds__(kThreads)
    generate_inputs(T* __restrict__ data, InputKind kind, uint64_t seed, InputTensor tensor,
                    Index count, Index heads, Index rows, Index d) {
  const Index stride = Index{gridDim.x} * kThreads;
  for (Index i = Index{blockIdx.x} * kThreads + threadIdx.x; i < count; i += stride) {
    const auto col = static_cast<uint32_t>(i % d);
    const auto row = static_cast<uint32_t>(i / d % rows);
    const auto h = static_cast<uint32_t>(i / d / rows % heads);
    const auto b = static_cast<uint32_t>(i / d / rows / heads);
    // input_element is exact in fp32, so that one rounding to the storage type remains
    data[i] = static_cast<T>(input_element(kind, seed, tensor, b, h, row, col));
  }
}

}  // namespace attnscope::kernels
