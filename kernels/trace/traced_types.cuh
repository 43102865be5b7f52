/// The precisions that instrumented kernels are compiled for, by their CUDA types.
#pragma once

#include "reference/attention_problem.h"

namespace attnscope::kernels {

template <typename T>
inline constexpr DType kDTypeOf = device::kIsSame<T, device::Fp16> ? DType::fp16 : DType::bf16;

}  // namespace attnscope::kernels
