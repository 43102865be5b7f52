#include "app/panels/size_charts.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "app/draw/format.h"
#include "app/panels/algorithm_color.h"
#include "reference/block_mask.h"
#include "sim/schedule/catalog.h"

namespace attnscope::app {

namespace {

std::string setting(const AttentionProblem& problem) {
  return fmt::format("N = {}, {} heads in {} sequences", problem.N, problem.heads, problem.batch);
}

/// What else a point of this algorithm depends on.
std::string about_algorithm(const SizeSweep& sweep, const SweepPoint& point) {
  if (point.report.problem.block_mask != nullptr) {
    return fmt::format(", block mask {}: {:.3g} % of the tiles", to_string(sweep.key.block_mask),
                       100.0 * point.report.problem.block_mask->density());
  }
  const Algorithm* algorithm = find_algorithm(point.algorithm);
  if (algorithm == nullptr || !algorithm->splits_keys) return "";
  return fmt::format(", {} splits", point.report.splits);
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
                             fmt::format("{}: {} modelled\n{}\ntiles {} × {}{}", name, print(value),
                                         setting(point.report.problem), point.report.tiling.Br,
                                         point.report.tiling.Bc, about_algorithm(sweep, point))});
  }
  series.name = std::move(name);
  return series;
}

/// The run that may stand beside the modelled point: of the same GPU, problem, tiling and cache
/// state. nullptr when there is none.
const MeasuredRun* find_alike(const Measurements& measurements, const SimulationReport& model,
                              const GpuDescription& gpu) {
  const MeasuredRun* run = measurements.find(model, gpu);
  if (run == nullptr) return nullptr;
  return difference(model, gpu, run->row, run->provenance.on).none() ? run : nullptr;
}

/// Points that a GPU gave, or nothing.
template <typename ValueOf, typename Print>
void add_seen(draw::Chart& chart, const SizeSweep& sweep, const Measurements& measurements,
              const GpuDescription& gpu, std::string_view algorithm, std::string_view what,
              draw::Marker marker, const Theme& theme, const ValueOf& value_of,
              const Print& print) {
  draw::Series series;
  series.line = false;
  series.marker = marker;
  series.color = algorithm_color(theme, algorithm);
  for (const SweepPoint& point : sweep.points) {
    if (point.algorithm != algorithm) continue;
    const MeasuredRun* run = find_alike(measurements, point.report, gpu);
    if (run == nullptr) continue;
    const std::optional<double> value = value_of(*run);
    if (!value) continue;
    if (series.name.empty()) {
      series.name = fmt::format("{} {}, {} on {}", algorithm, what, to_string(run->provenance.kind),
                                run->provenance.gpu());
    }
    series.points.push_back(
        {static_cast<double>(point.N), *value,
         fmt::format("{} {}: {}\n{}\n{}", algorithm, what, print(*value),
                     setting(point.report.problem), run->provenance.describe())});
  }
  if (series.points.empty()) return;
  // Algorithms share a line of the legend: their colours repeat those of the modelled lines
  const std::string label = series.name.substr(series.name.find(' ') + 1);
  const bool listed = std::ranges::any_of(
      chart.legend, [&](const draw::LegendEntry& entry) { return entry.label == label; });
  if (!listed) {
    chart.legend.push_back({label, theme.text_dim, draw::LegendEntry::Sample::marker, marker});
  }
  chart.series.push_back(std::move(series));
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
               const GpuDescription& gpu, std::string_view algorithm, const Theme& theme) {
  chart.series.push_back(modelled(
      sweep, algorithm, fmt::format("{}, requested", algorithm), theme, false,
      [](const SimulationReport& r) { return static_cast<double>(r.requested.total()); },
      bytes_text));
  chart.series.push_back(modelled(
      sweep, algorithm, fmt::format("{}, DRAM: operands and results once", algorithm), theme, true,
      [](const SimulationReport& r) { return static_cast<double>(r.dram.total()); }, bytes_text));
  add_seen(
      chart, sweep, measurements, gpu, algorithm, "requested", draw::Marker::circle, theme,
      [](const MeasuredRun& run) {
        return total(run.requested_read_bytes(), run.requested_write_bytes());
      },
      bytes_text);
  add_seen(
      chart, sweep, measurements, gpu, algorithm, "DRAM", draw::Marker::square, theme,
      [](const MeasuredRun& run) { return total(run.dram_read_bytes(), run.dram_write_bytes()); },
      bytes_text);
}

/// The device's capacity, and where a GPU ran out of memory.
void add_memory_limits(draw::Chart& chart, const SizeSweep& sweep, const GpuDescription& gpu,
                       const Measurements& measurements, const Theme& theme) {
  draw::Series capacity;
  capacity.name = capacity_words(gpu);
  capacity.color = theme.error;
  capacity.dashed = true;
  draw::Series refused;
  refused.line = false;
  refused.marker = draw::Marker::cross;
  refused.color = theme.error;
  for (const Index N : sweep_lengths()) {
    capacity.points.push_back({static_cast<double>(N), static_cast<double>(gpu.hbm_bytes),
                               fmt::format("capacity of {} in its device file", gpu.display_name)});
  }
  for (const SweepPoint& point : sweep.points) {
    const MeasuredRun* run = find_alike(measurements, point.report, gpu);
    if (run == nullptr || !run->row.error) continue;
    refused.name = "did not run";
    refused.points.push_back({static_cast<double>(point.N),
                              static_cast<double>(point.report.peak_hbm_bytes),
                              fmt::format("{}: {}\n{}", point.algorithm, run->row.error->message,
                                          run->provenance.describe())});
  }
  using Sample = draw::LegendEntry::Sample;
  chart.legend.push_back({capacity.name, theme.error, Sample::dashed, draw::Marker::none});
  chart.series.push_back(std::move(capacity));
  if (refused.points.empty()) return;
  chart.legend.push_back({refused.name, theme.error, Sample::marker, refused.marker});
  chart.series.push_back(std::move(refused));
}

