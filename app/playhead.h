/// Where the playhead may stop, and how it moves. A step is the operation that ran last, as in
/// Snapshot::step: -1 is before the first operation, step_count - 1 after the last.
#pragma once

#include "app/view_state.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

Index clamp_step(const RunInfo& run, Index step);

/// `count` operations, tiles or iterations of the outer loop further; backwards when negative. By
/// tile or iteration it stops after the last operation of one; going back from inside a tile first
/// reaches that tile's own beginning.
Index moved_step(const RunInfo& run, Index step, Granularity granularity, int count);

/// Moves the playhead in time: units of the granularity a second, times the speed.
class Player {
 public:
  static constexpr double kUnitsPerSecond = 3.0;

  /// The step after `elapsed_s` more seconds of playing; stops (view.playing = false) at the end.
  void advance(const RunInfo& run, ViewState& view, double elapsed_s);
  /// The whole units played in `elapsed_s` more seconds.
  int units(const ViewState& view, double elapsed_s);
  /// Forgets the fraction of a unit that was played.
  void restart() { units_ = 0.0; }
  /// The completed fraction of the current unit, 0 to 1.
  double fraction() const { return units_; }

 private:
  double units_ = 0.0;
};

}  // namespace attnscope::app
