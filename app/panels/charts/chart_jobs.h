/// Computes the data of the charts in the background.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "app/jobs/background_job.h"
#include "app/panels/charts/charts.h"
#include "app/panels/charts/roofline_chart.h"
#include "app/panels/parts/snapshot_view.h"

namespace attnscope::app {

/// The progress of the wanted chart.
struct ChartProgress {
  bool stale = false;  ///< whether the displayed chart was made with other settings
  bool given_up = false;
  bool busy = false;
  double busy_for_s = 0.0;
  double share = 0.0;
  std::string error;
};

/// The inputs of a chart besides the counts. A chart is made again only when they change.
struct ChartSource {
  ChartChoice chart;
  RunOfWork run;
  const Theme* theme = nullptr;
  int results = 0;  ///< the number of finished counts
  std::size_t recorded = 0, measured = 0;
  bool operator==(const ChartSource&) const = default;
};

/// The background counts for the charts, one job per study.
class ChartJobs {
 public:
  void give_up() {
    std::apply([](auto&... job) { (job.give_up(), ...); }, jobs_);
  }
  void again() {
    std::apply([](auto&... job) { (job.again(), ...); }, jobs_);
  }

  /// Requests the chart that the view selects; returns the newest chart of its study, nullptr
  /// before the first. It lives until the next call.
  const ShownChart* newest_chart(const std::shared_ptr<const RunInfo>& run, const ViewState& view,
                                 const PanelContext& context, ChartProgress& progress);

 private:
  /// The last chart if it was made from the same source, else a new one from `make()`.
  template <typename Make>
  const ShownChart* made_from(ChartSource source, const Make& make) {
    if (!chart_ || !(source_ == source)) chart_ = make();
    source_ = std::move(source);
    return &*chart_;
  }

  ChartSource source_;
  std::optional<ShownChart> chart_;
  std::tuple<BackgroundJob<SweepKey, SizeSweep>, BackgroundJob<ErrorKey, std::vector<AccuracyCase>>,
             BackgroundJob<TheoremKey, TheoremPoints>,
             BackgroundJob<FusionKey, std::vector<FusionStep>>,
             BackgroundJob<ModelKey, std::vector<ModelCurve>>, BackgroundJob<ResolvedRun, Roofline>>
      jobs_;
};

}  // namespace attnscope::app
