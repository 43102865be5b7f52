/// Runs thread blocks on SMs in cycles: as many at once as fit on an SM, in the order of the
/// launch, each as soon as a slot is free. Blocks that share an SM slow each other down.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "reference/attention_problem.h"
#include "sim/ops/observer.h"

namespace attnscope {

/// One block: it waits for its first tiles, executes steps, and waits for its last stores. Only
/// steps use the SM's units.
struct BlockTask {
  double wait_before_cycles = 0;
  double wait_before_following_cycles = 0;  ///< the same for a block that follows another
  double steps = 0;
  double last_steps = 0;  ///< steps after those, which do not wait for any further tiles
  double wait_after_cycles = 0;
  /// The addition to it if no block is left to follow this one.
  double wait_after_last_cycles = 0;
};

/// [k - 1]: cycles of one block's step while k blocks of its SM execute steps.
struct StepCycles {
  std::vector<double> of_step, of_last_step;  ///< of BlockTask::steps and BlockTask::last_steps

  double of(const BlockTask& task, std::size_t blocks) const {
    return (task.steps > 0 ? of_step : of_last_step)[blocks - 1];
  }
};

/// The use of the SMs' time during a launch, in cycles of one SM.
struct ScheduleCycles {
  double end = 0;  ///< from the launch's first block to the end of its last one
  // Summed over the SMs; the three add up to `end` times the number of SMs
  double stepping = 0;  ///< at least one block executes steps
  double waiting = 0;   ///< blocks only wait
  double idle = 0;      ///< no block is left
};

/// One block in a schedule; times are in cycles from the start of the launch's first block.
struct ScheduledBlock {
  std::size_t index = 0;  ///< in the order of the launch
  Index sm = 0;
  Index slot = 0;  ///< its slot among the SM's blocks
  double begin = 0, first_step = 0, last_step_end = 0, end = 0;
};

class BlockSchedule {
 public:
  /// `cycles` has one entry for each block that an SM holds. At the beginning of a launch, an SM
  /// starts them one after another, `start_cycles` apart.
  BlockSchedule(Index sm_count, StepCycles cycles, double start_cycles = 0);

  /// Runs the blocks of each of `heads` identical heads; if there are very many, the first ones
  /// represent the rest. `scheduled`, if not null, receives the blocks that ran, in the order in
  /// which they end. Throws Cancelled.
  ScheduleCycles run(std::span<const BlockTask> blocks_of_head, Index heads,
                     const std::atomic<bool>* cancel = nullptr,
                     std::vector<ScheduledBlock>* scheduled = nullptr) const;

 private:
  ScheduleCycles run_all(std::span<const BlockTask> blocks_of_head, Index heads,
                         const std::atomic<bool>* cancel,
                         std::vector<ScheduledBlock>* scheduled) const;

  Index sm_count_;
  StepCycles cycles_;
  double start_cycles_;
};

/// The predicted run of a thread block: it waits for its first tiles, executes steps, and waits for
/// its last stores. In seconds from the start of its launch's first block.
struct PredictedBlock {
  BlockId id;
  Index sm = 0;
  Index slot = 0;  ///< its slot among the SM's blocks
  double begin_s = 0, first_step_s = 0, last_step_end_s = 0, end_s = 0;
};

/// The blocks of one launch on the SMs.
struct PredictedSchedule {
  double seconds = 0;  ///< of the launch, without its overhead
  double clock_hz = 0;
  Index slots = 1;  ///< largest number of blocks on one SM
  std::vector<PredictedBlock> blocks;
};

/// The largest number of blocks in a predicted schedule; for a launch with more, it contains only
/// the first heads.
inline constexpr Index kMostScheduledBlocks = Index{1} << 19U;

}  // namespace attnscope
