#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "app/draw/format.h"
#include "app/panels/charts/charts.h"

namespace attnscope::app {

namespace {

/// The libraries that have a time on this GPU, each once.
std::vector<std::string> libraries_on(const std::string& gpu, const std::vector<PeerTime>& peers) {
  std::vector<std::string> names;
  for (const PeerTime& time : peers) {
    const bool is_new = std::ranges::find(names, time.name) == names.end();
    if (time.gpu == gpu && is_new) names.push_back(time.name);
  }
  return names;
}

/// The points of the sweep for the problem that was timed, one for each value.
std::vector<const SweepPoint*> points_of(const SizeSweep& sweep, const PeerTime& time) {
  std::vector<const SweepPoint*> points;
  const PassKind pass = time.backward ? PassKind::backward : PassKind::forward;
  if (sweep.key.run.pass != pass) return points;
  for (const SweepPoint& point : sweep.points) {
    const bool is_new = std::ranges::find(points, point.value, &SweepPoint::value) == points.end();
    if (is_new && point.report.run.problem == time.problem) points.push_back(&point);
  }
  return points;
}

}  // namespace

std::string value_text(ChartQuantity quantity, double value) {
  if (quantity == ChartQuantity::rate) return fmt::format("{:.1f} TFLOP/s", value);
  return quantity == ChartQuantity::time ? draw::format_seconds(value) : draw::format_bytes(value);
}

double tflops(const SizeSweep& sweep, const SimulationReport& model, double time_s) {
  const auto flash2 = std::ranges::find_if(sweep.points, [&](const SweepPoint& point) {
    return point.algorithm() == "flash2" && point.report.run.problem == model.run.problem;
  });
  const SimulationReport& basis = flash2 != sweep.points.end() ? flash2->report : model;
  return static_cast<double>(basis.matmul_flops) / time_s * 1e-12;
}

std::string setting(const AttentionProblem& problem) {
  return fmt::format("N = {}, N_kv = {}, d = {}, {} heads in {} sequences", problem.N, problem.N_kv,
                     problem.d, problem.heads, problem.batch);
}

void add_peers(draw::Chart& chart, const SizeSweep& sweep, ChartQuantity quantity,
               const std::vector<PeerTime>& peers, const GpuDescription& gpu, const Theme& theme) {
  constexpr draw::Marker kMarkers[] = {draw::Marker::square, draw::Marker::cross};
  std::size_t drawn = 0;
  for (const std::string& name : libraries_on(gpu.device_name, peers)) {
    draw::Series series{.name = name,
                        .color = theme.text_dim,
                        .line = false,
                        .marker = kMarkers[drawn % std::size(kMarkers)]};
    for (const PeerTime& time : peers) {
      if (time.name != name || time.gpu != gpu.device_name) continue;
      for (const SweepPoint* const point : points_of(sweep, time)) {
        const double value = quantity == ChartQuantity::rate
                                 ? tflops(sweep, point->report, time.time_s)
                                 : time.time_s;
        series.points.push_back({point->value, value,
                                 fmt::format("{}: {}\n{}\n{}", name, value_text(quantity, value),
                                             setting(time.problem), time.how)});
      }
    }
    if (series.points.empty()) continue;
    chart.legend.push_back({fmt::format("{}, recorded on {}", name, gpu.device_name),
                            theme.text_dim, draw::LegendEntry::Sample::marker, series.marker});
    chart.series.push_back(std::move(series));
    ++drawn;
  }
}

}  // namespace attnscope::app
