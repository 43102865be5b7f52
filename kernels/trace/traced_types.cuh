/// The precisions that instrumented kernels are compiled for, by their CUDA types.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "reference/attention_problem.h"

namespace attnscope::kernels {

template <typename T>
inline constexpr DType kDTypeOf = std::is_same_v<T, __half> ? DType::fp16 : DType::bf16;

}  // namespace attnscope::kernels
