/// The shared memory of a block of flash1's backward pass with Hopper's instructions: the slots of
/// its tiles, and the barriers by which the threads that load, multiply and store pass the slots to
/// each other.
///
/// A visit is the work on one row tile in a pass over a column tile; a block numbers its visits
/// from 0 through all its passes. There are two slots for a visit's data, which visits use in turn.
#pragma once

#include "kernels/device/bulk_copies.cuh"
#include "kernels/device/warpgroup_products.cuh"

namespace attnscope::kernels::device {

inline constexpr int kMultiplyingWarpgroups = 2;
inline constexpr int kMultiplyingThreads = kMultiplyingWarpgroups * kWarpgroupThreads;

/// `kRowTiles`: tiles that a visit loads per row tile, of which Qi and dOi are the first two.
/// 16-bit elements.
template <int Br, int Bc, int d, int kRowTiles>
struct GradientSlots {
  using TileQ = PanelTile<Br, d>;
  using TileKV = PanelTile<Bc, d>;
  using TileS = SharedTile<Bc, Br>;

  static constexpr int kStatisticThreads = Br;  ///< one for each row
  static constexpr int kColumnsBytes = 2 * TileKV::kBytes;
  static constexpr int kRowsBytes = kRowTiles * TileQ::kBytes;

  unsigned char* shared;
  uint32_t base;  ///< address of `shared`

  __device__ explicit GradientSlots(unsigned char* shared_)
      : shared(shared_), base(shared_address(shared_)) {}

  __device__ TileKV K() const { return {base}; }
  __device__ TileKV V() const { return {base + TileKV::kBytes}; }
  __device__ TileQ row_tile(int visit, int number) const {
    return {base + kRows + slot(visit) * kRowsBytes + number * TileQ::kBytes};
  }
  __device__ TileQ Q(int visit) const { return row_tile(visit, 0); }
  __device__ TileQ dO(int visit) const { return row_tile(visit, 1); }
  /// dS, transposed.
  __device__ TileS dS(int visit) const { return {base + kScores + slot(visit) * TileS::kBytes}; }
  /// [Br], in the exponent's unit; flash1's is m + log l.
  __device__ float* LSE_log2(int visit) const {
    return reinterpret_cast<float*>(shared + kStatistics) + slot(visit) * 2 * Br;
  }
  __device__ float* D(int visit) const { return LSE_log2(visit) + Br; }

  /// The first completes when Kj and Vj have arrived; the second when their slots may be
  /// overwritten and no copy of the previous pass is in flight.
  __device__ ArrivalBarrier columns_arrived() const { return barrier(Barrier::columns_arrived, 0); }
  __device__ ArrivalBarrier columns_free() const { return barrier(Barrier::columns_free, 0); }
  /// The same for the visit's row tiles: they have arrived; their slots may be overwritten.
  __device__ ArrivalBarrier rows_arrived(int visit) const {
    return barrier(Barrier::rows_arrived, slot(visit));
  }
  __device__ ArrivalBarrier rows_free(int visit) const {
    return barrier(Barrier::rows_free, slot(visit));
  }
  /// The same for LSE_log2 and D.
  __device__ ArrivalBarrier statistics_ready(int visit) const {
    return barrier(Barrier::statistics_ready, slot(visit));
  }
  __device__ ArrivalBarrier statistics_free(int visit) const {
    return barrier(Barrier::statistics_free, slot(visit));
  }

  /// Waits for the visit's `arrived` barrier.
  __device__ static void await(ArrivalBarrier arrived, int visit) { arrived.wait(visit / 2); }
  /// Waits until the visit that used these slots before has released them: the `free` barrier of
  /// two visits ago.
  __device__ static void await_slot(ArrivalBarrier free, int visit) {
    if (visit >= 2) free.wait(visit / 2 - 1);
  }

  /// Called by one thread before a barrier of the block. `row_readers` is the number of threads or
  /// warps that arrive when they have read a visit's rows.
  __device__ void initialise_barriers(int row_readers) const {
    columns_arrived().initialise(1);
    columns_free().initialise(kMultiplyingWarpgroups);
    for (int visit = 0; visit < 2; ++visit) {
      rows_arrived(visit).initialise(1);
      rows_free(visit).initialise(row_readers);
      statistics_ready(visit).initialise(kStatisticThreads);
      statistics_free(visit).initialise(kMultiplyingThreads);
    }
    show_barriers();
  }

 private:
  /// Indices of the barriers; the barrier of each first slot is followed by that of the second
  /// slot.
  enum class Barrier {
    columns_arrived = 0,
    columns_free = 1,
    rows_arrived = 2,
    rows_free = 4,
    statistics_ready = 6,
    statistics_free = 8,
    past_last = 10
  };

  __device__ static int slot(int visit) { return visit % 2; }
  __device__ ArrivalBarrier barrier(Barrier barrier, int slot) const {
    return {base + kBarriers + (static_cast<int>(barrier) + slot) * 8};
  }

  static constexpr int kRows = kColumnsBytes;
  static constexpr int kScores = kRows + 2 * kRowsBytes;
  static constexpr int kStatistics = kScores + 2 * TileS::kBytes;
  static constexpr int kBarriers = kStatistics + 2 * 2 * Br * 4;

 public:
  static constexpr int kBytes = kBarriers + static_cast<int>(Barrier::past_last) * 8;
};

}  // namespace attnscope::kernels::device
