/// The slots on chip that the tiles of a tensor use in turn, and their barriers if some agents
/// write tiles that others read. On the GPU: kernels/device/tile_ring.cuh and slot_barriers.cuh.
#pragma once

#include "sim/ops/program.h"

namespace attnscope {

/// Visit n, counted from 0, uses slot 1 + n % stages. Each slot has two barriers:
///   full:  the readers wait until every writer has arrived: the tile is there;
///   empty: the writers wait until every reader has arrived: they may overwrite it.
/// Each agent has its own copy, which counts that agent's visits; an agent that both writes and
/// reads has two. A tile may represent others that share its barriers and its slot's number.
class TileRing {
 public:
  TileRing(Index stages, Index writers, Index readers)
      : stages_(stages),
        writers_(static_cast<std::uint8_t>(writers)),
        readers_(static_cast<std::uint8_t>(readers)) {}

  /// For a writer: waits until the slot's previous tile is released; returns the next one in it.
  Tile await_place(Tile tile, Program& program) {
    tile.slot = slot();
    Tile& held = held_[tile.slot - 1U];
    if (visit_ >= stages_) {
      program.wait({Barrier::Signals::empty, readers_, phase() - 1, held});
    }
    held = tile;
    return tile;
  }
  /// For a writer: announces that its part of the tile is in the slot.
  void announce(const Tile& tile, Program& program) {
    program.arrive({Barrier::Signals::full, writers_, phase(), tile});
    ++visit_;
  }
  /// Loads a tile that only one agent writes: await_place(), the load, announce().
  void load(const Tile& tile, Program& program) {
    const Tile placed = await_place(tile, program);
    program.load(placed);
    announce(placed, program);
  }

  /// For a reader: waits for the next tile, and returns it in its slot.
  Tile await(Tile tile, Program& program) const {
    tile.slot = slot();
    program.wait({Barrier::Signals::full, writers_, phase(), tile});
    return tile;
  }
  /// For a reader: announces that it no longer reads the tile.
  void release(const Tile& tile, Program& program) {
    program.arrive({Barrier::Signals::empty, readers_, phase(), tile});
    ++visit_;
  }

  /// Whether every slot has been used.
  bool is_full() const { return visit_ >= stages_; }

 private:
  std::uint8_t slot() const { return static_cast<std::uint8_t>(1 + visit_ % stages_); }
  std::int32_t phase() const { return static_cast<std::int32_t>(visit_ / stages_); }

  Index stages_;
  std::uint8_t writers_, readers_;
  Index visit_ = 0;  ///< number of the next visit
  std::array<Tile, kMaxStages> held_;
};

}  // namespace attnscope
