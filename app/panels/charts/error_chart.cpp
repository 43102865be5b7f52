#include "app/panels/charts/charts.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/draw/format.h"

namespace attnscope::app {

namespace {

constexpr Index kShortestRun = 64;
constexpr Index kLongestRun = 512;
constexpr Tiling kTiling{32, 32};

/// "flash1, O in HBM in fp32".
std::string name_of(const AccuracyCase& entry, std::string_view output) {
  if (!entry.has_carry) return entry.run.algorithm;
  return fmt::format(
      "{}, {} in HBM in {}", entry.run.algorithm, output,
      to_string(entry.run.variant.carry == Carry::fp32 ? DType::fp32 : entry.run.problem.dtype));
}

}  // namespace

ErrorKey error_key(const AttentionProblem& problem, PassKind pass, Carry carry) {
  ErrorKey key;
  key.problem.d = problem.d;
  key.problem.dtype = problem.dtype;
  if (problem.mask.is_causal()) key.problem.mask = Mask::causal();
  if (pass == PassKind::backward) key.pass = pass;
  key.variant.carry = carry;
  return key;
}

Result<std::vector<AccuracyCase>> count_errors(const ErrorKey& key, const GpuDescription& gpu,
                                               WorkControl& control) {
  AccuracyRequest request;
  request.problem = key.problem;
  for (Index N = kShortestRun; N <= kLongestRun; N *= 2) request.lengths.push_back(N);
  request.dtypes = {key.problem.dtype};
  request.carries = {key.variant.carry};
  request.pass = key.pass;
  request.tiling = kTiling;
  request.gpu = gpu;
  auto errors = accuracy_errors(request, [&control](double share) {
    control.set_progress(share);
    return !control.cancelled();
  });
  if (errors) control.set_progress(1.0);
  return errors;
}

ShownChart error_chart(const ErrorKey& key, const std::vector<AccuracyCase>& errors,
                       const Theme& theme) {
  const bool backward = key.pass == PassKind::backward;
  const std::string_view output = backward ? "dQ" : "O";
  ShownChart shown;
  shown.title = "ERROR AGAINST N";
  shown.subtitle =
      fmt::format("of {}: d {}, {}{}", output, key.problem.d, to_string(key.problem.dtype),
                  key.problem.mask.is_causal() ? ", causal" : "");
  const Carry carry = key.variant.carry;
  const std::string_view note = rounded_output_note("flash1", carry, key.problem.dtype);
  shown.about = fmt::format(
      "relative error against the reference in double, values rounded where a kernel rounds them; "
      "one head, gaussian inputs, 32 x 32 tiles\n"
      "flash1 keeps O (backward: dQ) in HBM between column tiles, here in {}{}{}\n"
      "as a table: attnscope-cli accuracy --carry {}",
      to_string(note.empty() ? DType::fp32 : key.problem.dtype), note.empty() ? "" : ":\n", note,
      to_string(carry));
  draw::Chart chart;
  chart.x = {"N: queries and keys per head", true, static_cast<double>(kShortestRun) / 1.2,
             static_cast<double>(kLongestRun) * 1.2};
  for (Index N = kShortestRun; N <= kLongestRun; N *= 2) {
    chart.x_ticks.push_back({static_cast<double>(N), draw::format_size(N)});
  }
  chart.y.name = fmt::format("relative error of {}", output);
  double largest = 0.0;
  for (const AccuracyCase& entry : errors) {
    const std::string name = name_of(entry, output);
    auto series = std::ranges::find(chart.series, name, &draw::Series::name);
    if (series == chart.series.end()) {
      add_series(chart,
                 {.name = name,
                  .color = algorithm_color(theme, entry.run.algorithm),
                  .dashed = entry.run.algorithm == "unfused"},
                 name);
      series = chart.series.end() - 1;
    }
    const ErrorReport& error = backward ? entry.dQ : entry.O;
    if (error.has_nan) continue;
    largest = std::max(largest, error.rel_fro_error);
    series->points.push_back(
        {static_cast<double>(entry.run.problem.N), error.rel_fro_error,
         fmt::format("{}, N = {}: relative error of {} {}, largest {}\nmodelled", name,
                     entry.run.problem.N, output, draw::format_error(error.rel_fro_error),
                     draw::format_error(error.max_abs_error))});
    if (entry.has_carry && !note.empty()) series->points.back().about += fmt::format("\n{}", note);
  }
  chart.legend.push_back({"all modelled", 0, draw::LegendEntry::Sample::none, {}});
  chart.y.logarithmic = false;
  chart.y.low = 0.0;
  chart.y.high = largest > 0.0 ? 1.1 * largest : 1.0;
  chart.y_label = [](double value) { return fmt::format("{:.2g}", value); };
  chart.y_ticks = draw::ticks(chart.y, 5, chart.y_label);
  shown.picture = std::move(chart);
  return shown;
}

}  // namespace attnscope::app
