#include "sim/observers/occupancy.h"

#include "sim/ops/tensor_info.h"

namespace attnscope {

OnChipSpace on_chip_space(const Tile& tile) {
  const bool whole_rows = is_score(tile.tensor) && tile.j == kAllColumns;
  const bool is_shared = info_of(tile.tensor).is_operand && !whole_rows;
  return is_shared ? OnChipSpace::shared : OnChipSpace::registers;
}

Index on_chip_element_bytes(const Tile& tile, DType dtype) {
  return on_chip_space(tile) == OnChipSpace::shared ? size_bytes(dtype) : size_bytes(DType::fp32);
}

Index LaunchOccupancy::bytes(OnChipSpace space) const {
  Index total = 0;
  for (const SlotUse& slot : slots) {
    if (slot.space == space) total += slot.bytes;
  }
  return total;
}

void OccupancyObserver::begin_launch(std::string_view /*name*/, const TileGrid& grid) {
  grid_ = &grid;
  launches_.emplace_back();
  seen_ = {};
}

void OccupancyObserver::observe(std::span<const TileOp> ops) {
  std::vector<SlotUse>& slots = launches_.back().slots;
  for (const TileOp& op : ops) {
    for (const Tile& tile : op.dests()) {
      std::uint8_t& seen = seen_[static_cast<std::size_t>(tile.tensor)];
      const auto bit = static_cast<std::uint8_t>(1U << tile.slot);
      if (!tile.on_chip() || (seen & bit) != 0) continue;
      seen |= bit;
      const Shape capacity = grid_->slot_shape(tile);
      slots.push_back({tile.tensor, tile.slot, on_chip_space(tile), capacity,
                       capacity.elems() * on_chip_element_bytes(tile, grid_->problem().dtype)});
    }
  }
}

}  // namespace attnscope
