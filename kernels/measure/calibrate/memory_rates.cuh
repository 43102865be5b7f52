/// Bandwidths: kernels whose blocks each read, write or copy a part of memory, and kernels whose
/// SMs visit chunks of it repeatedly. Accesses of 16 bytes bypass L1; the threads of a warp access
/// neighbouring addresses.
#pragma once

#include "kernels/measure/calibrate/stopwatch.cuh"

namespace attnscope::kernels {

/// The number of 16-byte accesses that each thread makes without waiting for the previous one.
inline constexpr int kStreamPieces = 4;

__device__ inline uint32_t folded(const uint4& piece) {
  return piece.x ^ piece.y ^ piece.z ^ piece.w;
}

// Each block reads, writes or copies one part of the data, kBlockBytes.

/// The index of the thread's first piece of this part.
template <int kThreads, int kBlockBytes>
__device__ inline uint64_t first_piece(uint32_t part) {
  static_assert(kBlockBytes == kThreads * kStreamPieces * 16);
  return uint64_t{part} * (kBlockBytes / 16) + threadIdx.x;
}

/// Writes to `sink` only for contents that almost never occur.
template <int kThreads, int kBlockBytes>
__global__ void __launch_bounds__(kThreads)
    read_once(const uint4* __restrict__ data, BlockTime* __restrict__ sink) {
  const uint64_t first = first_piece<kThreads, kBlockBytes>(blockIdx.x);
  uint4 pieces[kStreamPieces];
#pragma unroll
  for (int n = 0; n < kStreamPieces; ++n) pieces[n] = __ldcg(&data[first + n * kThreads]);
  uint32_t sum = 0;
#pragma unroll
  for (const uint4& piece : pieces) sum ^= folded(piece);
  keep(sum, sink);
}

/// Block b writes part b modulo `parts`: each part once, or a few parts repeatedly.
template <int kThreads, int kBlockBytes>
__global__ void __launch_bounds__(kThreads) write_parts(uint4* __restrict__ data, uint32_t parts) {
  const uint64_t first = first_piece<kThreads, kBlockBytes>(blockIdx.x % parts);
  const uint32_t bits = (blockIdx.x * kThreads + threadIdx.x) * 0x9e3779b9u;
#pragma unroll
  for (int n = 0; n < kStreamPieces; ++n) {
    data[first + n * kThreads] = {bits, ~bits, bits + n, bits ^ n};
  }
}

template <int kThreads, int kBlockBytes>
__global__ void __launch_bounds__(kThreads)
    copy_once(uint4* __restrict__ to, const uint4* __restrict__ from) {
  const uint64_t first = first_piece<kThreads, kBlockBytes>(blockIdx.x);
  uint4 pieces[kStreamPieces];
#pragma unroll
  for (int n = 0; n < kStreamPieces; ++n) pieces[n] = __ldcg(&from[first + n * kThreads]);
#pragma unroll
  for (int n = 0; n < kStreamPieces; ++n) to[first + n * kThreads] = pieces[n];
}

// A visitor's work on a chunk: each thread of the block makes kPieces accesses of kBytes each.

struct ReadAccess {
  static constexpr int kPieces = kStreamPieces, kBytes = 16;
  template <int kThreads>
  __device__ static void visit(char* chunk, uint32_t& sum) {
    const auto* const pieces = reinterpret_cast<const uint4*>(chunk) + threadIdx.x;
    uint4 read[kPieces];
#pragma unroll
    for (int n = 0; n < kPieces; ++n) read[n] = __ldcg(pieces + n * kThreads);
#pragma unroll
    for (const uint4& piece : read) sum ^= folded(piece);
  }
};

struct WriteAccess {
  static constexpr int kPieces = 1, kBytes = 16;
  template <int kThreads>
  __device__ static void visit(char* chunk, uint32_t& sum) {
    reinterpret_cast<uint4*>(chunk)[threadIdx.x] = {sum, ~sum, sum << 1, sum ^ 1};
    ++sum;
  }
};

/// Atomic additions of 0 in fp32, of kFloats neighbours each (more than one: compute capability 9.0
/// or newer).
template <int kFloats>
struct AddAccess {
  static constexpr int kPieces = 4 / kFloats, kBytes = 4 * kFloats;
  template <int kThreads>
  __device__ static void visit(char* chunk, uint32_t& sum) {
    char* const mine = chunk + threadIdx.x * kBytes;
#pragma unroll
    for (int n = 0; n < kPieces; ++n) {
      char* const address = mine + n * (kThreads * kBytes);
      if constexpr (kFloats == 1) {
        asm volatile("red.global.add.f32 [%0], %1;\n" ::"l"(address), "f"(0.0f) : "memory");
      } else if constexpr (kFloats == 2) {
        asm volatile("red.global.add.v2.f32 [%0], {%1, %1};\n" ::"l"(address), "f"(0.0f)
                     : "memory");
      } else {
        asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};\n" ::"l"(address), "f"(0.0f)
                     : "memory");
      }
    }
    ++sum;
  }
};

/// One block on each SM visits `visits` chunks of kChunkBytes in the order of turns[its SM].
template <typename Access, int kThreads, int kChunkBytes>
__global__ void __launch_bounds__(kThreads)
    visit_in_turns(char* __restrict__ data, const ChunkTurns* __restrict__ turns, int visits,
                   BlockTime* __restrict__ times) {
  static_assert(kChunkBytes == kThreads * Access::kPieces * Access::kBytes);
  ChunkTurns mine = turns[device::sm_index()];
  asm volatile("" : "+r"(mine.first));  // loaded before the stopwatch starts
  char* const region = data + mine.region_bytes;
  uint32_t turn = mine.first;
  uint32_t sum = threadIdx.x;
  const Stopwatch stopwatch(times);
#pragma unroll 1
  for (int visit = 0; visit < visits; ++visit) {
    Access::template visit<kThreads>(region + uint64_t{turn} * kChunkBytes, sum);
    turn += mine.step;
    while (turn >= mine.chunks) turn -= mine.chunks;
  }
  stopwatch.stop();
  keep(sum, times);
}

}  // namespace attnscope::kernels
