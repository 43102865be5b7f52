#include "app/panels/charts.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "app/draw/format.h"
#include "kernels/resolve.h"
#include "reference/block_mask.h"
#include "reference/run_fields.h"
#include "sim/schedule/algorithm.h"

namespace attnscope::app {

namespace {

/// The model at one length; an error if the algorithm does not run there.
Result<SimulationReport> report_at(const SweepKey& key, Index length, const Algorithm& algorithm,
                                   const GpuDescription& gpu, const std::atomic<bool>& cancel) {
  RunSpec spec = key.run;
  spec.problem = sweep_problem(key, length);
  spec.algorithm = algorithm.name;
  spec.separate_heads = algorithm.splits_keys;  // as in its kernel
  spec.allow_overflow = true;                   // by the model's count a kernel's tiles may not fit
  const PassKind kernel_pass =
      spec.pass == PassKind::forward ? PassKind::forward : PassKind::backward;
  auto tiling =
      kernels::own_tiling(algorithm.name, kernel_pass, spec.problem, gpu.shared_bytes_per_block);
  if (!tiling && algorithm.takes_block_mask)
    tiling = kernels::own_tiling("flash2", kernel_pass, spec.problem, gpu.shared_bytes_per_block);
  if (tiling) spec.set_tiling(*tiling);
  if (!algorithm.takes_block_mask) spec.block_mask.reset();
  return resolve_and_simulate(spec, gpu, &cancel);
}

std::string setting(const AttentionProblem& problem) {
  return fmt::format("N = {}, N_kv = {}, {} heads in {} sequences", problem.N, problem.N_kv,
                     problem.heads, problem.batch);
}

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

bool is_time(ChartChoice chart) {
  return chart == ChartChoice::time || chart == ChartChoice::recorded_time;
}
bool is_memory(ChartChoice chart) {
  return chart == ChartChoice::memory || chart == ChartChoice::recorded_memory;
}

std::optional<double> total(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

/// A chart under construction, and its data.
struct Making {
  const SizeSweep& sweep;
  ChartChoice quantity;
  const GpuDescription& gpu;
  const Measurements& measurements;
  const Theme& theme;
  draw::Chart chart = {};

  std::string print(double value) const {
    return is_time(quantity) ? draw::format_seconds(value) : draw::format_bytes(value);
  }

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
      const std::optional<double> value = run != nullptr ? value_of(*run) : std::nullopt;
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
    add_seen(algorithm, "requested", draw::Marker::circle, [](const MeasuredRun& run) {
      return total(run.counter(counter::kRequestedReadBytes),
                   run.counter(counter::kRequestedWriteBytes));
    });
    add_seen(algorithm, "DRAM", draw::Marker::square, [](const MeasuredRun& run) {
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
    if (!is_time(quantity) && !is_memory(quantity)) {
      line("requested, modelled", Sample::line);
      line("DRAM, operands and results once, modelled", Sample::dashed);
    } else {
      line(is_time(quantity) ? "at least, modelled" : "peak, modelled", Sample::line);
    }
  }
};

std::string title_of(ChartChoice chart, const SweepKey& key) {
  const std::string_view quantity =
      is_time(chart) ? "TIME" : (is_memory(chart) ? "MEMORY" : "BYTES");
  if (key.fixed_tokens) return fmt::format("{}, 16k TOKENS", quantity);
  return fmt::format("{} AGAINST {}", quantity, key.is_prefill() ? "N" : "N_kv");
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
  SweepKey own = key_of(problem.d, problem.dtype);
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

AttentionProblem sweep_problem(const SweepKey& key, Index length) {
  AttentionProblem problem = key.run.problem;
  problem.N_kv = length;
  if (key.is_prefill()) problem.N = length;
  if (key.fixed_tokens) problem.batch = std::max<Index>(kSweepTokens / length, 1);
  return problem;
}

std::vector<Index> sweep_lengths(const SweepKey& key) {
  constexpr Index kShortest = 256;
  const Index own = key.fixed_tokens ? kSweepTokens : key.run.problem.N_kv;
  const auto power = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(own)));
  std::vector<Index> lengths;
  for (Index length = std::min(kShortest, power); length <= std::max(own, kSweepTokens);
       length *= 2) {
    lengths.push_back(length);
  }
  if (power != own) lengths.insert(std::ranges::upper_bound(lengths, own), own);
  return lengths;
}

SizeSweep run_size_sweep(const SweepKey& key, const GpuDescription& gpu, WorkControl& control) {
  SizeSweep sweep;
  sweep.key = key;
  const std::vector<Index> lengths = sweep_lengths(key);
  std::size_t done = 0;
  const auto add_done = [&](std::size_t points) {
    done += points;
    control.set_progress(static_cast<double>(done) /
                         static_cast<double>(algorithms().size() * lengths.size()));
  };
  for (const Algorithm& algorithm : algorithms()) {
    const std::string name(algorithm.name);
    if (algorithm.splits_keys && key.is_prefill()) {
      sweep.left_out.push_back({name, "it is for decoding, with fewer queries than keys"});
      add_done(lengths.size());
      continue;
    }
    for (const Index length : lengths) {
      Result<SimulationReport> report =
          report_at(key, length, algorithm, gpu, control.cancel_flag());
      if (control.cancelled()) return sweep;
      if (report) {
        sweep.points.push_back({length, std::move(report).value()});
      } else if (sweep.left_out.empty() || sweep.left_out.back().algorithm != name) {
        sweep.left_out.push_back({name, words(report.error(), Reader::screen)});
      }
      add_done(1);
    }
  }
  return sweep;
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
    if (is_time(quantity)) {
      making.add_modelled(algorithm.name, "at least", false,
                          [](const SimulationReport& model) { return model.bound_s; });
      making.add_seen(algorithm.name, "time", draw::Marker::circle,
                      [](const MeasuredRun& run) { return run.time_s(); });
    } else if (is_memory(quantity)) {
      making.add_modelled(algorithm.name, "peak", false,
                          [](const SimulationReport& model) { return model.peak_hbm_bytes; });
    } else {
      making.add_bytes(algorithm.name);
    }
  }
  if (is_memory(quantity)) making.add_memory_limits();
  if (is_time(quantity)) {
    fit_y(chart, "seconds", 5, [](double value) { return draw::format_tick(value, "s"); });
  } else {
    fit_y(chart, "bytes", 5, bytes_tick);
  }
  shown.picture = std::move(chart);
  return shown;
}

}  // namespace attnscope::app
