#include "app/panels/theorem_charts.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/draw/format.h"
#include "reference/capacity_text.h"

namespace attnscope::app {

namespace {

/// A chart of the theorems: what lies on its axis, and its words.
struct AxisEntry {
  ChartChoice chart;
  IoAxis axis;
  std::string_view title;
  std::string_view name;
};

constexpr AxisEntry kAxes[] = {
    {ChartChoice::io_seq_len, IoAxis::seq_len, "REQUESTED BYTES AGAINST N",
     "N: queries and keys of a head"},
    {ChartChoice::io_head_dim, IoAxis::head_dim, "REQUESTED BYTES AGAINST d",
     "d: elements of a query, key or value"},
    {ChartChoice::io_sram, IoAxis::sram_bytes, "REQUESTED BYTES AGAINST SRAM",
     "shared memory of a thread block, bytes (M elements)"},
    {ChartChoice::io_block_cols, IoAxis::block_cols, "REQUESTED BYTES AGAINST BLOCK SIZE",
     "Bc: keys of a tile; Br = min(Bc, d), M = 4 d Bc"},
    {ChartChoice::io_density, IoAxis::density, "REQUESTED BYTES AGAINST DENSITY",
     "s: share of the tiles that the block mask keeps"},
};

/// On the axis: the value that was drawn, where that differs from the one asked.
double x_of(IoAxis axis, const IoPoint& point) {
  return axis == IoAxis::density ? point.density : point.value;
}

std::string tick_label(IoAxis axis, double value) {
  if (axis == IoAxis::density) return fmt::format("{:.3g} %", 100.0 * value);
  const auto size = static_cast<Index>(value);
  return axis == IoAxis::sram_bytes ? capacity_text(size) : draw::format_size(size);
}

/// What one line or row of points shows.
struct Curve {
  std::string name;
  std::optional<double> (*value_of)(const IoPoint& point);  ///< nothing where it is not drawn
  std::string kind;       ///< "modelled: counted from the schedule"
  std::string note = {};  ///< a line more of its points
};

std::optional<double> counted_bytes(const IoPoint& point) {
  return static_cast<double>(point.counted.requested.total());
}
std::optional<double> standard_bytes(const IoPoint& point) {
  return static_cast<double>(point.standard_bytes);
}
std::optional<double> formula_bytes(const IoPoint& point) {
  return point.formula_bytes;
}
std::optional<double> leading_term_bytes(const IoPoint& point) {
  return point.in_range ? std::optional(point.leading_term_bytes) : std::nullopt;
}
std::optional<double> lower_bound_order_bytes(const IoPoint& point) {
  return point.lower_bound_order_bytes;
}
std::optional<double> compulsory_bytes(const IoPoint& point) {
  return point.compulsory_bytes;
}

draw::Series series_of(const Curve& curve, IoAxis axis, const TheoremPoints& points) {
  draw::Series series;
  series.name = fmt::format("{} ({})", curve.name, curve.kind);
  for (const IoPoint& point : points) {
    const std::optional<double> value = curve.value_of(point);
    if (!value) continue;
    const Tiling& tiling = point.counted.run.tiling;
    series.points.push_back(
        {x_of(axis, point), *value,
         fmt::format(
             "{}: {}\n{}{}\n{}, M = {} elements, tiles {} × {}, s = {:.4g}{}", curve.name,
             draw::format_bytes(*value), curve.kind, curve.note,
             tick_label(axis, x_of(axis, point)), point.sram_elems, tiling.Br, tiling.Bc,
             point.density,
             point.in_range ? "" : "\noutside d <= M <= N d, where the theorems make no claim")});
  }
  return series;
}

/// A series without a point is left out, of the legend as well.
void add(draw::Chart& chart, draw::Series series, const std::string& legend,
         draw::LegendEntry::Sample sample) {
  if (series.points.empty()) return;
  chart.legend.push_back({legend, series.color, sample, series.marker});
  chart.series.push_back(std::move(series));
}

/// The leading term of the closed form: 3 or 5 matrices of N d elements a column tile.
Curve leading_curve(const TheoremKey& key) {
  const bool sparse = key.axis == IoAxis::density;
  const int factor = key.run.pass == PassKind::forward ? 12 : 20;
  const std::string_view theorem =
      sparse ? "Proposition 4" : (key.run.pass == PassKind::forward ? "Theorem 2" : "Theorem 5");
  return {fmt::format("{} N²d²{}/M", factor, sparse ? " s" : ""), leading_term_bytes,
          fmt::format("formula: leading term of the closed form; {} comes from Bc = M/4d", factor),
          fmt::format("\n{} states only the order, Θ({})", theorem,
                      sparse ? "N d + N²d² s/M" : "N²d²/M")};
}

/// N^2 d^2 / M, and what is proven of it.
Curve bound_curve(const TheoremKey& key) {
  if (key.axis == IoAxis::density) {
    return {"N²d² s/M", lower_bound_order_bytes,
            "order of the dense lower bound times s: not a proven bound"};
  }
  const std::string_view proposition =
      "Proposition 3 of FlashAttention excludes only o(N²d²/M) for all M in [d, N d] at once";
  return {"N²d²/M", lower_bound_order_bytes,
          "theorem: order of the lower bound for M ≥ d²; its constant is open, here 1",
          fmt::format("\nSaha and Ye, arXiv 2402.07443{}",
                      key.run.pass == PassKind::backward ? ": stated for the forward pass alone"
                                                         : fmt::format("\n{}", proposition))};
}

void add_curves(draw::Chart& chart, const TheoremKey& key, const TheoremPoints& points,
                const Theme& theme) {
  using Sample = draw::LegendEntry::Sample;
  const bool sparse = key.axis == IoAxis::density;
  const std::string_view algorithm = sparse ? "block_sparse" : "flash1";
  const std::string counted_words = "modelled: counted from the schedule";

  draw::Series standard = series_of({"standard", standard_bytes, counted_words}, key.axis, points);
  standard.color = tensor_text_color(theme, "alpha");
  standard.marker = draw::Marker::square;
  add(chart, std::move(standard), "standard, counted", Sample::marker);

  draw::Series formula =
      series_of({"closed form, every term", formula_bytes, "formula of Algorithm 1, 4 or 5"},
                key.axis, points);
  formula.color = tensor_text_color(theme, "m");
  draw::Series counted =
      series_of({std::string(algorithm), counted_bytes, counted_words}, key.axis, points);
  counted.color = tensor_text_color(theme, "m");
  counted.line = false;
  counted.marker = draw::Marker::circle;
  add(chart, std::move(formula), fmt::format("{}, closed form", algorithm), Sample::line);
  add(chart, std::move(counted), fmt::format("{}, counted", algorithm), Sample::marker);

  const Curve leading = leading_curve(key);
  draw::Series leading_term = series_of(leading, key.axis, points);
  leading_term.color = theme.accent;
  leading_term.dashed = true;
  add(chart, std::move(leading_term), leading.name + ": leading term", Sample::dashed);

  draw::Series bound = series_of(bound_curve(key), key.axis, points);
  bound.color = theme.error;
  bound.dashed = true;
  add(chart, std::move(bound),
      sparse ? "N²d² s/M: dense order × s" : "N²d²/M: order of the lower bound", Sample::dashed);

  draw::Series compulsory =
      series_of({"inputs and outputs once", compulsory_bytes, "formula: no algorithm moves less"},
                key.axis, points);
  compulsory.color = theme.text_faint;
  add(chart, std::move(compulsory), "inputs and outputs once", Sample::line);
}

/// Where a kernel's run lies on the axis; nothing where the axis is not about its tiles.
std::optional<double> x_of_run(const TheoremKey& key, const GpuDescription& gpu,
                               const MeasuredRun& run) {
  const MeasuredOn& on = run.provenance.on;
  if (!describes(gpu, on.device) || on.cache != CacheState::cold) return std::nullopt;
  const ResolvedRun& seen = run.row.run;
  AttentionProblem alike = key.run.problem;
  alike.batch = seen.problem.batch;
  alike.heads = alike.kv_heads = seen.problem.heads;
  const bool same = seen.tiling.Br > 0 && seen.algorithm() == "flash1" &&
                    seen.pass() == key.run.pass && seen.asked.variant.carry == Carry::problem &&
                    seen.problem == alike;
  if (!same) return std::nullopt;
  const Index Bc = seen.tiling.Bc;
  if (key.axis == IoAxis::block_cols) return static_cast<double>(Bc);
  if (key.axis != IoAxis::sram_bytes) return std::nullopt;
  return static_cast<double>(4 * alike.d * Bc * size_bytes(alike.dtype));
}

void add_runs(draw::Chart& chart, const TheoremKey& key, const GpuDescription& gpu,
              const Measurements& measurements, const Theme& theme) {
  draw::Series series;
  series.color = theme.good;
  series.line = false;
  series.marker = draw::Marker::cross;
  for (const auto* runs : {&measurements.recorded, &measurements.measured}) {
    for (const MeasuredRun& run : *runs) {
      const std::optional<double> x = x_of_run(key, gpu, run);
      const auto read = run.requested_read_bytes();
      const auto written = run.requested_write_bytes();
      if (!x || !read || !written) continue;
      const Index heads = run.row.run.problem.batch * run.row.run.problem.heads;
      const Index shown_heads = key.run.problem.batch * key.run.problem.heads;
      const double bytes =
          (*read + *written) * static_cast<double>(shown_heads) / static_cast<double>(heads);
      series.name =
          fmt::format("flash1, {} on {}", to_string(run.provenance.kind), run.provenance.gpu());
      series.points.push_back(
          {*x, bytes,
           fmt::format("flash1: {}, requested\n{} of the run's {} heads, tiles {} × {}\n{}",
                       draw::format_bytes(bytes), shown_heads, heads, run.row.run.tiling.Br,
                       run.row.run.tiling.Bc, run.provenance.describe())});
    }
  }
  const std::string name = series.name;
  add(chart, std::move(series), name, draw::LegendEntry::Sample::marker);
}

/// The problem in one line, without what lies on the axis.
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
                  .sram_bytes = gpu.shared_bytes_per_block}};
}

