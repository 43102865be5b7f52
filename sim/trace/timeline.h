/// The time and SM of each operation: thread blocks go to the first free SM, and an operation
/// starts when its operands are ready and its unit is free.
///
/// Time here is the lower bound (time_bound.h) per operation, not the time model's prediction. An
/// operation takes as long as the unit that it keeps busy longest. Each SM has an equal share of
/// the GPU's peak rates, and each thread block resident on it an equal part of that share. A load
/// or a store takes its share of the launch's compulsory DRAM bytes, because L2 serves repeated
/// reads. Nothing else takes time: cache misses, latencies and launch overheads are not included.
#pragma once

#include <queue>
#include <vector>

#include "sim/device/gpu_description.h"
#include "sim/ops/observer.h"
#include "sim/time_bound.h"

namespace attnscope {

/// The unit on whose track an operation is drawn. `matrix_unit` multiplies matrices.
GpuUnit unit_of(const TileOp& op, GpuUnit matrix_unit);

/// Picoseconds since the first launch began.
using Picoseconds = Index;

/// Where and when a thread block runs: its SM, and its number among the resident blocks.
struct Placement {
  Index sm = 0;
  Index slot = 0;
};

struct TimedOp {
  const TileOp& op;
  const TileGrid& grid;
  BlockId block;
  Placement place;
  GpuUnit unit = GpuUnit::dram;
  Picoseconds begin_ps = 0;
  Picoseconds end_ps = 0;
};

/// Receives the timeline as it is produced; nothing is stored.
class TimelineSink {
 public:
  virtual ~TimelineSink() = default;
  virtual void begin_launch(std::string_view /*name*/, Index /*blocks_per_sm*/) {}
  /// Called in chronological order for each unit of each placement.
  virtual void add_op(const TimedOp& op) = 0;
  virtual void add_block(const BlockId& /*block*/, const Placement& /*place*/,
                         Picoseconds /*begin*/, Picoseconds /*end*/) {}
  virtual void end_launch(std::string_view /*name*/, Picoseconds /*begin*/, Picoseconds /*end*/) {}
};

/// The properties of a launch that the timeline uses.
struct LaunchShare {
  Index blocks_per_sm = 1;  ///< resident thread blocks
  /// Compulsory DRAM bytes of the launch divided by the bytes that it requests.
  double dram_read = 1;
  double dram_write = 1;
};

class Timeline : public Observer {
 public:
  /// `launches` are those of the pass, in order. All references must outlive the run.
  Timeline(const GpuDescription& gpu, DType dtype, std::vector<LaunchShare> launches,
           TimelineSink& sink);

  void begin_launch(std::string_view name, const TileGrid& grid) override;
  void begin_block(const BlockId& block) override;
  void observe(std::span<const TileOp> ops) override;
  void end_block() override;
  void end_launch() override { sink_.end_launch(name_, launch_begin_, launch_end_); }

  Picoseconds end_ps() const { return launch_end_; }

 private:
  /// A slot for one thread block, ordered by the time when it becomes free.
  struct Free {
    Picoseconds at = 0;
    Placement place;
    bool operator>(const Free& other) const;
  };
  /// The times at which a tile's slot on chip was last written and read.
  struct SlotTimes {
    Picoseconds written = 0;
    Picoseconds read = 0;
  };

  UnitSeconds seconds(const TileOp& op) const;
  SlotTimes& times(const Tile& tile) {
    return slots_[static_cast<std::size_t>(tile.tensor)][tile.slot];
  }

  const GpuDescription& gpu_;
  PeakRates rates_;
  std::vector<LaunchShare> launches_;
  TimelineSink& sink_;

  std::size_t next_launch_ = 0;
  std::string name_;
  const TileGrid* grid_ = nullptr;
  LaunchShare share_;
  Picoseconds launch_begin_ = 0, launch_end_ = 0;
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free_;

  BlockId block_;
  Free running_;
  Picoseconds block_end_ = 0;
  std::array<Picoseconds, kGpuUnits> unit_free_{};
  std::array<std::array<SlotTimes, kMostSlots + 1>, kTensorCount> slots_{};
};

}  // namespace attnscope
