/// Hopper's bulk copies of tiles between global and shared memory (compute capability 9.0): one
/// thread starts them, hardware computes the addresses. The host encodes each tensor's layout for
/// them (kernels/host/hopper.h).
#pragma once

#include "kernels/device/warpgroup_products.cuh"
#include "kernels/gradient_maps.cuh"

namespace attnscope::kernels::device {

static_assert(kPanelColumns == kBoxColumns);

/// 8 bytes of shared memory that count threads and bytes: a phase ends, and the next begins, when
/// as many threads as at initialisation, and all bytes that they expect, have arrived.
struct ArrivalBarrier {
  uint32_t address;

  /// Called by one thread, which calls show_barriers() after it has initialised the last barrier.
  __device__ void initialise(int threads) const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(address), "r"(threads)
                 : "memory");
  }
  __device__ void arrive() const {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(address) : "memory");
  }
  /// Arrives, and makes the phase also wait for this many bytes of copies started with this
  /// barrier.
  __device__ void expect(int bytes) const {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(address),
                 "r"(bytes)
                 : "memory");
  }
  /// Waits for the end of the n-th phase; the caller then sees the copied data and everything that
  /// the other threads wrote before they arrived.
  __device__ void wait(int n) const {
    while (!has_ended(n)) {
    }
  }
  /// The same, but waits no longer than the hardware's time limit; returns whether the phase has
  /// ended.
  __device__ bool has_ended(int n) const {
    uint32_t ended;
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}\n"
        : "=r"(ended)
        : "r"(address), "r"(n % 2)
        : "memory");
    return ended != 0;
  }
};

/// After the next barrier of the block, all threads and bulk copies see the barriers that this
/// thread has initialised.
__device__ inline void show_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
}

/// Where a tile begins in a [B, H, rows, d] tensor.
struct TilePlace {
  int column, row, head, batch;
};

/// Starts the copy of one box of the map to shared memory (aligned to 1024 bytes); rows that do not
/// exist become zero. Called by one thread.
__device__ inline void start_bulk_load(uint32_t destination, const TensorMap& map,
                                       const TilePlace& place, ArrivalBarrier arrival) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4, %5}], [%6];\n" ::"r"(destination),
      "l"(&map), "r"(place.column), "r"(place.row), "r"(place.head), "r"(place.batch),
      "r"(arrival.address)
      : "memory");
}

/// Starts the copy back; rows that do not exist are skipped. Called by one thread; its next
/// close_bulk_stores() closes the copy's group.
__device__ inline void start_bulk_store(const TensorMap& map, const TilePlace& place,
                                        uint32_t source) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3, %4}], "
      "[%5];\n" ::"l"(&map),
      "r"(place.column), "r"(place.row), "r"(place.head), "r"(place.batch), "r"(source)
      : "memory");
}
__device__ inline void close_bulk_stores() {
  asm volatile("cp.async.bulk.commit_group;\n" ::: "memory");
}

/// Copy the panels of the tile at `place` to shared memory, and back; the stores form a separate
/// group. Called by one thread.
template <int kRows, int d>
__device__ inline void load_panels(const PanelTile<kRows, d>& tile, const TensorMap& map,
                                   TilePlace place, ArrivalBarrier arrival) {
#pragma unroll
  for (int n = 0; n < tile.kPanels; ++n, place.column += kPanelColumns) {
    start_bulk_load(tile.panel(n).address, map, place, arrival);
  }
}
template <int kRows, int d>
__device__ inline void store_panels(const TensorMap& map, TilePlace place,
                                    const PanelTile<kRows, d>& tile) {
#pragma unroll
  for (int n = 0; n < tile.kPanels; ++n, place.column += kPanelColumns) {
    start_bulk_store(map, place, tile.panel(n).address);
  }
  close_bulk_stores();
}

/// Waits until the shared memory of this thread's stores may be overwritten.
__device__ inline void wait_bulk_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;\n" ::: "memory");
}
/// Waits until this thread's stores are complete.
__device__ inline void wait_bulk_stores() {
  asm volatile("cp.async.bulk.wait_group 0;\n" ::: "memory");
}

}  // namespace attnscope::kernels::device
