/// A ring of slots by which threads that load tiles with bulk copies pass them to threads that
/// multiply, and get the slots back (compute capability 9.0).
#pragma once

#include "kernels/device/bulk_copies.cuh"
#include "kernels/device/clocks.cuh"
#include "kernels/device/place.cuh"

namespace attnscope::kernels::device {

/// `kStages` slots in shared memory that the tiles of a tensor use in turn: visit n, counted from
/// 0, uses slot n % kStages. Each slot has two barriers:
///   arrived: readers wait for the bytes of the copy, which the loading thread announces;
///   free:    the loading thread waits for every reading warp before it overwrites the slot.
template <typename Tile, int kStages>
struct TileRing {
  static constexpr int kBytes = kStages * Tile::kBytes;
  static constexpr int kBarriers = 2 * kStages;

  uint32_t tiles, barriers;  ///< addresses in shared memory

  __device__ Tile tile(int visit) const { return {tiles + visit % kStages * Tile::kBytes}; }
  __device__ ArrivalBarrier arrived(int visit) const { return {barriers + visit % kStages * 8}; }
  __device__ ArrivalBarrier free(int visit) const {
    return {barriers + (kStages + visit % kStages) * 8};
  }

  /// Called by one thread of the block.
  __device__ void initialise(int reading_warps) const {
    for (int visit = 0; visit < kStages; ++visit) {
      arrived(visit).initialise(1);
      free(visit).initialise(reading_warps);
    }
  }

  /// Called by the loading thread: waits until the previous visit has released the slot.
  __device__ void await_free(int visit) const {
    if (visit >= kStages) free(visit).wait(visit / kStages - 1);
  }
  /// The same, then starts the copy.
  __device__ void load(int visit, const TensorMap& map, const TilePlace& place) const {
    await_free(visit);
    arrived(visit).expect(Tile::kBytes);
    load_panels(tile(visit), map, place, arrived(visit));
  }

  /// Called by every reading thread: waits until the visit's tile has arrived.
  __device__ void await(int visit) const { arrived(visit).wait(visit / kStages); }
  /// Called by all lanes of a reading warp when its products with the tile are complete.
  __device__ void release(int visit) const {
    __syncwarp();
    if (thread_index() % 32 == 0) free(visit).arrive();
  }
};

/// Two warpgroups that start their products in turn, so that one multiplies while the other
/// computes its softmax ("ping-pong"). Each has a hardware barrier, at which it waits until the
/// other group arrives there. Group 0 has the first turn.
struct ProductTurns {
  __device__ static void await(int warpgroup) {
    asm volatile("bar.sync %0, %1;\n" ::"r"(kFirstTurnsBarrier + warpgroup),
                 "n"(2 * kWarpgroupThreads)
                 : "memory");
  }
  __device__ static void pass_on(int warpgroup) {
    asm volatile("bar.arrive %0, %1;\n" ::"r"(kFirstTurnsBarrier + 1 - warpgroup),
                 "n"(2 * kWarpgroupThreads)
                 : "memory");
  }
};

/// Whether a thread of each block monitors the block's waits.
inline constexpr bool kTrapsWhenStuck = true;

/// Ends the launch with an error if a barrier's n-th phase has not ended after two seconds: a
/// deadlocked thread block would otherwise block the GPU forever.
__device__ inline void trap_if_stuck(ArrivalBarrier finished, int n = 0) {
  constexpr uint32_t kLimitNs = 2'000'000'000;
  const auto begin_ns = static_cast<uint32_t>(global_timer_ns());  // 32 bits hold twice the limit
  while (!finished.has_ended(n)) {
    if (static_cast<uint32_t>(global_timer_ns()) - begin_ns > kLimitNs) __trap();
  }
}

}  // namespace attnscope::kernels::device
