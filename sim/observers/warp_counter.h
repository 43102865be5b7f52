/// Counts the bytes that the warps of a thread block move through shared memory, and the barriers
/// that this requires (warp_shares.h).
///
/// A barrier is counted where one is needed: before a read of shared memory that other warps have
/// written since the last barrier, and before an overwrite of memory that others have read. Agents
/// wait for each other at their own barriers; in a program of agents, each wait is counted.
#pragma once

#include <array>
#include <bitset>
#include <vector>

#include "reference/checked_count.h"
#include "sim/observers/warp_shares.h"
#include "sim/ops/observer.h"

namespace attnscope {

/// The counts of one launch, or of several. The exchange is part of the reads and writes.
struct WarpTraffic {
  Index shared_read_bytes = 0;
  Index shared_write_bytes = 0;
  Index exchange_read_bytes = 0;   ///< data that any warp, including the reader, wrote to it
  Index exchange_write_bytes = 0;  ///< partial results, P, dS and D
  Index barriers = 0;              ///< of a thread block, summed over thread blocks
  bool operator==(const WarpTraffic&) const = default;
  static constexpr std::array kCounts = {
      &WarpTraffic::shared_read_bytes, &WarpTraffic::shared_write_bytes,
      &WarpTraffic::exchange_read_bytes, &WarpTraffic::exchange_write_bytes,
      &WarpTraffic::barriers};
};

/// The traffic of each partition, by the partition's value.
using WarpsByPartition = std::array<WarpTraffic, kWarpPartitions>;

/// Counts operation by operation, one thread block after another. Small: keyframes copy it.
class WarpTally {
 public:
  explicit WarpTally(const WarpLayout& layout) : layout_(layout) {}
  /// Shared memory now belongs to the next thread block: no hazards are pending.
  void begin_block() { hazards_ = {}; }
  void add(const TileOp& op, const TileGrid& grid);
  const WarpTraffic& traffic() const { return traffic_; }
  /// Counts everything added since `before` another `times` times.
  void repeat_since(const WarpTally& before, Index times) {
    traffic_ += (traffic_ - before.traffic_) * times;
  }
  bool same_hazards(const WarpTally& other) const { return hazards_ == other.hazards_; }

 private:
  /// The places in shared memory that can have a hazard: a tile's slot, or its exchange buffer.
  static constexpr std::size_t kPlaces = std::size_t{kTensorCount} * (kMostSlots + 2);
  struct Hazards {
    std::bitset<kPlaces> written;  ///< since the last barrier
    std::bitset<kPlaces> read;     ///< since the last barrier
    bool operator==(const Hazards&) const = default;
  };
  // Agents have no hazards: they wait
  void write(std::size_t place, Agent agent);
  void read(std::size_t place, Agent agent);
  void barrier();

  WarpLayout layout_;
  Hazards hazards_;
  WarpTraffic traffic_;
};

class WarpCounter : public CountingObserver {
 public:
  explicit WarpCounter(WarpLayout layout) : layout_(layout) {}
  void begin_launch(std::string_view name, const TileGrid& grid) override;
  void begin_block(const BlockId& /*block*/) override { launches_.back().begin_block(); }
  void observe(std::span<const TileOp> ops) override;
  void mark() override { marks_.push_back(launches_.back()); }
  /// The next barriers depend on the pending hazards.
  bool repeatable() const override { return launches_.back().same_hazards(marks_.back()); }
  void repeat(Index times) override;

  /// One entry per launch, in the order in which they ran.
  std::vector<WarpTraffic> launches() const;
  /// The sum over the launches.
  WarpTraffic total() const;

 private:
  WarpLayout layout_;
  const TileGrid* grid_ = nullptr;
  std::vector<WarpTally> launches_;
  std::vector<WarpTally> marks_;
};

}  // namespace attnscope