std::optional<IoAxis> io_axis_of(ChartChoice chart) {
  const auto* found = std::ranges::find(kAxes, chart, &AxisEntry::chart);
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
    auto point = io_curve(question, &control.cancel_flag());
    if (!point) return point.error();
    points.push_back(std::move(point.value().front()));
    control.set_progress(static_cast<double>(points.size()) / static_cast<double>(values.size()));
  }
  return points;
}

ShownChart theorem_chart(const TheoremKey& key, const TheoremPoints& points,
                         const GpuDescription& gpu, const Measurements& measurements,
                         const Theme& theme) {
  const AxisEntry& axis = *std::ranges::find(kAxes, key.axis, &AxisEntry::axis);
  ShownChart shown;
  shown.title = axis.title;
  shown.subtitle = fmt::format("{}, {}", problem_words(key), gpu.display_name);
  if (key.axis == IoAxis::density && !points.empty()) {
    shown.subtitle += "; " + density_sram_words(points.front());
  }
  if (std::ranges::none_of(points, &IoPoint::in_range)) {
    shown.subtitle += "; outside d <= M <= N d the theorems make no claim";
  } else if (!std::ranges::all_of(points, &IoPoint::in_range)) {
    shown.subtitle += "; leading term: only d <= M <= N d";
  }
  shown.about = fmt::format(
      "the screen's problem without masks and score functions, every head with its own keys, "
      "all heads together; bytes as the paper counts them, HBM read and written; tiles by the "
      "paper's rule Bc = ceil(M/4d), Br = min(Bc, d), M elements of SRAM\nthe same as a table: {}",
      command_of(key));
  draw::Chart chart;
  chart.x = {std::string(axis.name), true, 1.0, 10.0};
  chart.y.name = "bytes";
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
  draw::fit_decades(chart.y, chart.series);
  chart.y_ticks =
      draw::ticks(chart.y, 6, [](double value) { return draw::format_tick(value, "B"); });
  shown.picture = std::move(chart);
  return shown;
}

}  // namespace attnscope::app
