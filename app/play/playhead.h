/// Where the playhead may stop, and how it moves. A step is the operation that ran last, as in
/// Snapshot::step: -1 is before the first operation, step_count - 1 after the last.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/scene/view_state.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

Index clamp_step(const RunInfo& run, Index step);

/// The step that is `count` operations, tiles or iterations of the outer loop later; earlier if
/// negative. Moves by tile or iteration stop after its last operation; going back from inside a
/// tile first reaches that tile's own beginning.
Index moved_step(const RunInfo& run, Index step, Granularity granularity, int count);

/// The next faster (direction 1) or slower (-1) speed, a power of two.
double next_speed(double speed, int direction);

/// Moves the playhead in time, by units of the granularity per second, times the speed.
class Player {
 public:
  static constexpr double kUnitsPerSecond = 3.0;

  /// Plays for `elapsed_s` more seconds; stops (view.playing = false) at the end.
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

// Two runs on one clock, and the position of each.

/// The clock ticks whenever either run completes a tile. Its reading, requested bytes of the
/// displayed head or visits of tiles, is an upper limit for each run, because the other may be in
/// the middle of a tile or finished. A visit is a launch's work on one tile of S, P, dP or dS:
/// standard attention, which has several launches, visits each tile several times.
class RaceCourse {
 public:
  using Run = std::shared_ptr<const RunInfo>;
  enum Racer : std::uint8_t { chosen, rival };

  RaceCourse(const Run& chosen_run, const Run& rival_run, RaceClock clock);

  bool is_of(const Run& chosen_run, const Run& rival_run, RaceClock clock) const;

  Index last_tick() const { return static_cast<Index>(readings_.size()) - 1; }
  /// Bytes, or visits of tiles, at a tick; 0 at tick 0.
  Index reading(Index tick) const { return readings_[static_cast<std::size_t>(tick)]; }
  /// The last operation of the last tile that the racer has completed by a tick; -1: no tile yet.
  Index step_of(Racer racer, Index tick) const;
  /// The first operation of that tile; -1: no tile yet.
  Index begin_of(Racer racer, Index tick) const;
  /// The number of tile visits that the racer has completed by a tick, and the total number.
  Index tiles_done(Racer racer, Index tick) const;
  Index tiles(Racer racer) const { return static_cast<Index>(ends_[racer].size()); }
  /// The first tick at which the racer has executed operation `step`.
  Index tick_of(Racer racer, Index step) const;
  /// The reading at which the racer finishes.
  Index finish(Racer racer) const { return ends_[racer].back().reading; }

 private:
  /// The end of a tile.
  struct End {
    Index step = 0;
    Index reading = 0;
  };

  Run runs_[2];
  RaceClock clock_;
  std::vector<End> ends_[2];
  std::vector<Index> readings_;  ///< the reading at each tick, ascending
};

}  // namespace attnscope::app
