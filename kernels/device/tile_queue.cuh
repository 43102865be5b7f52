/// A queue from which the persistent thread blocks of a launch take numbered tiles, as the hardware
/// assigns the blocks of a larger grid to SMs: in ascending order, each to the first block that is
/// free.
#pragma once

#include "kernels/device/bulk_copies.cuh"
#include "kernels/device/place.cuh"

namespace attnscope::kernels::device {

/// The number of the next tile, in global memory that was not cleared before the launch. A block's
/// first tile has the block's own number. The upper half of the word is the launch's number, so
/// that a block can detect whether the first block has written it; the last block to ask clears the
/// word.
struct TileCounter {
  unsigned long long* word;
  uint32_t launch;
  bool opened = false;  ///< this thread has read this launch's number

  /// Sets the first number. Called by one thread of block 0, before its first take().
  __device__ void open(int first_number) const {
    const auto number = static_cast<unsigned>(first_number);
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;\n" ::"l"(word),
                 "l"(static_cast<unsigned long long>(launch) << 32 | number)
                 : "memory");
  }
  /// Takes the next number. Called by one thread of each of `blocks` blocks until it returns
  /// `tiles` or more. Waits only for block 0, which the hardware starts first.
  __device__ int take(int tiles, int blocks) {
    while (!opened) {
      unsigned long long seen;
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];\n" : "=l"(seen) : "l"(word) : "memory");
      opened = seen >> 32 == launch;
    }
    const auto number = static_cast<int>(static_cast<uint32_t>(atomicAdd(word, 1ULL)));
    if (number == tiles + blocks - 1)
      atomicExch(word, 0ULL);  // every block has taken its last number
    return number;
  }
};

/// One thread of a block tells the others which tile comes next, in four numbers: turn n, counted
/// from 0, uses slot n % 2. Each slot has two barriers:
///   told:  listeners wait for the numbers;
///   heard: the telling thread waits for every listener before it overwrites them.
struct TileNews {
  static constexpr int kSlots = 2;
  static constexpr int kBytes = kSlots * 16;
  static constexpr int kBarriers = 2 * kSlots;

  uint32_t slots, barriers;  ///< addresses in shared memory

  /// Called by one thread of the block. A listener is a warp, or a single thread.
  __device__ void initialise(int listeners) const {
    for (int turn = 0; turn < kSlots; ++turn) {
      told(turn).initialise(1);
      heard(turn).initialise(listeners);
    }
  }
  __device__ void tell(int turn, const int4& news) const {
    if (turn >= kSlots) heard(turn).wait(turn / kSlots - 1);
    asm volatile("st.shared.v4.s32 [%0], {%1, %2, %3, %4};\n" ::"r"(slot(turn)), "r"(news.x),
                 "r"(news.y), "r"(news.z), "r"(news.w)
                 : "memory");
    told(turn).arrive();
  }
  /// Returns the turn's numbers. Called by a listener's `lanes`, lane 0 only or the whole warp,
  /// once they have finished with the previous numbers.
  __device__ int4 hear(int turn, unsigned lanes) const {
    told(turn).wait(turn / kSlots);
    int4 news;
    asm volatile("ld.shared.v4.s32 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(news.x), "=r"(news.y), "=r"(news.z), "=r"(news.w)
                 : "r"(slot(turn))
                 : "memory");
    __syncwarp(lanes);
    if (thread_index() % 32 == 0) heard(turn).arrive();
    // Broadcast from one lane, so that the compiler knows that all lanes of a warp have the same
    // numbers
    return {__shfl_sync(lanes, news.x, 0), __shfl_sync(lanes, news.y, 0),
            __shfl_sync(lanes, news.z, 0), __shfl_sync(lanes, news.w, 0)};
  }

 private:
  __device__ uint32_t slot(int turn) const { return slots + turn % kSlots * 16; }
  __device__ ArrivalBarrier told(int turn) const { return {barriers + turn % kSlots * 8}; }
  __device__ ArrivalBarrier heard(int turn) const {
    return {barriers + (kSlots + turn % kSlots) * 8};
  }
};

}  // namespace attnscope::kernels::device
