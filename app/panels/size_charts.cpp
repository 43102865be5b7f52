#include "app/panels/size_charts.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <string>

#include "app/draw/format.h"
#include "app/panels/algorithm_color.h"
#include "reference/block_mask.h"
#include "reference/run_fields.h"
#include "sim/schedule/algorithm.h"

namespace attnscope::app {

namespace {

std::string setting(const AttentionProblem& problem) {
  return fmt::format("N = {}, N_kv = {}, {} heads in {} sequences", problem.N, problem.N_kv,
                     problem.heads, problem.batch);
}

/// What else a point of this algorithm depends on.
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

/// A line of the model, one value a point.
template <typename ValueOf, typename Print>
draw::Series modelled(const SizeSweep& sweep, std::string_view algorithm, std::string name,
                      const Theme& theme, bool dashed, const ValueOf& value_of,
                      const Print& print) {
  draw::Series series;
  series.color = algorithm_color(theme, algorithm);
  series.dashed = dashed;
  for (const SweepPoint& point : sweep.points) {
    if (point.algorithm() != algorithm) continue;
    const double value = value_of(point.report);
    series.points.push_back(
        {static_cast<double>(point.length), value,
         fmt::format("{}: {} modelled\n{}\ntiles {} × {}{}", name, print(value),
                     setting(point.report.run.problem), point.report.run.tiling.Br,
                     point.report.run.tiling.Bc, about_algorithm(sweep, point))});
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
    if (point.algorithm() != algorithm) continue;
    const MeasuredRun* run = find_alike(measurements, point.report, gpu);
    if (run == nullptr) continue;
    const std::optional<double> value = value_of(*run);
    if (!value) continue;
    if (series.name.empty()) {
      series.name = fmt::format("{} {}, {} on {}", algorithm, what, to_string(run->provenance.kind),
                                run->provenance.gpu());
    }
    series.points.push_back(
        {static_cast<double>(point.length), *value,
         fmt::format("{} {}: {}\n{}\n{}", algorithm, what, print(*value),
                     setting(point.report.run.problem), run->provenance.describe())});
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
  for (const Index N : sweep_lengths(sweep.key)) {
    capacity.points.push_back({static_cast<double>(N), static_cast<double>(gpu.hbm_bytes),
                               fmt::format("capacity of {} in its device file", gpu.display_name)});
  }
  for (const SweepPoint& point : sweep.points) {
    const MeasuredRun* run = find_alike(measurements, point.report, gpu);
    if (run == nullptr || !run->row.error) continue;
    refused.name = "did not run";
    refused.points.push_back(
        {static_cast<double>(point.length), static_cast<double>(point.report.peak_hbm_bytes),
         fmt::format("{}: {}\n{}", point.algorithm(), words(*run->row.error, Reader::screen),
                     run->provenance.describe())});
  }
  using Sample = draw::LegendEntry::Sample;
  chart.legend.push_back({capacity.name, theme.error, Sample::dashed, draw::Marker::none});
  chart.series.push_back(std::move(capacity));
  if (refused.points.empty()) return;
  chart.legend.push_back({refused.name, theme.error, Sample::marker, refused.marker});
  chart.series.push_back(std::move(refused));
}

bool is_time(ChartChoice chart) {
  return chart == ChartChoice::time || chart == ChartChoice::recorded_time;
}
bool is_memory(ChartChoice chart) {
  return chart == ChartChoice::memory || chart == ChartChoice::recorded_memory;
}

/// A colour for each algorithm, and what the kinds of line mean.
void add_legend(draw::Chart& chart, const SizeSweep& sweep, ChartChoice quantity,
                const Theme& theme) {
  using Sample = draw::LegendEntry::Sample;
  std::string last;
  for (const SweepPoint& point : sweep.points) {
    if (point.algorithm() == last) continue;
    last = point.algorithm();
    std::string label = last;
    if (point.report.run.problem.block_mask != nullptr) {
      label += fmt::format(", mask {}", run_field("block_mask").print(sweep.key.run));
    }
    if (find_algorithm(last)->splits_keys) {  // low tiles, made for few queries, read K most often
      label += fmt::format(", Br {}", point.report.run.tiling.Br);
    }
    chart.legend.push_back({label, algorithm_color(theme, last), Sample::line, {}});
  }
  const auto line = [&](const char* label, Sample sample) {
    chart.legend.push_back({label, theme.text_dim, sample, draw::Marker::none});
  };
  if (!is_time(quantity) && !is_memory(quantity)) {
    line("requested, modelled", Sample::line);
    line("DRAM, operands and results once, modelled", Sample::dashed);
  } else {
    line(is_time(quantity) ? "at least, modelled" : "peak, modelled", Sample::line);
  }
}

std::string title_of(ChartChoice chart, const SweepKey& key) {
  const std::string_view quantity =
      is_time(chart) ? "TIME" : (is_memory(chart) ? "MEMORY" : "BYTES");
  if (key.fixed_tokens) return fmt::format("{}, 16k TOKENS", quantity);
  return fmt::format("{} AGAINST {}", quantity, key.is_prefill() ? "N" : "N_kv");
}

/// What is the same at every length.
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

/// What the heading shows on hover.
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

std::string capacity_words(const GpuDescription& gpu) {
  const auto bytes = static_cast<double>(gpu.hbm_bytes);
  return fmt::format("{} ({:.0f} GiB) of {}", draw::format_si(bytes, "B"), bytes / 0x1p30,
                     dram_name(gpu));
}

SweepKey charted_key(const ResolvedRun& run, std::string_view gpu) {
  SweepKey key{.run = {.problem = run.asked.problem,
                       .pass = run.pass(),
                       .block_mask = BlockPattern{},
                       .gpu = std::string(gpu)}};
  AttentionProblem& problem = key.run.problem;
  problem.block_mask = nullptr;
  problem.key_lengths.clear();
  problem.cu_seqlens_q.clear();
  problem.cu_seqlens_k.clear();
  return key;
}

SweepKey recorded_key(const ResolvedRun& run, std::string_view gpu,
                      const Measurements& measurements) {
  const AttentionProblem& problem = run.asked.problem;
  const auto key_of = [&](Index d, DType dtype) {
    SweepKey key{.run = {.pass = run.pass(), .block_mask = BlockPattern{}, .gpu = std::string(gpu)},
                 .fixed_tokens = true};
    const Index heads = std::max<Index>(kSweepHidden / d, 1);
    key.run.problem = {.heads = heads,
                       .kv_heads = heads,
                       .N = kSweepTokens,
                       .N_kv = kSweepTokens,
                       .d = d,
                       .dtype = dtype,
                       .mask = problem.mask};
    return key;
  };
  const Index near = problem.d > 64 ? 128 : 64;
  const Index far = near == 64 ? 128 : 64;
  const SweepKey own = key_of(problem.d, problem.dtype);
  for (const SweepKey& key : {own, key_of(near, DType::bf16), key_of(far, DType::bf16)}) {
    for (const auto* runs : {&measurements.measured, &measurements.recorded}) {
      for (const MeasuredRun& seen : *runs) {
        if (seen.row.run.pass() != run.pass()) continue;
        if (seen.row.run.problem == sweep_problem(key, seen.row.run.problem.N)) return key;
      }
    }
  }
  return own;
}

ShownChart size_chart(const SizeSweep& sweep, ChartChoice quantity, const GpuDescription& gpu,
                      const Measurements& measurements, const Theme& theme) {
  const SweepKey& key = sweep.key;
  ShownChart shown;
  shown.title = title_of(quantity, key);
  shown.subtitle =
      fmt::format("{}{}, {}", key.fixed_tokens ? "16k tokens in all, B = 16k / N: " : "",
                  problem_words(key), gpu.display_name);
  shown.about = about_sweep(sweep);
  const std::vector<Index> lengths = sweep_lengths(key);
  draw::Chart chart;
  chart.x = {key.is_prefill() ? "N: queries and keys of a head" : "N_kv: keys of a head", true,
             static_cast<double>(lengths.front()) / 1.15,
             static_cast<double>(lengths.back()) * 1.15};
  for (const Index N : lengths) {
    if (!std::has_single_bit(static_cast<std::uint64_t>(N))) continue;
    chart.x_ticks.push_back({static_cast<double>(N), draw::format_size(N)});
  }
  add_legend(chart, sweep, quantity, theme);
  for (const Algorithm& algorithm : algorithms()) {
    const std::string name(algorithm.name);
    if (is_time(quantity)) {
      chart.series.push_back(modelled(
          sweep, name, name + ", at least", theme, false,
          [](const SimulationReport& r) { return r.bound_s; }, draw::format_seconds));
      add_seen(
          chart, sweep, measurements, gpu, name, "time", draw::Marker::circle, theme,
          [](const MeasuredRun& run) { return run.time_s(); }, draw::format_seconds);
    } else if (is_memory(quantity)) {
      chart.series.push_back(modelled(
          sweep, name, name + ", peak", theme, false,
          [](const SimulationReport& r) { return static_cast<double>(r.peak_hbm_bytes); },
          bytes_text));
    } else {
      add_bytes(chart, sweep, measurements, gpu, name, theme);
    }
  }
  if (is_memory(quantity)) {
    add_memory_limits(chart, sweep, gpu, measurements, theme);
  }
  const bool time = is_time(quantity);
  chart.y.name = time ? "seconds" : "bytes";
  std::erase_if(chart.series, [](const draw::Series& series) { return series.points.empty(); });
  draw::fit_decades(chart.y, chart.series);
  chart.y_ticks = draw::ticks(chart.y, 5, time ? time_tick : bytes_tick);
  shown.picture = std::move(chart);
  return shown;
}

}  // namespace attnscope::app
