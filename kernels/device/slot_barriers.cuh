/// Barriers by which warps that fill slots in shared memory pass them to the warps that empty them,
/// and get them back (compute capability 9.0).
#pragma once

#include "kernels/device/bulk_copies.cuh"
#include "kernels/device/place.cuh"

namespace attnscope::kernels::device {

/// The barriers of `kSlots` slots that visits take in turn: visit n, counted from 0, has slot n %
/// kSlots. Each slot has two:
///   filled:  the warps that empty it wait for all that fill it;
///   emptied: the warps that fill it wait for all that emptied it after the previous visit.
/// Either one lane arrives for its warp, or all do (kArrivingLanes = 32). racecheck understands
/// only the latter, which is for slots that threads read and write, not for those of bulk copies
/// and products.
template <int kSlots, int kArrivingLanes = 1>
struct SlotBarriers {
  static_assert(kArrivingLanes == 1 || kArrivingLanes == 32);
  static constexpr int kBarriers = 2 * kSlots;

  uint32_t barriers;  ///< address in shared memory

  __device__ ArrivalBarrier filled(int visit) const { return {barriers + visit % kSlots * 8}; }
  __device__ ArrivalBarrier emptied(int visit) const {
    return {barriers + (kSlots + visit % kSlots) * 8};
  }

  /// Called by one thread of the block with the number of warps that fill and that empty a visit's
  /// slot; single threads count if kArrivingLanes = 1.
  __device__ void initialise(int who_fill, int who_empty) const {
    for (int visit = 0; visit < kSlots; ++visit) {
      filled(visit).initialise(who_fill * kArrivingLanes);
      emptied(visit).initialise(who_empty * kArrivingLanes);
    }
  }

  __device__ void await_filled(int visit) const { filled(visit).wait(visit / kSlots); }
  __device__ void await_emptied(int visit) const {
    if (visit >= kSlots) emptied(visit).wait(visit / kSlots - 1);
  }
  /// Called by all lanes of a warp that has filled, or emptied, its share of the visit's slot.
  __device__ void fill(int visit) const { arrive_as_warp(filled(visit)); }
  __device__ void empty(int visit) const { arrive_as_warp(emptied(visit)); }

 private:
  __device__ static void arrive_as_warp(ArrivalBarrier barrier) {
    __syncwarp();  // also with kArrivingLanes = 32: without it, the compiler spills registers
    if (kArrivingLanes == 32 || thread_index() % 32 == 0) barrier.arrive();
  }
};

}  // namespace attnscope::kernels::device
