#include "app/panels/charts/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/draw/format.h"
#include "reference/message_text.h"

namespace attnscope::app {

namespace {

/// A chart of the theorems: its axis, and its text.
struct AxisEntry {
  ChartAxis chart;
  IoAxis axis;
  std::string_view title;
  std::string_view name;
};

constexpr AxisEntry kAxes[] = {
    {ChartAxis::seq_len, IoAxis::seq_len, "PAPER'S BYTES AGAINST N",
     "N: queries and keys per head"},
    {ChartAxis::head_dim, IoAxis::head_dim, "PAPER'S BYTES AGAINST d",
     "d: elements per query, key or value"},
    {ChartAxis::sram, IoAxis::sram_bytes, "PAPER'S BYTES AGAINST SRAM",
     "SRAM per thread block, bytes (M elements)"},
    {ChartAxis::block_size, IoAxis::block_cols, "PAPER'S BYTES AGAINST BLOCK SIZE",
     "Bc: keys per tile; Br = min(Bc, d), M = 4 d Bc"},
    {ChartAxis::density, IoAxis::density, "PAPER'S BYTES AGAINST DENSITY",
     "s: share of the tiles that the block mask keeps"},
};

/// The value on the axis; a density is the mask's own, which may differ from the requested one.
double x_of(IoAxis axis, const IoPoint& point) {
  return axis == IoAxis::density ? point.density : point.value;
}

const AxisEntry& entry(IoAxis axis) {
  return *std::ranges::find(kAxes, axis, &AxisEntry::axis);
}

std::string tick_label(IoAxis axis, double value) {
  return axis_tick(entry(axis).chart, value);
}

/// The data of one line or row of points.
struct Curve {
  std::string name;
  std::string kind;       ///< "modelled: counted from the schedule"
  std::string note = {};  ///< an additional line in the text of its points
};

draw::ChartPoint chart_point(IoAxis axis, const Curve& curve, const IoPoint& point, double bytes) {
  const Tiling& tiling = point.counted.run.tiling;
  const double x = x_of(axis, point);
  return {
      x, bytes,
      fmt::format("{}: {}\n{}{}\n{}, M = {} elements, tiles {} × {}, s = {:.4g}{}", curve.name,
                  draw::format_bytes(bytes), curve.kind, curve.note, tick_label(axis, x),
                  point.sram_elems, tiling.Br, tiling.Bc, point.density,
                  point.in_range ? "" : "\noutside d ≤ M ≤ N d; the theorems make no claim there")};
}

/// The leading term of the closed form: 3 or 5 matrices of N d elements for each column tile.
Curve leading_curve(const TheoremKey& key) {
  const bool sparse = key.axis == IoAxis::density;
  const int factor = key.run.pass == PassKind::forward ? 12 : 20;
  const std::string_view theorem =
      sparse ? "Proposition 4" : (key.run.pass == PassKind::forward ? "Theorem 2" : "Theorem 5");
  return {fmt::format("{} N²d²{}/M", factor, sparse ? " s" : ""),
          fmt::format("formula: leading term of the closed form; {} comes from Bc = M/4d", factor),
          fmt::format("\n{} states only the order, Θ({})", theorem,
                      sparse ? "N d + N²d² s/M" : "N²d²/M")};
}

/// N^2 d^2 / M, and the proven statement about it.
Curve bound_curve(const TheoremKey& key) {
  if (key.axis == IoAxis::density) {
    return {"N²d² s/M", "order of the dense lower bound times s: not a proven bound"};
  }
  const std::string_view proposition =
      "Proposition 3 of FlashAttention excludes only o(N²d²/M) for all M in [d, N d] at once";
  return {"N²d²/M", "theorem: order of the lower bound for M ≥ d²; its constant is open, here 1",
          fmt::format("\nSaha and Ye, arXiv 2402.07443{}",
                      key.run.pass == PassKind::backward ? ": stated for the forward pass alone"
                                                         : fmt::format("\n{}", proposition))};
}

void add_curves(draw::Chart& chart, const TheoremKey& key, const TheoremPoints& points,
                const Theme& theme) {
  const bool sparse = key.axis == IoAxis::density;
  const std::string algorithm = sparse ? "block_sparse" : "flash1";
  const std::string counted = "modelled: counted from the schedule";
  const ImU32 flash_color = tensor_text_color(theme, "m");
  // Adds the curve in the style of `series`, unless it has no points
  const auto add = [&](const Curve& curve, const std::string& legend, draw::Series series,
                       const auto& value_of) {
    for (const IoPoint& point : points) {
      const std::optional<double> value = value_of(point);
      if (value) series.points.push_back(chart_point(key.axis, curve, point, *value));
    }
    if (series.points.empty()) return;
    series.name = fmt::format("{} ({})", curve.name, curve.kind);
    add_series(chart, std::move(series), legend);
  };
  add({"standard", counted,
       "\neach operand of its matrix products once: a kernel's tiles request some more than once"},
      "standard, counted",
      {.color = tensor_text_color(theme, "alpha"), .marker = draw::Marker::square},
      [](const IoPoint& point) { return static_cast<double>(point.standard_bytes); });
  add({"closed form, every term", "formula of Algorithm 1, 4 or 5"}, algorithm + ", closed form",
      {.color = flash_color}, [](const IoPoint& point) { return point.formula_bytes; });
  add({algorithm, counted}, algorithm + ", counted",
      {.color = flash_color, .line = false, .marker = draw::Marker::circle},
      [](const IoPoint& point) { return static_cast<double>(point.counted.requested.total()); });
  const Curve leading = leading_curve(key);
  add(leading, leading.name + ": leading term", {.color = theme.accent, .dashed = true},
      [](const IoPoint& point) {
        return point.in_range ? std::optional(point.leading_term_bytes) : std::nullopt;
      });
  add(bound_curve(key), sparse ? "N²d² s/M: dense order × s" : "N²d²/M: order of the lower bound",
      {.color = theme.error, .dashed = true},
      [](const IoPoint& point) { return point.lower_bound_order_bytes; });
  add({"inputs and outputs once", "formula: no algorithm moves less"}, "inputs and outputs once",
      {.color = theme.text_faint}, [](const IoPoint& point) { return point.compulsory_bytes; });
}

/// The value on the axis, Bc or SRAM, of a kernel's run; nothing on other axes or for other runs.
std::optional<double> x_of_run(const TheoremKey& key, const GpuDescription& gpu,
                               const MeasuredRun& run) {
  // The chart's run, with the heads and tiles of the kernel's run
  const ResolvedRun& seen = run.row.run;
  SimulationReport model;
  model.run = {.asked = key.run, .problem = key.run.problem, .tiling = seen.tiling};
  model.run.asked.algorithm = "flash1";
  AttentionProblem& problem = model.run.problem;
  problem.batch = seen.problem.batch;
  problem.heads = problem.kv_heads = seen.problem.heads;
  if (!difference(model, gpu, run.row, run.provenance.on).none()) return std::nullopt;
  const Index Bc = seen.tiling.Bc;
  if (key.axis == IoAxis::block_cols) return static_cast<double>(Bc);
  if (key.axis != IoAxis::sram_bytes) return std::nullopt;
  return static_cast<double>(4 * problem.d * Bc * size_bytes(problem.dtype));
}

void add_runs(draw::Chart& chart, const TheoremKey& key, const GpuDescription& gpu,
              const Measurements& measurements, const Theme& theme) {
  std::map<std::string, draw::Series> by_source;
  for (const auto* runs : {&measurements.recorded, &measurements.measured}) {
    for (const MeasuredRun& run : *runs) {
      const std::optional<double> x = x_of_run(key, gpu, run);
      const auto read = run.counter(counter::kRequestedReadBytes);
      const auto written = run.counter(counter::kRequestedWriteBytes);
      if (!x || !read || !written) continue;
      const Index heads = run.row.run.problem.batch * run.row.run.problem.heads;
      const Index shown_heads = key.run.problem.batch * key.run.problem.heads;
      const double bytes =
          (*read + *written) * static_cast<double>(shown_heads) / static_cast<double>(heads);
      const std::string name =
          fmt::format("flash1, {} on {}", to_string(run.provenance.kind), run.provenance.gpu());
      const bool is_recorded = run.provenance.kind == NumberKind::recorded;
      draw::Series& series =
          by_source
              .try_emplace(name, draw::Series{.name = name,
                                              .color = is_recorded ? theme.good : theme.accent,
                                              .line = false,
                                              .marker = draw::Marker::cross})
              .first->second;
      series.points.push_back(
          {*x, bytes,
           fmt::format("flash1: {}, requested\n{} of the run's {} heads, tiles {} × {}\n{}",
                       draw::format_bytes(bytes), shown_heads, heads, run.row.run.tiling.Br,
                       run.row.run.tiling.Bc, run.provenance.describe())});
    }
  }
  for (auto& [name, series] : by_source) add_series(chart, std::move(series), name);
}

/// The problem in one line, without the field on the axis.
std::string problem_words(const TheoremKey& key) {
  const AttentionProblem& problem = key.run.problem;
  std::string words(to_string(key.run.pass));
  if (key.axis != IoAxis::seq_len) {
    words += fmt::format(", N {}", problem.N);
    if (problem.N_kv != problem.N) words += fmt::format(", N_kv {}", problem.N_kv);
  }
  if (key.axis != IoAxis::head_dim) words += fmt::format(", d {}", problem.d);
  if (problem.batch > 1) words += fmt::format(", B {}", problem.batch);
  if (problem.heads > 1) words += fmt::format(", H {}", problem.heads);
  return words + fmt::format(", {}", to_string(problem.dtype));
}

/// The command that prints the same numbers.
std::string command_of(const TheoremKey& key) {
  const AttentionProblem& problem = key.run.problem;
  return fmt::format(
      "attnscope-cli io --over {} --pass {} --seq-len {} --kv-len {} --head-dim {} --batch {} "
      "--heads {} --dtype {}",
      to_string(key.axis), to_string(key.run.pass), problem.N, problem.N_kv, problem.d,
      problem.batch, problem.heads, to_string(problem.dtype));
}

}  // namespace

TheoremKey theorem_key(IoAxis axis, PassKind pass, const AttentionProblem& shown,
                       const GpuDescription& gpu) {
  return {.axis = axis,
          .run = {.problem = {.batch = shown.batch,
                              .heads = shown.heads,
                              .kv_heads = shown.heads,
                              .N = shown.N,
                              .N_kv = shown.N_kv,
                              .d = shown.d,
                              .dtype = shown.dtype},
                  .pass = pass == PassKind::backward ? PassKind::backward : PassKind::forward,
                  .gpu = gpu.name,
                  .what_if = {.sram_bytes = gpu.shared_bytes_per_block}}};
}

std::optional<IoAxis> io_axis_of(ChartAxis axis) {
  const auto* found = std::ranges::find(kAxes, axis, &AxisEntry::chart);
  return found != std::end(kAxes) ? std::optional(found->axis) : std::nullopt;
}

Result<TheoremPoints> count_theorems(const TheoremKey& key, const GpuDescription& gpu,
                                     WorkControl& control) {
  IoQuestion question{
      .problem = key.run.problem, .pass = key.run.pass, .gpu = gpu, .axis = key.axis, .values = {}};
  const std::vector<double> values = usual_values(key.axis);
  TheoremPoints points;
  for (const double value : values) {
    question.values = {value};
    ATTNSCOPE_TRY(auto point, io_curve(question, &control.cancel_flag()));
    points.push_back(std::move(point.front()));
    control.set_progress(static_cast<double>(points.size()) / static_cast<double>(values.size()));
  }
  return points;
}

ShownChart theorem_chart(const TheoremKey& key, const TheoremPoints& points,
                         const GpuDescription& gpu, const Measurements& measurements,
                         const Theme& theme) {
  const AxisEntry& axis = entry(key.axis);
  ShownChart shown;
  shown.title = axis.title;
  shown.subtitle = fmt::format("{}, {}", problem_words(key), gpu.display_name);
  if (key.axis == IoAxis::density && !points.empty()) {
    shown.subtitle += "; " + density_sram_words(points.front());
  } else if (key.axis == IoAxis::seq_len || key.axis == IoAxis::head_dim) {
    const auto [least, most] = std::ranges::minmax(points, {}, &IoPoint::sram_elems);
    if (least.sram_elems == most.sram_elems) {
      shown.subtitle += fmt::format("; M = {} elements", draw::format_count(least.sram_elems));
    }
  }
  if (std::ranges::none_of(points, &IoPoint::in_range)) {
    shown.subtitle += "; the theorems make no claim outside d ≤ M ≤ N d";
  } else if (!std::ranges::all_of(points, &IoPoint::in_range)) {
    shown.subtitle += "; leading term: only d ≤ M ≤ N d";
  }
  shown.about = fmt::format(
      "the problem on the screen without masks and score functions, every head with its own keys, "
      "all heads together; bytes as the paper counts them, read and written; tiles by the "
      "paper's rule Bc = ceil(M/4d), Br = min(Bc, d), M elements of SRAM\nas a table: {}",
      command_of(key));
  draw::Chart chart;
  chart.x = {std::string(axis.name), true, 1.0, 10.0};
  if (!points.empty()) {
    const auto [low, high] = std::ranges::minmax(
        points, {}, [&](const IoPoint& point) { return x_of(key.axis, point); });
    chart.x.low = x_of(key.axis, low) / 1.15;
    chart.x.high = x_of(key.axis, high) * 1.15;
  }
  for (const IoPoint& point : points) {
    const double x = x_of(key.axis, point);
    chart.x_ticks.push_back({x, tick_label(key.axis, x)});
  }
  add_curves(chart, key, points, theme);
  add_runs(chart, key, gpu, measurements, theme);
  fit_y(chart, "bytes", 6, bytes_tick);
  shown.picture = std::move(chart);
  return shown;
}

}  // namespace attnscope::app