/// A colour for each algorithm, and what the kinds of line mean.
void add_legend(draw::Chart& chart, const SizeSweep& sweep, ChartChoice quantity,
                const Theme& theme) {
  using Sample = draw::LegendEntry::Sample;
  std::string last;
  for (const SweepPoint& point : sweep.points) {
    if (point.algorithm == last) continue;
    last = point.algorithm;
    std::string label = last;
    if (point.report.problem.block_mask != nullptr) {
      label += fmt::format(", mask {}", to_string(sweep.key.block_mask));
    }
    if (find_algorithm(last)->splits_keys) {  // low tiles, made for few queries, read K most often
      label += fmt::format(", Br {}", point.report.tiling.Br);
    }
    chart.legend.push_back({label, algorithm_color(theme, last), Sample::line, {}});
  }
  const auto line = [&](const char* label, Sample sample) {
    chart.legend.push_back({label, theme.text_dim, sample, draw::Marker::none});
  };
  if (quantity == ChartChoice::bytes) {
    line("requested, modelled", Sample::line);
    line("DRAM, operands and results once, modelled", Sample::dashed);
  } else {
    line(quantity == ChartChoice::time ? "at least, modelled" : "peak, modelled", Sample::line);
  }
}

std::string_view title_of(ChartChoice quantity) {
  if (quantity == ChartChoice::time) return "TIME AGAINST N";
  return quantity == ChartChoice::memory ? "MEMORY AGAINST N" : "BYTES AGAINST N";
}

/// What the heading tells on hover.
std::string about_sweep(const SizeSweep& sweep) {
  std::string about = fmt::format(
      "all heads of 16,384 tokens, {} numbers a token; each algorithm in its kernel's tiles, "
      "where it has one; block mask {}",
      kSweepHidden, to_string(sweep.key.block_mask));
  for (const LeftOut& left : sweep.left_out) {
    about += fmt::format("\nnot drawn: {}: {}", left.algorithm, left.reason);
  }
  return about;
}

}  // namespace

std::string capacity_words(const GpuDescription& gpu) {
  const auto bytes = static_cast<double>(gpu.hbm_bytes);
  return fmt::format("{} ({:.0f} GiB) of {}", draw::format_si(bytes, "B"), bytes / 0x1p30,
                     dram_name(gpu));
}

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

bool charts_own(const SweepKey& key, const AttentionProblem& problem) {
  return key.d == problem.d && key.dtype == problem.dtype;
}

ShownChart size_chart(const SizeSweep& sweep, ChartChoice quantity, bool own,
                      const GpuDescription& gpu, const Measurements& measurements,
                      const Theme& theme) {
  const SweepKey& key = sweep.key;
  ShownChart shown;
  shown.title = title_of(quantity);
  shown.subtitle = fmt::format(
      "{}{}, d {}, {}, {}16k tokens", own ? "" : "as recorded: ", to_string(key.pass), key.d,
      to_string(key.dtype), key.mask.is_none() ? "" : to_string(key.mask) + ", ");
  shown.about = about_sweep(sweep);
  draw::Chart chart;
  chart.x = {"N: queries and keys of a head", true, 256.0 / 1.15, 16384.0 * 1.15};
  for (const Index N : sweep_lengths()) {
    chart.x_ticks.push_back({static_cast<double>(N), draw::format_size(N)});
  }
  add_legend(chart, sweep, quantity, theme);
  for (const Algorithm& algorithm : algorithms()) {
    const std::string name(algorithm.name);
    if (quantity == ChartChoice::time) {
      chart.series.push_back(modelled(
          sweep, name, name + ", at least", theme, false,
          [](const SimulationReport& r) { return r.bound_s; }, draw::format_seconds));
      add_seen(
          chart, sweep, measurements, gpu, name, "time", draw::Marker::circle, theme,
          [](const MeasuredRun& run) { return run.time_s(); }, draw::format_seconds);
    } else if (quantity == ChartChoice::memory) {
      chart.series.push_back(modelled(
          sweep, name, name + ", peak", theme, false,
          [](const SimulationReport& r) { return static_cast<double>(r.peak_hbm_bytes); },
          bytes_text));
    } else {
      add_bytes(chart, sweep, measurements, gpu, name, theme);
    }
  }
  if (quantity == ChartChoice::memory) {
    add_memory_limits(chart, sweep, gpu, measurements, theme);
  }
  const bool time = quantity == ChartChoice::time;
  chart.y.name = time ? "seconds" : "bytes";
  std::erase_if(chart.series, [](const draw::Series& series) { return series.points.empty(); });
  draw::fit_decades(chart.y, chart.series);
  chart.y_ticks = draw::ticks(chart.y, 5, time ? time_tick : bytes_tick);
  shown.picture = std::move(chart);
  return shown;
}

}  // namespace attnscope::app
