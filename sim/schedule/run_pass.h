/// Runs a pass. The order of the thread blocks is a separate policy, independent of what a block
/// does.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/schedule/algorithm.h"

namespace attnscope {

/// The order in which the thread blocks of a launch run. Numbers and requested bytes must not
/// depend on it.
struct BlockOrder {
  enum class Kind : std::uint8_t { ascending, descending, shuffled };
  Kind kind = Kind::ascending;
  std::uint64_t seed = 0;  ///< of `shuffled`

  /// The indices [0, count) in this order.
  std::vector<Index> sequence(Index count) const;
};

/// The problem and options that a pass runs with.
struct PassRun {
  AttentionProblem problem;
  Tiling tiling;
  ScheduleOptions options;
  BlockOrder order;
};

/// Runs every launch of the pass for one head, in order, and shows each operation to the observers.
void run_head(const Pass& pass, const PassRun& run, Index batch, Index head,
              std::span<Observer* const> observers);

/// Counts every launch of the pass for one head: the observers end with what run_head() would leave
/// in them. Equal thread blocks, and equal iterations within a block, run once (tile_loop.h).
void count_head(const Pass& pass, const PassRun& run, Index batch, Index head,
                std::span<CountingObserver* const> counters);

/// Runs every head, launch after launch, as a GPU does: a launch holds the blocks of all heads.
/// Values need run_head(): only one head's tensors are in HBM at a time.
void run_all_heads(const Pass& pass, const PassRun& run, std::span<Observer* const> observers);

}  // namespace attnscope
