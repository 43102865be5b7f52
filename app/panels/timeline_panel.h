/// What each thread block of the shown head does, operation by operation: an order, not time. Or
/// which block ran on which SM when, modelled above recorded.
#pragma once

#include "app/draw/canvas.h"
#include "app/panel.h"
#include "app/panels/sm_timeline.h"
#include "app/panels/timeline_lanes.h"

namespace attnscope::app {

class TimelinePanel final : public Panel {
 public:
  std::string_view name() const override { return "timeline"; }
  Slot slot() const override { return Slot::timeline; }
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) override;
  bool busy() const override { return sm_timeline_.busy(); }

 private:
  struct Window;

  void draw_lane(const Snapshot& snapshot, const PanelContext& context, const Lane& lane,
                 const Rect& bar, const Window& window) const;
  void draw_axis(const PanelContext& context, const Rect& bars, const Window& window) const;
  void point_at(const Snapshot& snapshot, const PanelContext& context, const Lane& lane,
                const Rect& bar, const Window& window) const;

  TimelineLanes lanes_;
  SmTimeline sm_timeline_;
};

}  // namespace attnscope::app
