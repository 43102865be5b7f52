/// The timeline by SM: when each thread block ran on which SM, modelled above recorded inside the
/// kernel on a real GPU, on one axis of time.
#pragma once

#include "app/background_job.h"
#include "app/draw/canvas.h"
#include "app/panel.h"
#include "app/panels/sm_run.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

class SmTimeline {
 public:
  /// Draws into what the panel's header has left.
  void draw(const Snapshot& snapshot, const PanelContext& context, const Rect& rect);
  bool busy() const { return runs_.busy(); }

 private:
  struct Frame;

  void draw_lanes(const Frame& frame, const SmRunPair& pair) const;
  void draw_run(const Frame& frame, const SmRun& run, std::string_view kind, Index sm,
                const Rect& bar) const;
  void draw_block(const Frame& frame, const SmBlock& block, const Rect& rect) const;
  void point_at(const Frame& frame, const SmBlock& block, std::string_view kind,
                const Rect& rect) const;
  void draw_axis(const Frame& frame, float y) const;

  BackgroundJob<SmRunKey, SmRunPair> runs_;
};

/// "row 5 after column tile 2: m 1.160 modelled, 1.160 recorded; ..." of the row that the snapshot
/// follows; empty where either is not there.
std::string compare_row(const Snapshot& snapshot, const SmRunPair& pair);

}  // namespace attnscope::app
