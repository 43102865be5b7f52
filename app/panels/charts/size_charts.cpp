#include "app/panels/charts/charts.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "app/draw/format.h"
#include "reference/block_mask.h"
#include "reference/run_fields.h"
#include "sim/schedule/algorithm.h"

namespace attnscope::app {

namespace {

/// Other settings on which a point of this algorithm depends.
std::string about_algorithm(const SizeSweep& sweep, const SweepPoint& point) {
  if (point.report.run.problem.block_mask != nullptr) {
    return fmt::format(", block mask {}: {:.3g} % of the tiles",
                       run_field("block_mask").print(sweep.key.run),
                       100.0 * point.report.run.problem.block_mask->density());
  }
  const Algorithm* algorithm = find_algorithm(point.algorithm());
  if (algorithm == nullptr || !algorithm->splits_keys) return "";
  return fmt::format(", {} splits", point.report.run.splits);
}

/// NaN where the GPU is not calibrated for the run.
double predicted_s(const SimulationReport& model) {
  return model.time ? model.time->seconds : std::numeric_limits<double>::quiet_NaN();
}

bool of_time(SweptQuantity quantity) {
  return quantity == SweptQuantity::time || quantity == SweptQuantity::rate;
}

std::optional<double> total(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

/// A chart under construction, and its data.
struct Making {
  const SizeSweep& sweep;
  SweptQuantity quantity;
  const GpuDescription& gpu;
  const Measurements& measurements;
  const Theme& theme;
  draw::Chart chart = {};

  std::string print(double value) const { return value_text(quantity, value); }

  /// A line of the model, one value a point.
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
          {static_cast<double>(point.length), value,
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
    draw::Series series{
        .color = algorithm_color(theme, algorithm), .line = false, .marker = marker};
    std::string label;
    for (const SweepPoint& point : sweep.points) {
      if (point.algorithm() != algorithm) continue;
      const MeasuredRun* run = measurements.find_comparable(point.report, gpu);
      const std::optional<double> value =
          run != nullptr ? value_of(*run, point.report) : std::nullopt;
      if (!value) continue;
      const RunProvenance& from = run->provenance;
      if (label.empty())
        label = fmt::format("{}, {} on {}", what, to_string(from.kind), from.gpu());
      series.points.push_back({static_cast<double>(point.length), *value,
                               fmt::format("{} {}: {}\n{}\n{}", algorithm, what, print(*value),
                                           setting(point.report.run.problem), from.describe())});
    }
    if (series.points.empty()) return;
    series.name = fmt::format("{} {}", algorithm, label);
    chart.series.push_back(std::move(series));
    // Algorithms share a line of the legend: their colours repeat those of the modelled lines
    const auto listed = std::ranges::find(chart.legend, label, &draw::LegendEntry::label);
    if (listed != chart.legend.end()) return;
    chart.legend.push_back({label, theme.text_dim, draw::LegendEntry::Sample::marker, marker});
  }

  void add_bytes(std::string_view algorithm) {
    add_modelled(algorithm, "requested", false,
                 [](const SimulationReport& model) { return model.requested.total(); });
    add_modelled(algorithm, "DRAM: operands and results once", true,
                 [](const SimulationReport& model) { return model.compulsory.total(); });
    add_seen(algorithm, "requested", draw::Marker::circle, [](const MeasuredRun& run, const auto&) {
      return total(run.counter(counter::kRequestedReadBytes),
                   run.counter(counter::kRequestedWriteBytes));
    });
    add_seen(algorithm, "DRAM", draw::Marker::square, [](const MeasuredRun& run, const auto&) {
      return total(run.counter(counter::kDramReadBytes), run.counter(counter::kDramWriteBytes));
    });
  }

  /// The device's capacity, and where a GPU ran out of memory.
  void add_memory_limits() {
    add_capacity(chart, sweep_lengths(sweep.key), gpu, theme);
    draw::Series refused{
        .name = "did not run", .color = theme.error, .line = false, .marker = draw::Marker::cross};
    for (const SweepPoint& point : sweep.points) {
      const MeasuredRun* run = measurements.find_comparable(point.report, gpu);
      if (run == nullptr || !run->row.error) continue;
      refused.points.push_back(
          {static_cast<double>(point.length), static_cast<double>(point.report.peak_hbm_bytes),
           fmt::format("{}: {}\n{}", point.algorithm(), words(*run->row.error, Reader::screen),
                       run->provenance.describe())});
    }
    if (!refused.points.empty()) add_series(chart, std::move(refused), "did not run");
  }

  /// A colour for each algorithm, and the meaning of the line styles.
  void add_legend() {
    using Sample = draw::LegendEntry::Sample;
    std::string last;
    for (const SweepPoint& point : sweep.points) {
      if (point.algorithm() == last) continue;
      last = point.algorithm();
      std::string label = last;
      if (point.report.run.problem.block_mask != nullptr) {
        label += fmt::format(", mask {}", run_field("block_mask").print(sweep.key.run));
      }
      if (find_algorithm(last)
              ->splits_keys) {  // low tiles, made for few queries, read K most often
        label += fmt::format(", Br {}", point.report.run.tiling.Br);
      }
      chart.legend.push_back({label, algorithm_color(theme, last), Sample::line, {}});
    }
    const auto line = [&](const char* label, Sample sample) {
      chart.legend.push_back({label, theme.text_dim, sample, draw::Marker::none});
    };
    if (quantity == SweptQuantity::memory) return line("peak, modelled", Sample::line);
    if (of_time(quantity)) {
      line("predicted", Sample::line);
      line(quantity == SweptQuantity::time ? "lower bound" : "upper bound", Sample::dashed);
    } else {
      line("requested, modelled", Sample::line);
      line("DRAM, operands and results once, modelled", Sample::dashed);
    }
  }
};

std::string title_of(SweptQuantity quantity, const SweepKey& key) {
  constexpr std::string_view kNames[] = {"BYTES", "TIME", "TFLOP/S", "MEMORY"};
  const std::string_view name = kNames[static_cast<std::size_t>(quantity)];
  if (key.fixed_tokens) return fmt::format("{}, 16k TOKENS", name);
  return fmt::format("{} AGAINST {}", name, key.is_prefill() ? "N" : "N_kv");
}

/// The settings that are the same at every length.
std::string problem_words(const SweepKey& key) {
  const AttentionProblem& problem = key.run.problem;
  std::string words = fmt::format("d {}, {}", problem.d, to_string(problem.dtype));
  if (!key.fixed_tokens) words += fmt::format(", B {}", problem.batch);
  words += fmt::format(", H {}", problem.heads);
  if (problem.kv_heads != problem.heads) words += fmt::format(" ({} KV)", problem.kv_heads);
  if (!key.is_prefill()) words += fmt::format(", N {}", problem.N);
  if (!problem.mask.is_none()) words += ", " + to_string(problem.mask);
  return fmt::format("{}, {}", words, to_string(key.run.pass));
}

/// The tooltip of the heading.
std::string about_sweep(const SizeSweep& sweep) {
  const SweepKey& key = sweep.key;
  std::string about =
      key.fixed_tokens
          ? fmt::format(
                "the recorded settings: 16,384 tokens in all, so that the batch is "
                "16,384 / N; hidden size {}",
                kSweepHidden)
          : std::string(
                "the problem on the screen, without individual sequence lengths; only the "
                "length is swept");
  about += fmt::format("\neach algorithm in its kernel's tiles, where it has one; block mask {}",
                       run_field("block_mask").print(key.run));
  for (const LeftOut& left : sweep.left_out) {
    about += fmt::format("\nnot drawn: {}: {}", left.algorithm, left.reason);
  }
  return about;
}

}  // namespace

ShownChart size_chart(const SizeSweep& sweep, ChartChoice choice, const GpuDescription& gpu,
                      const Measurements& measurements, const Theme& theme) {
  const SweptQuantity quantity = swept_quantity(choice);
  const SweepKey& key = sweep.key;
  ShownChart shown;
  shown.title = title_of(quantity, key);
  shown.subtitle =
      fmt::format("{}{}, {}", key.fixed_tokens ? "16k tokens in all, B = 16k / N: " : "",
                  problem_words(key), gpu.display_name);
  shown.about = about_sweep(sweep);
  const std::vector<Index> lengths = sweep_lengths(key);
  Making making{sweep, quantity, gpu, measurements, theme};
  draw::Chart& chart = making.chart;
  chart.x = {key.is_prefill() ? "N: queries and keys of a head" : "N_kv: keys of a head", true,
             static_cast<double>(lengths.front()) / 1.15,
             static_cast<double>(lengths.back()) * 1.15};
  for (const Index N : lengths) {
    if (!std::has_single_bit(static_cast<std::uint64_t>(N))) continue;
    chart.x_ticks.push_back({static_cast<double>(N), draw::format_size(N)});
  }
  making.add_legend();
  for (const Algorithm& algorithm : algorithms()) {
    if (quantity == SweptQuantity::time) {
      making.add_modelled(algorithm.name, "predicted", false, predicted_s);
      making.add_modelled(algorithm.name, "lower bound", true,
                          [](const SimulationReport& model) { return model.bound_s; });
      making.add_seen(algorithm.name, "time", draw::Marker::circle,
                      [](const MeasuredRun& run, const auto&) { return run.time_s(); });
    } else if (quantity == SweptQuantity::rate) {
      making.add_modelled(algorithm.name, "predicted", false, [&](const SimulationReport& model) {
        return tflops(sweep, model, predicted_s(model));
      });
      making.add_modelled(algorithm.name, "upper bound", true, [&](const SimulationReport& model) {
        return tflops(sweep, model, model.bound_s);
      });
      making.add_seen(algorithm.name, "rate", draw::Marker::circle,
                      [&](const MeasuredRun& run, const SimulationReport& model) {
                        const std::optional<double> time_s = run.time_s();
                        return time_s ? std::optional(tflops(sweep, model, *time_s)) : std::nullopt;
                      });
    } else if (quantity == SweptQuantity::memory) {
      making.add_modelled(algorithm.name, "peak", false,
                          [](const SimulationReport& model) { return model.peak_hbm_bytes; });
    } else {
      making.add_bytes(algorithm.name);
    }
  }
  if (quantity == SweptQuantity::memory) making.add_memory_limits();
  if (of_time(quantity)) add_peers(chart, sweep, quantity, measurements.peers, gpu, theme);
  if (quantity == SweptQuantity::rate) {
    fit_y(chart, "TFLOP/s", 5, [](double value) { return fmt::format("{:g}", value); });
  } else if (quantity == SweptQuantity::time) {
    fit_y(chart, "seconds", 5, [](double value) { return draw::format_tick(value, "s"); });
  } else {
    fit_y(chart, "bytes", 5, bytes_tick);
  }
  shown.picture = std::move(chart);
  return shown;
}

}  // namespace attnscope::app
