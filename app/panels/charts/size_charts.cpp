#include "app/panels/charts/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "app/draw/format.h"
#include "app/report/compare.h"
#include "app/report/report_text.h"
#include "reference/block_mask.h"
#include "reference/field_rules.h"
#include "sim/schedule/algorithm.h"

namespace attnscope::app {

namespace {

/// The block mask of the sweep in words; over the density, each value has its own mask.
std::string mask_words(const SweepKey& key) {
  return key.over == ChartAxis::density ? "uniform" : run_field("block_mask").print(key.run);
}

/// Other settings on which a point of this algorithm depends, and whether its tiles fit.
std::string about_algorithm(const SizeSweep& sweep, const SweepPoint& point) {
  std::string about;
  if (point.report.run.problem.block_mask != nullptr) {
    about = fmt::format(", block mask {}: {:.3g} % of the tiles", mask_words(sweep.key),
                        100.0 * point.report.run.problem.block_mask->density());
  }
  const Algorithm* algorithm = find_algorithm(point.algorithm());
  if (algorithm != nullptr && algorithm->splits_keys) {
    about += fmt::format(", {} splits", point.report.run.splits);
  }
  // A kernel's own tiles fit, even if the model's count says otherwise
  const bool is_chosen = sweep.key.over == ChartAxis::block_size;
  if (is_chosen && !point.report.fits) about += "\ndoes not fit: " + point.report.overflow_reason;
  return about;
}

/// The predicted seconds; NaN where the GPU is not calibrated for the run.
double predicted_s(const SimulationReport& model) {
  return model.time ? model.time->seconds : std::numeric_limits<double>::quiet_NaN();
}

/// The predicted time beside the recorded one, their gap and its reason; empty without a
/// prediction.
std::string gap_of_time(const SimulationReport& model, const GpuDescription& gpu,
                        const MeasuredRun& run) {
  if (!model.time) return {};
  const Comparison comparison = compare(model, gpu, run.row, run.provenance.on);
  const ComparisonLine* time = comparison.find(Level::time, "time");
  if (time == nullptr || !time->modelled || !time->recorded) return {};
  const std::string gap =
      time->gap_percent ? fmt::format("{:+.1f} %", *time->gap_percent) : time->in_place_of_gap;
  return fmt::format("\npredicted {}, recorded {}: {}{}{}", seconds_text(*time->modelled),
                     seconds_text(*time->recorded), gap, time->reason.empty() ? "" : "; ",
                     words(time->reason, Reader::screen));
}

bool of_time(ChartQuantity quantity) {
  return quantity == ChartQuantity::time || quantity == ChartQuantity::rate;
}

std::optional<double> total(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

/// A chart under construction, and its data.
struct SizeChartMaker {
  const SizeSweep& sweep;
  ChartQuantity quantity;
  const GpuDescription& gpu;
  const Measurements& measurements;
  const Theme& theme;
  draw::Chart chart = {};
  bool has_recorded = false;

  std::string print(double value) const { return value_text(quantity, value); }

  /// Adds a line of modelled values, one per point.
  template <typename ValueOf>
  void add_modelled(std::string_view algorithm, std::string_view what, bool dashed,
                    const ValueOf& value_of) {
    draw::Series series{.name = fmt::format("{}, {}", algorithm, what),
                        .color = algorithm_color(theme, algorithm),
                        .dashed = dashed};
    for (const SweepPoint& point : sweep.points) {
      if (point.algorithm() != algorithm) continue;
      const auto value = static_cast<double>(value_of(point.report));
      if (!std::isfinite(value)) continue;
      series.points.push_back(
          {point.value, value,
           fmt::format("{}: {} modelled\n{}\ntiles {} × {}{}", series.name, print(value),
                       setting(point.report.run.problem), point.report.run.tiling.Br,
                       point.report.run.tiling.Bc, about_algorithm(sweep, point))});
    }
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }

  /// Adds the points measured on a GPU, if any.
  template <typename ValueOf>
  void add_seen(std::string_view algorithm, std::string_view what, draw::Marker marker,
                const ValueOf& value_of) {
    add_points(
        algorithm, what, marker, value_of,
        [this](const SimulationReport& model) { return measurements.find_comparable(model, gpu); },
        [&](const RunProvenance& from) {
          return fmt::format("{}, {} on {}", what, to_string(from.kind), from.gpu());
        });
  }

  /// If there is no such point, adds one measured with other tiles or by another program.
  template <typename ValueOf>
  void add_similar(std::string_view algorithm, std::string_view what, const ValueOf& value_of) {
    add_points(
        algorithm, what, draw::Marker::diamond, value_of,
        [this](const SimulationReport& model) -> const MeasuredRun* {
          const MeasuredRun* same = measurements.find_comparable(model, gpu);
          const bool is_seen = same != nullptr && same->row.measurement;
          return is_seen ? nullptr : measurements.find_similar(model, gpu);
        },
        [](const RunProvenance& from) {
          return fmt::format("other tiles or program, {}", to_string(from.kind));
        });
  }

  /// Adds the points of the runs that `find` returns, under the label of the first.
  template <typename ValueOf, typename Find, typename LabelOf>
  void add_points(std::string_view algorithm, std::string_view what, draw::Marker marker,
                  const ValueOf& value_of, const Find& find, const LabelOf& label_of) {
    draw::Series series{
        .color = algorithm_color(theme, algorithm), .line = false, .marker = marker};
    std::string label;
    for (const SweepPoint& point : sweep.points) {
      if (point.algorithm() != algorithm) continue;
      const MeasuredRun* run = find(point.report);
      const std::optional<double> value =
          run != nullptr ? value_of(*run, point.report) : std::nullopt;
      if (!value) continue;
      const RunProvenance& from = run->provenance;
      if (label.empty()) label = label_of(from);
      std::string about = fmt::format("{} {}: {}\n{}\n{}", algorithm, what, print(*value),
                                      setting(point.report.run.problem), from.describe());
      const std::string other = difference(point.report, gpu, run->row, from.on).words;
      if (!other.empty()) {
        about += "\n" + other;
      } else if (of_time(quantity)) {
        about += gap_of_time(point.report, gpu, *run);
      }
      series.points.push_back({point.value, *value, std::move(about)});
    }
    if (series.points.empty()) return;
    has_recorded = true;
    series.name = fmt::format("{} {}", algorithm,
                              label.starts_with(what) ? label : fmt::format("{}, {}", what, label));
    chart.series.push_back(std::move(series));
    // All algorithms share one legend entry: their colours repeat those of the modelled lines
    const auto listed = std::ranges::find(chart.legend, label, &draw::LegendEntry::label);
    if (listed != chart.legend.end()) return;
    chart.legend.push_back({label, theme.text_dim, draw::LegendEntry::Sample::marker, marker});
  }

  void add_bytes(std::string_view algorithm) {
    add_modelled(algorithm, "requested", false,
                 [](const SimulationReport& model) { return model.requested.total(); });
    add_modelled(algorithm, "DRAM: operands and results once", true,
                 [](const SimulationReport& model) { return model.compulsory.total(); });
    const auto requested = [](const MeasuredRun& run, const auto&) {
      return total(run.counter(counter::kRequestedReadBytes),
                   run.counter(counter::kRequestedWriteBytes));
    };
    add_seen(algorithm, "requested", draw::Marker::circle, requested);
    add_similar(algorithm, "requested", requested);
    add_seen(algorithm, "DRAM", draw::Marker::square, [](const MeasuredRun& run, const auto&) {
      return total(run.counter(counter::kDramReadBytes), run.counter(counter::kDramWriteBytes));
    });
  }

  void add_times(std::string_view algorithm) {
    add_modelled(algorithm, "predicted", false, predicted_s);
    add_modelled(algorithm, "lower bound", true,
                 [](const SimulationReport& model) { return model.bound_s; });
    const auto time = [](const MeasuredRun& run, const auto&) { return run.time_s(); };
    add_seen(algorithm, "time", draw::Marker::circle, time);
    add_similar(algorithm, "time", time);
  }

  void add_rates(std::string_view algorithm) {
    add_modelled(algorithm, "predicted", false, [&](const SimulationReport& model) {
      return tflops(sweep, model, predicted_s(model));
    });
    add_modelled(algorithm, "upper bound", true, [&](const SimulationReport& model) {
      return tflops(sweep, model, model.bound_s);
    });
    const auto rate = [&](const MeasuredRun& run, const SimulationReport& model) {
      const std::optional<double> time_s = run.time_s();
      return time_s ? std::optional(tflops(sweep, model, *time_s)) : std::nullopt;
    };
    add_seen(algorithm, "rate", draw::Marker::circle, rate);
    add_similar(algorithm, "rate", rate);
  }

  /// Adds the device's capacity, and the points at which a GPU ran out of memory.
  void add_memory_limits() {
    add_capacity(chart, sweep_values(sweep.key), gpu, theme);
    draw::Series refused{
        .name = "did not run", .color = theme.error, .line = false, .marker = draw::Marker::cross};
    for (const SweepPoint& point : sweep.points) {
      const MeasuredRun* run = measurements.find_comparable(point.report, gpu);
      if (run == nullptr || !run->row.error) continue;
      refused.points.push_back(
          {point.value, static_cast<double>(point.report.peak_hbm_bytes),
           fmt::format("{}: {}\n{}", point.algorithm(), words(*run->row.error, Reader::screen),
                       run->provenance.describe())});
    }
    if (!refused.points.empty()) add_series(chart, std::move(refused), "did not run");
  }

  /// Lists the colour of each algorithm and the meaning of the line styles.
  void add_legend() {
    using Sample = draw::LegendEntry::Sample;
    std::string last;
    for (const SweepPoint& point : sweep.points) {
      if (point.algorithm() == last) continue;
      last = point.algorithm();
      std::string label = last;
      if (point.report.run.problem.block_mask != nullptr) {
        label += fmt::format(", mask {}", mask_words(sweep.key));
      }
      // Show Br: tiles with few rows, which are meant for few queries, read K more often
      if (find_algorithm(last)->splits_keys && sweep.key.over != ChartAxis::block_size) {
        label += fmt::format(", Br {}", point.report.run.tiling.Br);
      }
      chart.legend.push_back({label, algorithm_color(theme, last), Sample::line, {}});
    }
    const auto line = [&](const char* label, Sample sample) {
      chart.legend.push_back({label, theme.text_dim, sample, draw::Marker::none});
    };
    if (quantity == ChartQuantity::memory) return line("peak, modelled", Sample::line);
    if (of_time(quantity)) {
      line("predicted", Sample::line);
      line(quantity == ChartQuantity::time ? "lower bound" : "upper bound", Sample::dashed);
    } else {
      line("requested, modelled", Sample::line);
      line("DRAM, operands and results once, modelled", Sample::dashed);
    }
  }
};

/// "N: queries and keys per head"; the part before the colon is in the title.
std::string_view axis_name(const SweepKey& key) {
  switch (key.over) {
    case ChartAxis::heads:
      return "H: heads per sequence";
    case ChartAxis::head_dim:
      return "d: elements per query, key or value";
    case ChartAxis::block_size:
      return "BLOCK SIZE: queries and keys per tile, Br = Bc";
    case ChartAxis::density:
      return "DENSITY: share of the tiles that the block mask keeps";
    default:
      return key.is_prefill() ? "N: queries and keys per head" : "N_kv: keys per head";
  }
}

std::string title_of(ChartQuantity quantity, const SweepKey& key) {
  constexpr std::string_view kNames[] = {"BYTES", "TIME", "TFLOP/S", "MEMORY"};
  const std::string_view name = kNames[static_cast<std::size_t>(quantity)];
  if (key.over == ChartAxis::tokens) return fmt::format("{}, 16k TOKENS", name);
  const std::string_view axis = axis_name(key);
  return fmt::format("{} AGAINST {}", name, axis.substr(0, axis.find(':')));
}

/// The settings that are the same at every value.
std::string problem_words(const SweepKey& key) {
  const AttentionProblem& problem = key.run.problem;
  std::vector<std::string> words;
  const bool sweeps_N = key.over == ChartAxis::seq_len || key.over == ChartAxis::tokens;
  if (!sweeps_N || !key.is_prefill()) words.push_back(fmt::format("N {}", problem.N));
  if (!sweeps_N && !key.is_prefill()) words.push_back(fmt::format("N_kv {}", problem.N_kv));
  if (key.over != ChartAxis::head_dim) words.push_back(fmt::format("d {}", problem.d));
  words.emplace_back(to_string(problem.dtype));
  if (key.over != ChartAxis::tokens) words.push_back(fmt::format("B {}", problem.batch));
  const bool is_grouped = problem.kv_heads != problem.heads;
  if (key.over == ChartAxis::heads) {
    if (is_grouped)
      words.push_back(fmt::format("{} per KV head", problem.heads / problem.kv_heads));
  } else {
    words.push_back(fmt::format("H {}", problem.heads));
    if (is_grouped) words.back() += fmt::format(" ({} KV)", problem.kv_heads);
  }
  if (!problem.mask.is_none()) words.push_back(to_string(problem.mask));
  words.emplace_back(to_string(key.run.pass));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// The tooltip of the heading.
std::string about_sweep(const SizeSweep& sweep) {
  const SweepKey& key = sweep.key;
  std::string about = "the problem on the screen, without individual sequence lengths";
  if (key.over == ChartAxis::tokens) {
    about = fmt::format(
        "the recorded settings: 16,384 tokens in all, so the batch is 16,384 / N; hidden size "
        "{}",
        kSweepHidden);
  }
  about += key.over == ChartAxis::block_size
               ? "\nevery algorithm with the same square tiles"
               : "\neach algorithm with its kernel's tiles, if it has a kernel";
  about += fmt::format("; block mask {}", mask_words(key));
  const bool only_masks = key.over == ChartAxis::density;
  if (only_masks) about += "\nthe dense algorithms ignore the mask and compute every tile";
  for (const LeftOut& left : sweep.left_out) {
    about += fmt::format("\nnot drawn: {}: {}", left.algorithm, left.reason);
  }
  return about;
}

}  // namespace

ShownChart size_chart(const SizeSweep& sweep, ChartQuantity quantity, const GpuDescription& gpu,
                      const Measurements& measurements, const Theme& theme) {
  const SweepKey& key = sweep.key;
  ShownChart shown;
  shown.title = title_of(quantity, key);
  const bool fixed_tokens = key.over == ChartAxis::tokens;
  shown.subtitle = fmt::format("{}{}, {}", fixed_tokens ? "16k tokens in all, B = 16k / N: " : "",
                               problem_words(key), gpu.display_name);
  shown.about = about_sweep(sweep);
  const std::vector<double> values = sweep_values(key);
  SizeChartMaker maker{sweep, quantity, gpu, measurements, theme};
  draw::Chart& chart = maker.chart;
  chart.x = {std::string(axis_name(key)), true, values.front() / 1.15, values.back() * 1.15};
  for (const double value : values) {
    const bool is_even = value < 1.0 || std::has_single_bit(static_cast<std::uint64_t>(value));
    if (is_even) chart.x_ticks.push_back({value, axis_tick(key.over, value)});
  }
  maker.add_legend();
  for (const Algorithm& algorithm : algorithms()) {
    if (quantity == ChartQuantity::time) {
      maker.add_times(algorithm.name);
    } else if (quantity == ChartQuantity::rate) {
      maker.add_rates(algorithm.name);
    } else if (quantity == ChartQuantity::memory) {
      maker.add_modelled(algorithm.name, "peak", false,
                         [](const SimulationReport& model) { return model.peak_hbm_bytes; });
    } else {
      maker.add_bytes(algorithm.name);
    }
  }
  if (quantity == ChartQuantity::memory) maker.add_memory_limits();
  if (of_time(quantity)) add_peers(chart, sweep, quantity, measurements.peers, gpu, theme);
  if (quantity == ChartQuantity::rate) {
    fit_y(chart, "TFLOP/s", 5, [](double value) { return fmt::format("{:g}", value); });
  } else if (quantity == ChartQuantity::time) {
    fit_y(chart, "seconds", 5, [](double value) { return draw::format_tick(value, "s"); });
  } else {
    fit_y(chart, "bytes", 5, bytes_tick);
  }
  shown.has_recorded = maker.has_recorded;
  shown.picture = std::move(chart);
  return shown;
}

}  // namespace attnscope::app
