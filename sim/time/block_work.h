/// The work of each thread block of a pass that determines its time.
#pragma once

#include <vector>

#include "sim/ops/observer.h"

namespace attnscope {

struct BlockWork {
  Index steps = 0;  ///< tiles of scores
  /// Of these, those to which the mask is applied; a step in which only some consumers apply it
  /// counts as their share.
  double masked_steps = 0;
  /// Consumers that skip a step because the mask hides it from their rows, summed over steps.
  Index left_out = 0;
  Index column_loads = 0;   ///< tiles Kj that it loads
  Index first_bytes = 0;    ///< read before its first step
  Index query_bytes = 0;    ///< of these, tiles of Q
  Index read_bytes = 0;     ///< in total
  Index written_bytes = 0;  ///< in total, including added ones
  Index last_bytes = 0;     ///< written since its last step began

  bool operator==(const BlockWork&) const = default;
};

/// The way in which one block of the schedule follows another in the kernel.
struct BlockFlow {
  /// A thread block stays on its SM and computes one block of the schedule after another: it
  /// loads the first tiles of the next one during the steps of the previous one.
  bool loads_ahead = false;
  /// It stores the last tiles of one block during the steps of the next one.
  bool stores_beside_next = false;
  /// The product P V of a step runs during the softmax of the next one: a block of n steps takes
  /// the time of n + 1, since the first softmax and the last product overlap nothing.
  bool overlaps_softmax = false;
  /// FLOP of a consumer's last product P V, during which its next rows of Q are loaded; 0 if Oi is
  /// stored from the buffer of Qi, which is free only afterwards.
  double last_product_flops = 0;
  /// Consumers among which the rows of a tile are divided evenly; 1: all warps share them.
  Index consumers = 1;
  /// A consumer skips the last column tiles that only other consumers' rows see.
  bool trims = false;
  /// Bulk copies use tensor maps, which they read first.
  bool reads_maps = false;
  /// The tiles that a block visits are given by a list.
  bool reads_lists = false;
};

/// The blocks of a launch in the order in which they start: those of a head, or of several heads
/// that start in turn, repeated for the other heads.
struct LaunchWork {
  std::vector<BlockWork> blocks;
  std::vector<BlockId> ids;  ///< of the blocks, before they repeat
  Index heads = 1;           ///< how many times the blocks repeat
  Index heads_at_once = 1;   ///< heads that the blocks belong to
  BlockFlow flow = {};
};

/// Records every block of a head, launch by launch.
class BlockWorkRecorder : public CountingObserver {
 public:
  explicit BlockWorkRecorder(Index consumers = 1) : consumers_(consumers) {}

  void begin_launch(std::string_view name, const TileGrid& grid) override;
  void begin_block(const BlockId& block) override;
  void observe(std::span<const TileOp> ops) override;
  void mark() override { marks_.push_back({launches_.back().back(), cut_steps_}); }
  bool repeatable() const override;
  void repeat(Index times) override;

  const std::vector<std::vector<BlockWork>>& launches() const { return launches_; }

 private:
  void count_consumers(const Tile& S, BlockWork& work);

  Index consumers_;
  const TileGrid* grid_ = nullptr;
  std::vector<std::vector<BlockWork>> launches_;
  Index cut_steps_ = 0;  ///< with several consumers: steps in which the mask hides part of the tile
  struct Mark {
    BlockWork work;
    Index cut_steps;
  };
  std::vector<Mark> marks_;
};

}  // namespace attnscope
