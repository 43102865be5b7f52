#include "sim/trace/timeline.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "reference/algorithm.h"
#include "sim/observers/traffic_counter.h"

namespace attnscope {

GpuUnit unit_of(const TileOp& op, GpuUnit matrix_unit) {
  if (op.moves_bytes()) return GpuUnit::dram;
  if (op.is_matrix_product()) return matrix_unit;
  return op.kind == OpKind::exp ? GpuUnit::special_function_units : GpuUnit::cuda_cores;
}

bool Timeline::Free::operator>(const Free& other) const {
  // Among slots that become free at the same time, prefer different SMs
  return std::tuple(at, place.slot, place.sm) >
         std::tuple(other.at, other.place.slot, other.place.sm);
}

Timeline::Timeline(const GpuDescription& gpu, DType dtype, std::vector<LaunchShare> launches,
                   TimelineSink& sink)
    : gpu_(gpu), rates_(gpu, dtype), launches_(std::move(launches)), sink_(sink) {}

void Timeline::begin_launch(std::string_view name, const TileGrid& grid) {
  grid_ = &grid;
  name_ = name;
  share_ = launches_.at(next_launch_++);
  launch_begin_ = launch_end_;  // the grid-wide barrier between launches
  free_ = {};
  for (Index sm = 0; sm < gpu_.sm_count; ++sm) {
    for (Index slot = 0; slot < share_.blocks_per_sm; ++slot)
      free_.push({launch_begin_, {sm, slot}});
  }
  sink_.begin_launch(name, share_.blocks_per_sm);
}

void Timeline::begin_block(const BlockId& block) {
  block_ = block;
  running_ = free_.top();
  free_.pop();
  block_end_ = running_.at;
  unit_free_.fill(running_.at);
  for (auto& slots : slots_) slots.fill({running_.at, running_.at});
}

/// The time for which the operation keeps each unit busy, at the whole GPU's rates.
UnitSeconds Timeline::seconds(const TileOp& op) const {
  if (!op.moves_bytes()) return rates_.seconds(flops_of(op, *grid_), 0);
  const double reaches_dram = op.kind == OpKind::load ? share_.dram_read : share_.dram_write;
  return rates_.seconds(flops_of(op, *grid_),
                        reaches_dram * static_cast<double>(moved_bytes(op, *grid_)));
}

void Timeline::observe(std::span<const TileOp> ops) {
  const double block_share = static_cast<double>(gpu_.sm_count * share_.blocks_per_sm) * 1e12;
  for (const TileOp& op : ops) {
    if (op.is_of_barrier()) continue;
    // Wait for the units, for the operands, and for pending readers of overwritten tiles
    std::array<Picoseconds, kGpuUnits> busy;
    Picoseconds begin = running_.at, longest = 0;
    const UnitSeconds needed = seconds(op);
    for (std::size_t unit = 0; unit < kGpuUnits; ++unit) {
      busy[unit] = std::llround(std::ceil(needed[unit] * block_share));
      longest = std::max(longest, busy[unit]);
      if (busy[unit] > 0) begin = std::max(begin, unit_free_[unit]);
    }
    const GpuUnit track = unit_of(op, rates_.matrix_unit());
    Picoseconds& track_free = unit_free_[static_cast<std::size_t>(track)];
    begin = std::max(begin, track_free);
    for (const Tile& tile : op.sources()) {
      if (tile.on_chip()) begin = std::max(begin, times(tile).written);
    }
    for (const Tile& tile : op.dests()) {
      if (tile.on_chip()) begin = std::max({begin, times(tile).written, times(tile).read});
    }

    // Each unit is free when its own part is done, the track when the whole operation is
    const Picoseconds end = begin + longest;
    for (std::size_t unit = 0; unit < kGpuUnits; ++unit) {
      if (busy[unit] > 0) unit_free_[unit] = begin + busy[unit];
    }
    track_free = end;
    for (const Tile& tile : op.sources()) {
      if (tile.on_chip()) times(tile).read = std::max(times(tile).read, end);
    }
    for (const Tile& tile : op.dests()) {
      if (tile.on_chip()) times(tile).written = end;
    }
    block_end_ = std::max(block_end_, end);
    sink_.add_op({op, *grid_, block_, running_.place, track, begin, end});
  }
}

void Timeline::end_block() {
  sink_.add_block(block_, running_.place, running_.at, block_end_);
  launch_end_ = std::max(launch_end_, block_end_);
  free_.push({block_end_, running_.place});
}

}  // namespace attnscope
