#include "sim/observers/warp_counter.h"

#include "reference/check.h"
#include "sim/observers/occupancy.h"

namespace attnscope {

namespace {

constexpr std::size_t kExchange = kMostSlots + 1;  // after the slots of a tensor

std::size_t place_of(const Tile& tile, std::size_t slot) {
  ATTNSCOPE_CHECK(slot, <=, kExchange);
  return static_cast<std::size_t>(tile.tensor) * (kExchange + 1) + slot;
}

}  // namespace

void WarpTally::add(const TileOp& op, const TileGrid& grid) {
  if (op.kind == OpKind::wait) ++traffic_.barriers;
  if (op.is_of_barrier()) return;
  const Index computing = computing_warps(op, grid, layout_);
  for (const WarpUse& use : WarpUses(op, layout_.partition)) {
    if (use.access == WarpAccess::holds) continue;
    const Index copies = use.spread == WarpSpread::whole ? computing : 1;
    const Index bytes = checked_product(grid.shape(use.tile).elems(),
                                        copies * moved_element_bytes(use, grid.problem().dtype));
    const auto add_to = [](Index& total, Index more) { total = checked_sum(total, more); };
    const std::size_t slot = place_of(use.tile, use.tile.slot);
    switch (use.access) {
      case WarpAccess::holds:
        break;
      case WarpAccess::shares:
        add_to(traffic_.exchange_write_bytes, bytes);
        [[fallthrough]];
      case WarpAccess::loads:
        write(slot, op.agent);
        add_to(traffic_.shared_write_bytes, bytes);
        break;
      case WarpAccess::takes:
        add_to(traffic_.exchange_read_bytes, bytes);
        [[fallthrough]];
      case WarpAccess::reads:
        read(slot, op.agent);
        add_to(traffic_.shared_read_bytes, bytes);
        break;
      case WarpAccess::writes_part:
        write(place_of(use.tile, kExchange), op.agent);
        add_to(traffic_.shared_write_bytes, bytes);
        add_to(traffic_.exchange_write_bytes, bytes);
        break;
      case WarpAccess::reads_parts:
        read(place_of(use.tile, kExchange), op.agent);
        add_to(traffic_.shared_read_bytes, checked_product(bytes, computing));
        add_to(traffic_.exchange_read_bytes, checked_product(bytes, computing));
        break;
    }
  }
}

void WarpTally::write(std::size_t place, Agent agent) {
  if (agent != Agent::block) return;
  if (hazards_.read[place]) barrier();  // another warp may still read it
  hazards_.written[place] = true;
}

void WarpTally::read(std::size_t place, Agent agent) {
  if (agent != Agent::block) return;
  if (hazards_.written[place]) barrier();  // another warp may still write it
  hazards_.read[place] = true;
}

void WarpTally::barrier() {
  hazards_ = {};
  if (layout_.warps > 1) ++traffic_.barriers;
}

void WarpCounter::begin_launch(std::string_view /*name*/, const TileGrid& grid) {
  grid_ = &grid;
  launches_.emplace_back(layout_);
}

void WarpCounter::observe(std::span<const TileOp> ops) {
  for (const TileOp& op : ops) launches_.back().add(op, *grid_);
}

void WarpCounter::repeat(Index times) {
  launches_.back().repeat_since(marks_.back(), times);
  marks_.pop_back();
}

std::vector<WarpTraffic> WarpCounter::launches() const {
  std::vector<WarpTraffic> traffic;
  for (const WarpTally& launch : launches_) traffic.push_back(launch.traffic());
  return traffic;
}

WarpTraffic WarpCounter::total() const {
  WarpTraffic total;
  for (const WarpTally& launch : launches_) total += launch.traffic();
  return total;
}

}  // namespace attnscope
