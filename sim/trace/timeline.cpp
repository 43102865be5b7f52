#include "sim/trace/timeline.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/observers/flop_counter.h"
#include "sim/observers/traffic_counter.h"

namespace attnscope {

std::string_view to_string(Unit unit) {
  switch (unit) {
    case Unit::memory:
      return "memory";
    case Unit::matrix:
      return "matrix products";
    case Unit::other:
      return "other operations";
  }
  return "?";
}

Unit unit_of(const TileOp& op) {
  if (op.moves_bytes()) return Unit::memory;
  return op.is_matrix_product() ? Unit::matrix : Unit::other;
}

Index resident_blocks(const LaunchOccupancy& launch, Index thread_blocks,
                      const GpuDescription& gpu) {
  Index blocks = std::min(gpu.max_blocks_per_sm, ceil_div(thread_blocks, gpu.sm_count));
  const auto limit = [&blocks](Index capacity, Index needed) {
    if (needed > 0) blocks = std::min(blocks, capacity / needed);
  };
  limit(gpu.shared_bytes_per_sm, launch.bytes(OnChipSpace::shared));
  limit(gpu.register_bytes_per_sm, launch.bytes(OnChipSpace::registers));
  return std::max<Index>(blocks, 1);
}

bool Timeline::Free::operator>(const Free& other) const {
  // At the same time, the blocks go to different SMs first
  return std::tuple(at, place.slot, place.sm) >
         std::tuple(other.at, other.place.slot, other.place.sm);
}

Timeline::Timeline(const GpuDescription& gpu, DType dtype, std::vector<Index> blocks_per_sm,
                   TimelineSink& sink)
    : gpu_(gpu),
      matrix_flops_per_s_(gpu.matrix_flops_per_s(dtype).value_or(gpu.other_flops_per_s)),
      blocks_per_sm_(std::move(blocks_per_sm)),
      sink_(sink) {}

void Timeline::begin_launch(std::string_view name, const TileGrid& grid) {
  grid_ = &grid;
  name_ = name;
  residents_ = blocks_per_sm_.at(launch_++);
  launch_begin_ = launch_end_;  // the grid-wide barrier between launches
  free_ = {};
  for (Index sm = 0; sm < gpu_.sm_count; ++sm) {
    for (Index slot = 0; slot < residents_; ++slot) free_.push({launch_begin_, {sm, slot}});
  }
  sink_.begin_launch(name, residents_);
}

void Timeline::begin_block(const BlockId& block) {
  block_ = block;
  running_ = free_.top();
  free_.pop();
  block_end_ = running_.at;
  unit_free_.fill(running_.at);
  for (auto& slots : slots_) slots.fill({running_.at, running_.at});
}

/// Time on the op's unit at the block's share of the datasheet's rate.
Picoseconds Timeline::duration(const TileOp& op) const {
  const double share = 1e-12 / static_cast<double>(gpu_.sm_count * residents_);
  if (op.moves_bytes()) {
    const auto bytes = static_cast<double>(moved_bytes(op, *grid_));
    return std::llround(std::ceil(bytes / (gpu_.dram_bytes_per_s * share)));
  }
  const Flops flops = flops_of(op, *grid_);
  const double ps = static_cast<double>(flops.matmul) / (matrix_flops_per_s_ * share) +
                    static_cast<double>(flops.non_matmul) / (gpu_.other_flops_per_s * share);
  return std::llround(std::ceil(ps));
}

void Timeline::observe(std::span<const TileOp> ops) {
  for (const TileOp& op : ops) {
    // Wait for the unit, for what is read, and for those who still read what is overwritten
    const Unit unit = unit_of(op);
    Picoseconds& unit_free = unit_free_[static_cast<std::size_t>(unit)];
    Picoseconds begin = unit_free;
    for (const Tile& tile : op.sources()) {
      if (tile.on_chip()) begin = std::max(begin, times(tile).written);
    }
    for (const Tile& tile : op.dests()) {
      if (tile.on_chip()) begin = std::max({begin, times(tile).written, times(tile).read});
    }

    const Picoseconds end = begin + duration(op);
    for (const Tile& tile : op.sources()) {
      if (tile.on_chip()) times(tile).read = std::max(times(tile).read, end);
    }
    for (const Tile& tile : op.dests()) {
      if (tile.on_chip()) times(tile).written = end;
    }
    unit_free = end;
    block_end_ = std::max(block_end_, end);
    sink_.add_op({op, *grid_, block_, running_.place, unit, begin, end});
  }
}

void Timeline::end_block() {
  sink_.add_block(block_, running_.place, running_.at, block_end_);
  launch_end_ = std::max(launch_end_, block_end_);
  free_.push({block_end_, running_.place});
}

void Timeline::end_launch() {
  sink_.end_launch(name_, launch_begin_, launch_end_);
}

}  // namespace attnscope
