/// The slots on chip that the tiles of a tensor take in turn, and their barriers, where one agent
/// loads tiles that others read: kernels/device/tile_ring.cuh is the same on the GPU.
#pragma once

#include "sim/ops/program.h"

namespace attnscope {

/// Visit n, counted from 0, has slot 1 + n % stages. Each slot has two barriers:
///   full:  the readers wait for the tile, which the loading agent announces;
///   empty: the loading agent waits for every reader before it overwrites the slot.
/// Each agent has its own copy, which counts that agent's visits.
class TileRing {
 public:
  TileRing(Index stages, Index readers)
      : stages_(stages), readers_(static_cast<std::uint8_t>(readers)) {}

  /// For the loading agent: waits until the previous tile has left the slot, and loads the next
  /// one.
  void load(Tile tile, Program& program) {
    tile.slot = slot();
    Tile& held = held_[tile.slot - 1U];
    if (visit_ >= stages_) {
      program.wait({Barrier::Signals::empty, readers_, phase() - 1, held});
    }
    program.load(tile);
    program.arrive({Barrier::Signals::full, 1, phase(), tile});
    held = tile;
    ++visit_;
  }

  /// For a reader: waits for the next tile, and returns it in its slot.
  Tile await(Tile tile, Program& program) const {
    tile.slot = slot();
    program.wait({Barrier::Signals::full, 1, phase(), tile});
    return tile;
  }
  /// For a reader: it no longer reads the tile.
  void release(const Tile& tile, Program& program) {
    program.arrive({Barrier::Signals::empty, readers_, phase(), tile});
    ++visit_;
  }

  /// Whether every slot has had a tile.
  bool is_full() const { return visit_ >= stages_; }

 private:
  std::uint8_t slot() const { return static_cast<std::uint8_t>(1 + visit_ % stages_); }
  std::int32_t phase() const { return static_cast<std::int32_t>(visit_ / stages_); }

  Index stages_;
  std::uint8_t readers_;
  Index visit_ = 0;  ///< of the next tile
  std::array<Tile, kMaxStages> held_;
};

}  // namespace attnscope
