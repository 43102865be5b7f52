/// Thread blocks take turns at adding to a tile in global memory, so that the order of the
/// additions is the same on every run. The tile's counter says whose turn it is, counted from 0.
///
/// A block waits only for blocks with lower numbers: the hardware starts blocks in the order of
/// their numbers, so these are already running or finished.
#pragma once

#include "kernels/device/place.cuh"

namespace attnscope::kernels::device {

/// Waits until it is this block's turn; the additions of the blocks before it are then in L2. For
/// blocks in which this thread makes all additions.
__device__ inline void await_turn_alone(const int* turn, int mine) {
  int whose;
  do {
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];\n" : "=r"(whose) : "l"(turn) : "memory");
  } while (whose != mine);
}

/// Ends this block's turn. Called by one thread when the block's additions are in L2, where the
/// counters are, too: after a fence or, for bulk additions, after wait_bulk_stores(). For the
/// latter, PTX's memory model requires a release here, but a release also waits for everything else
/// that the SM has in flight: with one, runs with a fixed order took up to a quarter longer.
__device__ inline void pass_turn_alone(int* turn) {
  asm volatile("red.relaxed.gpu.global.add.s32 [%0], 1;\n" ::"l"(turn) : "memory");
}

/// The same for all threads of the block.
__device__ inline void await_turn(const int* turn, int mine) {
  if (thread_index() == 0) await_turn_alone(turn, mine);
  __syncthreads();  // Barrier: no thread continues before the first has seen the block's turn.
}

__device__ inline void pass_turn(int* turn) {
  __syncthreads();  // Barrier: every thread has made its additions before the turn ends.
  if (thread_index() == 0) {
    asm volatile("fence.acq_rel.gpu;\n" ::: "memory");
    pass_turn_alone(turn);
  }
}

}  // namespace attnscope::kernels::device
