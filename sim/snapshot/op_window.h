/// The operations of a run around the playhead, regenerated from the schedule when the playhead
/// leaves the window.
#pragma once

#include <vector>

#include "sim/snapshot/run_recorder.h"

namespace attnscope {

/// Operations [begin, end) of a thread block of a launch, counted from its first.
std::vector<TileOp> regenerate(const RunInfo& run, std::size_t launch, Index block, Index begin,
                               Index end);

class OpWindow {
 public:
  /// Both must outlive the window; `blocks` ascend by their first step.
  OpWindow(const RunInfo& info, const std::vector<BlockStart>& blocks)
      : info_(info), blocks_(blocks) {}

  /// The operation `step`; valid until the next call.
  const TileOp& at(Index step);
  /// The thread block that `step` belongs to.
  const BlockStart& block_of(Index step) const;
  /// The step after the block's last one.
  Index block_end(const BlockStart& block) const;

 private:
  const RunInfo& info_;
  const std::vector<BlockStart>& blocks_;
  std::vector<TileOp> ops_;
  Index begin_ = 0;  ///< step of the first of ops_
};

}  // namespace attnscope
