/// Bytes, time and memory against N for the three algorithms.
#pragma once

#include "app/panel.h"
#include "app/panels/size_charts.h"

namespace attnscope::app {

class ChartsPanel final : public Panel {
 public:
  std::string_view name() const override { return "charts"; }
  Slot slot() const override { return Slot::charts; }
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) override;
  bool busy() const override { return sweep_.busy(); }

 private:
  /// Answers the width that it took at the right end.
  float draw_legend(const PanelContext& context, const Rect& rect, const draw::Chart& chart,
                    ChartQuantity quantity) const;

  BackgroundSweep sweep_;
};

}  // namespace attnscope::app
