#include "sim/observers/warp_counter.h"

#include "reference/check.h"
#include "sim/observers/occupancy.h"

namespace attnscope {

WarpTraffic& WarpTraffic::operator+=(const WarpTraffic& other) {
  shared_read_bytes += other.shared_read_bytes;
  shared_write_bytes += other.shared_write_bytes;
  exchange_read_bytes += other.exchange_read_bytes;
  exchange_write_bytes += other.exchange_write_bytes;
  barriers += other.barriers;
  return *this;
}

WarpTraffic WarpTraffic::operator*(Index count) const {
  return {shared_read_bytes * count, shared_write_bytes * count, exchange_read_bytes * count,
          exchange_write_bytes * count, barriers * count};
}

namespace {

constexpr std::size_t kExchange = 3;  // after the slots of a tensor

std::size_t place_of(const Tile& tile, std::size_t slot) {
  ATTNSCOPE_CHECK(slot, <=, kExchange);
  return static_cast<std::size_t>(tile.tensor) * 4 + slot;
}

}  // namespace

void WarpCounter::begin_launch(std::string_view /*name*/, const TileGrid& grid) {
  grid_ = &grid;
  launches_.emplace_back();
}

void WarpCounter::begin_block(const BlockId& /*block*/) {
  hazards_ = {};
}

void WarpCounter::observe(std::span<const TileOp> ops) {
  for (const TileOp& op : ops) count(op);
}

void WarpCounter::count(const TileOp& op) {
  WarpTraffic& traffic = launches_.back();
  const Tile* S = nullptr;
  const WarpUses uses(op, layout_.partition);
  for (const WarpUse& use : uses) {
    if (layout_of(use.tile.tensor) == TensorLayout::query_by_key) S = &use.tile;
  }
  const Index computing = S == nullptr ? layout_.warps : computing_warps(*S, *grid_, layout_);
  for (const WarpUse& use : uses) {
    if (use.access == WarpAccess::holds) continue;
    const Index copies = use.spread == WarpSpread::whole ? computing : 1;
    const Index elems = grid_->shape(use.tile).elems() * copies;
    const Index tile_bytes = elems * on_chip_element_bytes(use.tile, grid_->problem().dtype);
    const Index part_bytes = elems * size_bytes(DType::fp32);
    switch (use.access) {
      case WarpAccess::holds:
        break;
      case WarpAccess::loads:
        write(place_of(use.tile, use.tile.slot));
        traffic.shared_write_bytes += tile_bytes;
        break;
      case WarpAccess::reads:
        read(place_of(use.tile, use.tile.slot));
        traffic.shared_read_bytes += tile_bytes;
        break;
      case WarpAccess::writes_part:
        write(place_of(use.tile, kExchange));
        traffic.shared_write_bytes += part_bytes;
        traffic.exchange_write_bytes += part_bytes;
        break;
      case WarpAccess::reads_parts:
        read(place_of(use.tile, kExchange));
        traffic.shared_read_bytes += part_bytes * computing;
        traffic.exchange_read_bytes += part_bytes * computing;
        break;
    }
  }
}

void WarpCounter::write(std::size_t place) {
  if (hazards_.read[place]) barrier();  // another warp may still read it
  hazards_.written[place] = true;
}

void WarpCounter::read(std::size_t place) {
  if (hazards_.written[place]) barrier();  // another warp may still write it
  hazards_.read[place] = true;
}

void WarpCounter::barrier() {
  hazards_ = {};
  if (layout_.warps > 1) ++launches_.back().barriers;
}

}  // namespace attnscope
