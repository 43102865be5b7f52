/// The timeline by SM: when each thread block ran on which SM, modelled above recorded inside the
/// kernel on a real GPU, on one axis of time. A trace of another run is shown only on request, with
/// a full description of the run.
#pragma once

#include "app/background_job.h"
#include "app/panel.h"
#include "app/panels/sm_run.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

class SmTimeline {
 public:
  /// Draws into the room below the panel's header.
  void draw(const Snapshot& snapshot, const PanelContext& context, const Rect& rect);
  bool busy() const { return runs_.busy(); }

 private:
  /// Draws the reason why there is no trace of this run, and a button that shows another one.
  void draw_offer(const Snapshot& snapshot, const PanelContext& context, const Rect& rect,
                  const FoundSmRun& found);
  /// Draws the full description of another run's trace, and a button that hides it; returns its
  /// height.
  float draw_other_label(const PanelContext& context, const Rect& rect, const SmRunPair& pair);

  BackgroundJob<SmRunKey, FoundSmRun> runs_;
  std::shared_ptr<const RunInfo> asked_for_;  ///< the run for which another one's trace is shown
};

/// "Not the run on the screen: flash2 forward, B 1, H 24, N 1024, ..., on NVIDIA H200".
std::string other_label(const SmRunPair& pair);

/// "row 5 after column tile 2: m 1.160 modelled, 1.160 recorded; ..." of the row that the snapshot
/// follows; empty where either is not there.
std::string compare_row(const Snapshot& snapshot, const SmRunPair& pair);

}  // namespace attnscope::app
