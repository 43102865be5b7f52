/// The operations of a run around the playhead.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "sim/snapshot/snapshot.h"

namespace attnscope {

/// The first step of a thread block.
struct BlockStart {
  Index first_step = 0;
  int launch = 0;
  Index block = 0;
};

/// Operations [begin, end) of a thread block of a launch, counted from the block's first.
struct BlockOps {
  std::size_t launch = 0;
  Index block = 0;  ///< within the head
  Index begin = 0, end = 0;
};
/// Receives an operation and its number in the thread block; returns whether to continue.
using VisitOp = std::function<bool(Index local, const TileOp& op)>;

/// Visits the operations in order, from the schedule. Throws Cancelled once `cancel`, which may be
/// null, is true.
void regenerate(const RunInfo& run, const BlockOps& ops, const VisitOp& visit,
                const std::atomic<bool>* cancel = nullptr);
std::vector<TileOp> regenerate(const RunInfo& run, const BlockOps& ops);

/// A window of operations, regenerated from the schedule when the playhead leaves it.
class OpWindow {
 public:
  /// Both must outlive the window; `blocks` are sorted by their first step.
  OpWindow(const RunInfo& info, const std::vector<BlockStart>& blocks)
      : info_(info), blocks_(blocks) {}

  /// Operation `step`; valid until the next call.
  const TileOp& at(Index step);
  /// The thread block that `step` belongs to.
  const BlockStart& block_of(Index step) const;
  /// The step after the block's last one.
  Index block_end(const BlockStart& block) const;
  /// "2 of 3: " for the second of three operations of a line of pseudo-code; empty if the line has
  /// only one, or so many that they form a loop.
  std::string place_in_line(Index step);

 private:
  const RunInfo& info_;
  const std::vector<BlockStart>& blocks_;
  std::vector<TileOp> ops_;
  Index begin_ = 0;  ///< step of the first of ops_
};

}  // namespace attnscope
