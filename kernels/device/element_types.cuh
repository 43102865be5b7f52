/// The 16-bit types of tensors in memory, and the type traits that templates need, since NVRTC
/// comes without cuda_fp16.h and the standard library. Arithmetic is in fp32; these types only
/// convert, rounding to nearest even.
#pragma once

#include "reference/fixed_width.h"

namespace attnscope::kernels::device {

/// IEEE half precision.
struct Fp16 {
  uint16_t bits;
  Fp16() = default;
  __device__ explicit Fp16(float value) {
    asm("cvt.rn.f16.f32 %0, %1;\n" : "=h"(bits) : "f"(value));
  }
  __device__ explicit operator float() const {
    float value;
    asm("cvt.f32.f16 %0, %1;\n" : "=f"(value) : "h"(bits));
    return value;
  }
};

/// The upper 16 bits of an fp32 value: bfloat16.
struct Bf16 {
  uint16_t bits;
  Bf16() = default;
  __device__ explicit Bf16(float value) {
    asm("cvt.rn.bf16.f32 %0, %1;\n" : "=h"(bits) : "f"(value));
  }
  __device__ explicit operator float() const {
    float value;
#if __CUDA_ARCH__ >= 900
    asm("cvt.f32.bf16 %0, %1;\n" : "=f"(value) : "h"(bits));
#else
    asm("mov.b32 %0, {0, %1};\n" : "=f"(value) : "h"(bits));
#endif
    return value;
  }
};

/// Two fp32 values, rounded, in one register; `low` is the first element.
template <typename T>
__device__ inline uint32_t pack(float low, float high);

template <>
__device__ inline uint32_t pack<Fp16>(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

template <>
__device__ inline uint32_t pack<Bf16>(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

/// The reverse of pack.
template <typename T>
__device__ inline float2 unpack(uint32_t pair) {
  T low, high;
  asm("mov.b32 {%0, %1}, %2;\n" : "=h"(low.bits), "=h"(high.bits) : "r"(pair));
  return {static_cast<float>(low), static_cast<float>(high)};
}

/// One element; the read bypasses L1.
__device__ inline float load_past_l1(const float* source) {
  return __ldcg(source);
}
template <typename T>
__device__ inline T load_past_l1(const T* source) {
  T element;
  element.bits = __ldcg(&source->bits);
  return element;
}

/// Whether two types are the same.
template <typename A, typename B>
inline constexpr bool kIsSame = false;
template <typename A>
inline constexpr bool kIsSame<A, A> = true;

}  // namespace attnscope::kernels::device
