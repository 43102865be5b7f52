/// The operations of some thread blocks of a launch, side by side: regenerated from the schedule.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// One row of the timeline: a thread block, or, for a launch of one block, an iteration of its
/// outer loop.
struct Lane {
  Index begin = 0, end = 0;  ///< steps of the run
  std::string label;         ///< "i = 2", "i = 1, j = 0", "j = 0"
  std::vector<TileOp> ops;   ///< end - begin of them; empty where they are too many
};

class TimelineLanes {
 public:
  /// Brings the lanes around the playhead up to date, at most `count` of them. Cheap while the
  /// playhead stays within them.
  void update(const Snapshot& snapshot, std::size_t count);

  const std::vector<Lane>& lanes() const { return lanes_; }
  /// Of all the lanes of the launch.
  std::size_t first() const { return first_; }
  std::size_t total() const { return total_; }
  /// Operations of the longest lane shown.
  Index longest() const;

 private:
  void collect(const RunInfo& run, std::size_t launch);

  std::shared_ptr<const RunInfo> run_;
  std::size_t launch_ = 0;
  std::size_t first_ = 0;
  std::size_t total_ = 0;
  std::size_t count_ = 0;
  std::vector<Lane> lanes_;
};

}  // namespace attnscope::app
