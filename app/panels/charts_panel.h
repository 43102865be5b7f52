/// Charts, worked out in the background: bytes, time, memory and error against N, the IO theorems
/// beside the counts, fusion step by step, memory of whole models.
#pragma once

#include <optional>

#include "app/background_job.h"
#include "app/panel.h"
#include "app/panels/error_chart.h"
#include "app/panels/fusion_chart.h"
#include "app/panels/model_charts.h"
#include "app/panels/size_charts.h"
#include "app/panels/theorem_charts.h"

namespace attnscope::app {

class ChartsPanel final : public Panel {
 public:
  std::string_view name() const override { return "charts"; }
  Slot slot() const override { return Slot::charts; }
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) override;
  bool busy() const override;

 private:
  /// How far the chart that is wanted is.
  struct Progress {
    bool stale = false;  ///< what is shown is of other settings
    bool given_up = false;
    double busy_for_s = 0.0;
    double share = 0.0;
    std::string error;
  };

  /// Asks for what the view wants; answers the newest chart of its topic, nothing before the first.
  std::optional<ShownChart> shown_chart(const Snapshot& snapshot, const ViewState& view,
                                        const PanelContext& context, Progress& progress);
  std::optional<ShownChart> shown_sizes(const Snapshot& snapshot, const ViewState& view,
                                        const PanelContext& context, Progress& progress);
  std::optional<ShownChart> shown_errors(const Snapshot& snapshot, const ViewState& view,
                                         const PanelContext& context, Progress& progress);
  void draw_progress(const PanelContext& context, const Rect& plot, const Progress& progress);
  void give_up_or_try_again(bool again);

  BackgroundJob<SweepKey, SizeSweep> sizes_;
  BackgroundJob<ErrorKey, std::vector<AccuracyCase>> errors_;
  BackgroundJob<TheoremKey, TheoremPoints> theorems_;
  BackgroundJob<FusionKey, std::vector<FusionStep>> fusion_;
  BackgroundJob<ModelKey, std::vector<ModelCurve>> models_;
};

}  // namespace attnscope::app
