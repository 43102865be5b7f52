/// Rates of shared memory and of the block's barrier on one SM: operations of time_operations().
#pragma once

#include "kernels/device/matrix_fragments.cuh"
#include "kernels/measure/calibrate/operations.cuh"

namespace attnscope::kernels {

/// Bytes of dynamic shared memory that the operations use.
inline constexpr int kUsedSharedBytes = 33 * 1024;

/// The address of the block's dynamic shared memory, filled with mixed_pair().
__device__ inline uint32_t filled_shared_memory() {
  extern __shared__ uint4 memory[];
  auto* const words = reinterpret_cast<uint32_t*>(memory);
  for (int n = threadIdx.x; n < kUsedSharedBytes / 4; n += blockDim.x) words[n] = mixed_pair(n);
  return static_cast<uint32_t>(__cvta_generic_to_shared(memory));
}

/// Distance between the accesses of one thread: a warp accesses 16 bytes per lane.
inline constexpr int kAccessStride = 512;
inline constexpr int kAccessPlaces = 4;

/// The words that loads write to a thread's registers.
struct LoadedWords {
  static constexpr int kMostThreads = 512;
  uint32_t address = filled_shared_memory();
  uint32_t x[4] = {0, 0, 0, 0};

  __device__ uint32_t result() const { return x[0] + x[1] + x[2] + x[3]; }
};

/// Loads of 16 bytes in which kWays of every eight lanes use the same group of banks: no conflicts
/// if kWays is 1. All warps read the same memory.
template <int kWays>
struct SharedLoads : LoadedWords {
  __device__ SharedLoads() { address += threadIdx.x % 32 * 16 * kWays; }

  template <int kOperations>
  __device__ void run() {
#pragma unroll
    for (int n = 0; n < kOperations; ++n) {
      uint32_t v[4];
      asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];\n"
                   : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                   : "r"(address + n % kAccessPlaces * kAccessStride));
      x[n % 2] ^= v[0] ^ v[1];
      x[n % 2 + 2] ^= v[2] ^ v[3];
    }
  }
};

/// Loads of 4 bytes without conflicts.
struct SharedWordLoads : LoadedWords {
  __device__ SharedWordLoads() { address += threadIdx.x % 32 * 4; }

  template <int kOperations>
  __device__ void run() {
#pragma unroll
    for (int n = 0; n < kOperations; n += 2) {
      uint32_t v[2];
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        asm volatile("ld.volatile.shared.u32 %0, [%1];\n"
                     : "=r"(v[k])
                     : "r"(address + (n + k) % kAccessPlaces * kAccessStride));
      }
      x[n / 2 % 4] ^= v[0] ^ v[1];
    }
  }
};

/// Stores of 16 bytes without conflicts; each warp writes its own memory.
struct SharedStores : LoadedWords {
  __device__ SharedStores() {
    address += threadIdx.x / 32 * (kAccessPlaces * kAccessStride) + threadIdx.x % 32 * 16;
  }

  template <int kOperations>
  __device__ void run() {
#pragma unroll
    for (int n = 0; n < kOperations; ++n) {
      asm volatile("st.volatile.shared.v4.u32 [%0], {%1, %2, %3, %4};\n" ::"r"(
                       address + n % kAccessPlaces * kAccessStride),
                   "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
                   : "memory");
    }
  }
};
static_assert(SharedStores::kMostThreads / 32 * kAccessPlaces * kAccessStride <= kUsedSharedBytes);

/// ldmatrix: four 8 x 8 tiles, 512 bytes, of neighbouring rows without conflicts. An iteration
/// reads no address twice, and the next one reads different addresses: otherwise the compiler would
/// reuse the values.
struct MatrixLoads : LoadedWords {
  int to_next_bytes = kUsedSharedBytes / 2 / kAccessStride * kAccessStride;

  __device__ MatrixLoads() { address += threadIdx.x % 32 * 16; }

  template <int kOperations>
  __device__ void run() {
    static_assert(2 * kOperations * kAccessStride <= kUsedSharedBytes);
#pragma unroll
    for (int n = 0; n < kOperations; ++n) {
      uint32_t v[4];
      device::load_matrix(v, address + n * kAccessStride);
      x[n % 2] ^= v[0] ^ v[1];
      x[n % 2 + 2] ^= v[2] ^ v[3];
    }
    address += to_next_bytes;
    to_next_bytes = -to_next_bytes;
  }
};

/// The barrier of all threads of the block.
struct Barriers {
  static constexpr int kMostThreads = 1024;

  template <int kOperations>
  __device__ void run() {
#pragma unroll
    for (int n = 0; n < kOperations; ++n) asm volatile("bar.sync 0;\n" ::: "memory");
  }
  __device__ uint32_t result() const {
    return 0;
  }
};

}  // namespace attnscope::kernels
