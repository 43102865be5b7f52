/// On-chip memory of a launch's thread block: operand tiles count against shared memory in the
/// problem's precision, accumulators, scores and row statistics against registers in fp32. Slots
/// are static: a slot is as large as the largest tile stored in it.
#pragma once

#include <vector>

#include "sim/ops/observer.h"

namespace attnscope {

/// The SM memory that a slot counts against.
enum class OnChipSpace : std::uint8_t { shared, registers };
constexpr std::array<std::string_view, 2> enum_names(OnChipSpace) {
  return {"shared memory", "registers"};
}

/// The memory that a tile counts against. Q, K, V, P, P_drop, dO and dS are operands (but not whole
/// rows of P or dS, which no product reads); everything else is an accumulator or statistic.
OnChipSpace on_chip_space(const Tile& tile);
/// Bytes of an element on chip: the problem's precision in shared memory, fp32 in registers.
Index on_chip_element_bytes(const Tile& tile, DType dtype);

/// One named slot: a tensor's tile buffer on chip.
struct SlotUse {
  Tensor tensor;
  std::uint8_t slot;
  OnChipSpace space;
  Shape capacity;
  Index bytes;
};

/// Slots of one launch, in order of first use.
struct LaunchOccupancy {
  std::vector<SlotUse> slots;
  Index bytes(OnChipSpace space) const;
};

/// One bit per (tensor, slot) reduces the common case, a known slot, to a single test.
class OccupancyObserver : public CountingObserver {
 public:
  void begin_launch(std::string_view name, const TileGrid& grid) override;
  void observe(std::span<const TileOp> ops) override;
  void mark() override {}
  void repeat(Index /*times*/) override {}  // a slot is recorded at its first use
  const std::vector<LaunchOccupancy>& launches() const { return launches_; }

 private:
  const TileGrid* grid_ = nullptr;
  std::array<std::uint8_t, kTensorCount> seen_{};  ///< bit s: slot s of the tensor is known
  std::vector<LaunchOccupancy> launches_;
};

}  // namespace attnscope
