/// Rates of instructions on one SM: arithmetic, special functions, conversions, shuffles.
///
/// An operation is a struct that prepares its registers and shared memory, and whose run<n>() has
/// each thread execute n of the instructions in independent chains. The instructions are inline PTX
/// with operands whose values the compiler does not know, ordered so that it cannot merge two of
/// them.
#pragma once

#include "kernels/measure/calibrate/stopwatch.cuh"

namespace attnscope::kernels {

/// Every thread executes kOperations of the instructions in each iteration.
template <typename Operation, int kOperations>
__global__ void __launch_bounds__(Operation::kMostThreads)
    time_operations(BlockTime* __restrict__ times, int iterations) {
  Operation operation;
  const Stopwatch stopwatch(times);
#pragma unroll 1
  for (int i = 0; i < iterations; ++i) operation.template run<kOperations>();
  keep(operation.result(), times);  // waits for the last operations
  stopwatch.stop();
}

/// Independent values of one thread; each is the operand of the next instruction in its chain.
inline constexpr int kChains = 8;

struct FloatChains {
  static constexpr int kMostThreads = 1024;
  float x[kChains], a, b;

  __device__ FloatChains() : a(0.75f + threadIdx.x * 1e-6f), b(0.25f + threadIdx.x * 1e-6f) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) x[c] = a + b * c;
  }
  __device__ uint32_t result() const {
    float sum = 0;
#pragma unroll
    for (int c = 0; c < kChains; ++c) sum += x[c];
    return __float_as_uint(sum);
  }
};

struct FusedMultiplyAdds : FloatChains {
  template <int kOperations>
  __device__ void run() {
#pragma unroll
    for (int n = 0; n < kOperations; ++n) {
      asm volatile("fma.rn.ftz.f32 %0, %0, %1, %2;\n" : "+f"(x[n % kChains]) : "f"(a), "f"(b));
    }
  }
};

/// Alternating additions and multiplications; .rn keeps them from being fused into one instruction.
struct AddsAndMultiplies : FloatChains {
  template <int kOperations>
  __device__ void run() {
#pragma unroll
    for (int n = 0; n < kOperations; ++n) {
      float& value = x[n % kChains];
      if (n / kChains % 2 == 0) {
        asm volatile("add.rn.ftz.f32 %0, %0, %1;\n" : "+f"(value) : "f"(b));
      } else {
        asm volatile("mul.rn.ftz.f32 %0, %0, %1;\n" : "+f"(value) : "f"(a));
      }
    }
  }
};

/// Alternating maxima and minima.
struct Maxima : FloatChains {
  template <int kOperations>
  __device__ void run() {
#pragma unroll
    for (int n = 0; n < kOperations; ++n) {
      float& value = x[n % kChains];
      if (n / kChains % 2 == 0) {
        asm volatile("max.ftz.f32 %0, %0, %1;\n" : "+f"(value) : "f"(b));
      } else {
        asm volatile("min.ftz.f32 %0, %0, %1;\n" : "+f"(value) : "f"(a));
      }
    }
  }
};

/// x = 2^-x, which converges; the sign costs no instruction.
struct Exponentials : FloatChains {
  template <int kOperations>
  __device__ void run() {
#pragma unroll
    for (int n = 0; n < kOperations; ++n) {
      asm volatile(
          "{\n.reg .f32 t;\nneg.f32 t, %0;\n"
          "ex2.approx.ftz.f32 %0, t;\n}\n"
          : "+f"(x[n % kChains]));
    }
  }
};

/// Converts two fp32 values to a pair of bf16, whose bits are the next fp32 value.
struct Bf16Packs : FloatChains {
  template <int kOperations>
  __device__ void run() {
#pragma unroll
    for (int n = 0; n < kOperations; ++n) {
      float& value = x[n % kChains];
      uint32_t pair;
      asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(value), "f"(b));
      value = __uint_as_float(pair);
    }
  }
};

struct IntegerChains {
  static constexpr int kMostThreads = 1024;
  uint32_t x[kChains], operands[4];

  __device__ IntegerChains() {
#pragma unroll
    for (int c = 0; c < kChains; ++c) x[c] = mixed_bits(threadIdx.x * kChains + c);
#pragma unroll
    for (int k = 0; k < 4; ++k) operands[k] = mixed_bits(threadIdx.x + 7919 * k);
  }
  __device__ uint32_t result() const {
    uint32_t sum = 0;
#pragma unroll
    for (int c = 0; c < kChains; ++c) sum += x[c];
    return sum;
  }
};

/// Bitwise functions of three operands; the first and third operand of a value's next function
/// differ, so that no two of them can be merged.
struct BitwiseFunctions : IntegerChains {
  template <int kOperations>
  __device__ void run() {
#pragma unroll
    for (int n = 0; n < kOperations; ++n) {
      const int k = n / kChains % 2 * 2;
      asm volatile("lop3.b32 %0, %0, %1, %2, 0xd2;\n"
                   : "+r"(x[n % kChains])
                   : "r"(operands[k]), "r"(operands[k + 1]));
    }
  }
};

/// Alternating fused multiply-adds and bitwise functions: two execution units. At four instructions
/// per cycle, the unit of the bitwise functions is fully used as well.
struct MixedInstructions {
  static constexpr int kMostThreads = 1024;
  FusedMultiplyAdds floats;
  BitwiseFunctions integers;

  template <int kOperations>
  __device__ void run() {
#pragma unroll
    for (int n = 0; n < kOperations / 2; ++n) {
      const int k = n / kChains % 2 * 2;
      asm volatile("fma.rn.ftz.f32 %0, %0, %1, %2;\n"
                   : "+f"(floats.x[n % kChains])
                   : "f"(floats.a), "f"(floats.b));
      asm volatile("lop3.b32 %0, %0, %1, %2, 0xd2;\n"
                   : "+r"(integers.x[n % kChains])
                   : "r"(integers.operands[k]), "r"(integers.operands[k + 1]));
    }
  }
  __device__ uint32_t result() const {
    return floats.result() + integers.result();
  }
};

struct Shuffles : IntegerChains {
  template <int kOperations>
  __device__ void run() {
#pragma unroll
    for (int n = 0; n < kOperations; ++n) {
      asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, 0xffffffff;\n" : "+r"(x[n % kChains]));
    }
  }
};

}  // namespace attnscope::kernels
