/// Latencies: one thread follows a chain of addresses, so that each load waits for the previous
/// one.
#pragma once

#include "kernels/measure/calibrate/stopwatch.cuh"

namespace attnscope::kernels {

/// Maps each number to one of 2^kLogLines lines, one to one, in an irregular order.
template <int kLogLines>
__device__ inline uint32_t mixed_line(uint32_t n) {
  constexpr uint32_t kMask = (1u << kLogLines) - 1;
  n = n * 0x7feb352du & kMask;
  n ^= n >> (kLogLines / 2 + 1);
  n = n * 0x846ca68bu & kMask;
  return n ^ n >> (kLogLines / 2 + 1);
}

/// Stores in each of 2^kLogLines lines the address of the next line in the chain.
template <int kLogLines, int kThreads>
__global__ void __launch_bounds__(kThreads) link_lines(char* __restrict__ data) {
  const uint32_t n = blockIdx.x * kThreads + threadIdx.x;
  char* const line = data + uint64_t{mixed_line<kLogLines>(n)} * kLineBytes;
  char* const next = data + uint64_t{mixed_line<kLogLines>(n + 1)} * kLineBytes;
  *reinterpret_cast<char**>(line) = next;
}

/// Stores in each of the lines, kTimedLineStride bytes apart, its own address.
template <int kThreads>
__global__ void __launch_bounds__(kThreads) link_lines_to_themselves(char* __restrict__ data) {
  char* const line = data + (uint64_t{blockIdx.x} * kThreads + threadIdx.x) * kTimedLineStride;
  *reinterpret_cast<char**>(line) = line;
}

enum class Level : int { l1, past_l1 };

template <Level kLevel>
__device__ inline uint64_t follow(uint64_t address) {
  uint64_t next;
  if constexpr (kLevel == Level::l1) {
    asm volatile("ld.global.ca.u64 %0, [%1];\n" : "=l"(next) : "l"(address) : "memory");
  } else {
    asm volatile("ld.global.cg.u64 %0, [%1];\n" : "=l"(next) : "l"(address) : "memory");
  }
  return next;
}

/// Follows `warm_up` links, then times `links` more, a multiple of 8.
template <Level kLevel>
__global__ void follow_lines(char* first, int warm_up, int links, BlockTime* __restrict__ times) {
  auto address = reinterpret_cast<uint64_t>(first);
  for (int n = 0; n < warm_up; ++n) address = follow<kLevel>(address);
  if (address == 0) return;  // waits for the last link
  const Stopwatch stopwatch(times);
#pragma unroll 1
  for (int n = 0; n < links; n += 8) {
#pragma unroll
    for (int k = 0; k < 8; ++k) address = follow<kLevel>(address);
  }
  keep(static_cast<uint32_t>(address), times);
  stopwatch.stop();
}

/// The same in shared memory, around a ring of kWords words.
template <int kWords>
__global__ void follow_shared_words(int links, BlockTime* __restrict__ times) {
  __shared__ uint32_t ring[kWords];
  const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(ring));
  for (int n = 0; n < kWords; ++n) ring[n] = base + (n + 7) % kWords * 4;
  uint32_t address = base;
  const Stopwatch stopwatch(times);
#pragma unroll 1
  for (int n = 0; n < links; n += 8) {
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      asm volatile("ld.shared.u32 %0, [%0];\n" : "+r"(address)::"memory");
    }
  }
  keep(address, times);
  stopwatch.stop();
}

/// Writes cycles[block][line]: the mean cycles of a load of that line, one of `lines` lines that
/// are linked to themselves, measured by one thread of each block. Each block begins at a different
/// line.
template <int kLinks>
__global__ void time_each_line(char* __restrict__ data, uint32_t lines, float* __restrict__ cycles,
                               BlockTime* __restrict__ times) {
  const Stopwatch stopwatch(times);
  if (threadIdx.x == 0) {
    uint32_t line = blockIdx.x % lines;
    for (uint32_t n = 0; n < lines; ++n) {
      auto address = reinterpret_cast<uint64_t>(data) + uint64_t{line} * kTimedLineStride;
#pragma unroll
      for (int k = 0; k < 4; ++k) address = follow<Level::past_l1>(address);  // into L2
      if (address == 0) return;                                               // waits for the load
      const uint64_t begin = device::clock_cycles();
#pragma unroll
      for (int k = 0; k < kLinks; ++k) address = follow<Level::past_l1>(address);
      if (address == 0) return;
      const uint64_t end = device::clock_cycles();
      cycles[blockIdx.x * lines + line] = static_cast<float>(end - begin) / kLinks;
      line = line + 1 == lines ? 0 : line + 1;
    }
  }
  stopwatch.stop();
}

}  // namespace attnscope::kernels
