#include "app/panels/size_charts.h"

#include <fmt/format.h>

#include <string>

#include "app/draw/format.h"
#include "sim/schedule/catalog.h"

namespace attnscope::app {

namespace {

/// The colour of an algorithm: three that differ for every eye.
ImU32 algorithm_color(const Theme& theme, std::string_view algorithm) {
  if (algorithm == "standard") return tensor_text_color(theme, "alpha");
  if (algorithm == "flash1") return tensor_text_color(theme, "m");
  return tensor_text_color(theme, "Q");
}

std::string setting(const AttentionProblem& problem) {
  return fmt::format("N = {}, {} heads in {} sequences", problem.N, problem.heads, problem.batch);
}

/// A line of the model, one value a point.
template <typename ValueOf, typename Print>
draw::Series modelled(const SizeSweep& sweep, std::string_view algorithm, std::string name,
                      const Theme& theme, bool dashed, const ValueOf& value_of,
                      const Print& print) {
  draw::Series series;
  series.color = algorithm_color(theme, algorithm);
  series.dashed = dashed;
  for (const SweepPoint& point : sweep.points) {
    if (point.algorithm != algorithm) continue;
    const double value = value_of(point.report);
    series.points.push_back({static_cast<double>(point.N), value,
                             fmt::format("{}: {} modelled\n{}\ntiles {} × {}", name, print(value),
                                         setting(point.report.problem), point.report.tiling.Br,
                                         point.report.tiling.Bc)});
  }
  series.name = std::move(name);
  return series;
}

/// Points that a GPU gave, or nothing.
template <typename ValueOf, typename Print>
void add_seen(draw::Chart& chart, const SizeSweep& sweep, const Measurements& measurements,
              std::string_view algorithm, std::string_view what, draw::Marker marker,
              const Theme& theme, const ValueOf& value_of, const Print& print) {
  draw::Series series;
  series.line = false;
  series.marker = marker;
  series.color = algorithm_color(theme, algorithm);
  for (const SweepPoint& point : sweep.points) {
    if (point.algorithm != algorithm) continue;
    const MeasuredRun* run = measurements.find(point.report.problem, algorithm,
                                               to_string(sweep.key.pass), point.report.tiling);
    if (run == nullptr) continue;
    const std::optional<double> value = value_of(*run);
    if (!value) continue;
    if (series.name.empty()) {
      series.name = fmt::format("{} {}, {} on {}", algorithm, what, to_string(run->provenance.kind),
                                run->provenance.gpu);
    }
    series.points.push_back(
        {static_cast<double>(point.N), *value,
         fmt::format("{} {}: {}\n{}\n{}", algorithm, what, print(*value),
                     setting(point.report.problem), run->provenance.describe())});
  }
  if (!series.points.empty()) chart.series.push_back(std::move(series));
}

std::string bytes_text(double value) {
  return draw::format_bytes(value);
}
std::string bytes_tick(double value) {
  return draw::format_tick(value, "B");
}
std::string time_tick(double value) {
  return draw::format_tick(value, "s");
}

std::optional<double> total(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

void add_bytes(draw::Chart& chart, const SizeSweep& sweep, const Measurements& measurements,
               std::string_view algorithm, const Theme& theme) {
  chart.series.push_back(modelled(
      sweep, algorithm, fmt::format("{}, requested", algorithm), theme, false,
      [](const SimulationReport& r) { return static_cast<double>(r.requested.total()); },
      bytes_text));
  chart.series.push_back(modelled(
      sweep, algorithm, fmt::format("{}, DRAM at least", algorithm), theme, true,
      [](const SimulationReport& r) { return static_cast<double>(r.dram.total()); }, bytes_text));
  add_seen(
      chart, sweep, measurements, algorithm, "requested", draw::Marker::circle, theme,
      [](const MeasuredRun& run) {
        return total(run.requested_read_bytes(), run.requested_write_bytes());
      },
      bytes_text);
  add_seen(
      chart, sweep, measurements, algorithm, "DRAM", draw::Marker::square, theme,
      [](const MeasuredRun& run) { return total(run.dram_read_bytes(), run.dram_write_bytes()); },
      bytes_text);
}

/// The device's capacity, and where a GPU ran out of memory.
void add_memory_limits(draw::Chart& chart, const SizeSweep& sweep, const GpuDescription& gpu,
                       const Measurements& measurements, const Theme& theme) {
  draw::Series capacity;
  capacity.name =
      fmt::format("{} of HBM, datasheet", draw::format_si(static_cast<double>(gpu.hbm_bytes), "B"));
  capacity.color = theme.error;
  capacity.dashed = true;
  draw::Series refused;
  refused.line = false;
  refused.marker = draw::Marker::cross;
  refused.color = theme.error;
  for (const Index N : sweep_lengths()) {
    capacity.points.push_back({static_cast<double>(N), static_cast<double>(gpu.hbm_bytes),
                               fmt::format("capacity of {}, datasheet", gpu.display_name)});
  }
  for (const SweepPoint& point : sweep.points) {
    const MeasuredRun* run = measurements.find(point.report.problem, point.algorithm,
                                               to_string(sweep.key.pass), point.report.tiling);
    if (run == nullptr || !run->row.error) continue;
    refused.name = "did not run";
    refused.points.push_back({static_cast<double>(point.N),
                              static_cast<double>(point.report.peak_hbm_bytes),
                              fmt::format("{}: {}\n{}", point.algorithm, run->row.error->message,
                                          run->provenance.describe())});
  }
  chart.series.push_back(std::move(capacity));
  if (!refused.points.empty()) chart.series.push_back(std::move(refused));
}

}  // namespace

SweepKey charted_key(const AttentionProblem& problem, std::string_view gpu, PassKind pass,
                     const Measurements& measurements) {
  SweepKey own{problem.d, problem.dtype, problem.mask, std::string(gpu), pass};
  const Index near = problem.d > 64 ? 128 : 64;
  const Index far = near == 64 ? 128 : 64;
  for (const SweepKey& key : {own, SweepKey{near, DType::bf16, own.mask, own.gpu, pass},
                              SweepKey{far, DType::bf16, own.mask, own.gpu, pass}}) {
    for (const auto* runs : {&measurements.measured, &measurements.recorded}) {
      for (const MeasuredRun& run : *runs) {
        if (run.row.pass != to_string(pass)) continue;
        if (run.row.problem == sweep_problem(key, run.row.problem.N)) return key;
      }
    }
  }
  return own;
}

draw::Chart size_chart(const SizeSweep& sweep, ChartQuantity quantity, const GpuDescription& gpu,
                       const Measurements& measurements, const Theme& theme) {
  draw::Chart chart;
  chart.x = {"N: queries and keys of a head", true, 256.0 / 1.15, 16384.0 * 1.15};
  for (const Index N : sweep_lengths()) {
    chart.x_ticks.push_back({static_cast<double>(N), draw::format_size(N)});
  }
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.takes_block_mask || algorithm.splits_keys) continue;  // a dense curve again
    const std::string name(algorithm.name);
    switch (quantity) {
      case ChartQuantity::bytes:
        add_bytes(chart, sweep, measurements, name, theme);
        break;
      case ChartQuantity::time:
        chart.series.push_back(modelled(
            sweep, name, name + ", at least", theme, false,
            [](const SimulationReport& r) { return r.predicted_s; }, draw::format_seconds));
        add_seen(
            chart, sweep, measurements, name, "time", draw::Marker::circle, theme,
            [](const MeasuredRun& run) { return run.time_s(); }, draw::format_seconds);
        break;
      case ChartQuantity::memory:
        chart.series.push_back(modelled(
            sweep, name, name + ", peak", theme, false,
            [](const SimulationReport& r) { return static_cast<double>(r.peak_hbm_bytes); },
            bytes_text));
        break;
    }
  }
  if (quantity == ChartQuantity::memory) {
    add_memory_limits(chart, sweep, gpu, measurements, theme);
  }
  const bool time = quantity == ChartQuantity::time;
  chart.y.name = time ? "seconds" : "bytes";
  draw::fit_decades(chart.y, chart.series);
  chart.y_ticks = draw::ticks(chart.y, 5, time ? time_tick : bytes_tick);
  return chart;
}

}  // namespace attnscope::app
