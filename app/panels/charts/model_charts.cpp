#include "app/panels/charts/charts.h"

#include <fmt/format.h>

#include "app/draw/format.h"

namespace attnscope::app {

namespace {

constexpr Index kShortestSequence = 512;
constexpr Index kLongestSequence = Index{1024} * 1024;
/// Curves end at this many times the device's memory.
constexpr double kFarBeyond = 8.0;

ModelQuestion question_of(const ModelKey& key, const GpuDescription& gpu) {
  ModelQuestion question = usual_model(key.mode);
  question.capacity_bytes = gpu.hbm_bytes;
  question.weights_bytes = estimated_weights_bytes(question);
  return question;
}

/// The colour of the choice's algorithm; a variant, which is shown beside it, has a different
/// colour.
ImU32 choice_color(const Theme& theme, const AttentionChoice& choice) {
  const bool as_it_is = choice.variant == ScheduleVariant{};
  return as_it_is ? algorithm_color(theme, choice.algorithm) : tensor_text_color(theme, "O");
}

draw::Series series_of(const ModelCurve& curve, const Theme& theme) {
  draw::Series series;
  series.name = curve.choice.name + ", peak (modelled)";
  series.color = choice_color(theme, curve.choice);
  for (const auto& [N, bytes] : curve.peak_bytes) {
    series.points.push_back(
        {static_cast<double>(N), bytes,
         fmt::format(
             "{}: {} modelled at N = {}\nthe longest that fits: {}", curve.choice.name,
             draw::format_bytes(bytes), draw::format_count(N),
             curve.largest_length > 0 ? draw::format_count(curve.largest_length) : "none")});
  }
  return series;
}

}  // namespace

Result<std::vector<ModelCurve>> count_models(const ModelKey& key, const GpuDescription& gpu,
                                             WorkControl& control) {
  ModelQuestion question = question_of(key, gpu);
  std::vector<ModelCurve> curves;
  for (const AttentionChoice& choice : attention_choices()) {
    // Without a backward pass, checkpointing changes nothing
    if (key.mode == ModelMode::inference && choice.variant.checkpoint) continue;
    if (control.cancelled()) return cancelled();
    ModelCurve curve{choice, {}, largest_length(choice, question)};
    for (Index N = kShortestSequence; N <= kLongestSequence; N *= 2) {
      question.problem.N = question.problem.N_kv = N;
      const auto peak = model_peak_bytes(choice, question);
      if (peak) curve.peak_bytes.emplace_back(N, *peak);
      if (!peak || *peak > kFarBeyond * static_cast<double>(gpu.hbm_bytes)) break;
    }
    curves.push_back(std::move(curve));
    control.set_progress(static_cast<double>(curves.size()) / 4.0);
  }
  return curves;
}

ShownChart model_chart(const ModelKey& key, const std::vector<ModelCurve>& curves,
                       const GpuDescription& gpu, const Theme& theme) {
  const ModelQuestion question = question_of(key, gpu);
  const AttentionProblem& problem = question.problem;
  ShownChart shown;
  shown.title = "MODEL MEMORY AGAINST N";
  shown.subtitle =
      fmt::format("a separate model: {}, {} layers, H {}, d {}, {}, B 1", to_string(key.mode),
                  question.layers, problem.heads, problem.d, to_string(problem.dtype));
  shown.about = fmt::format(
      "modelled: weights {}, the tensors that every other layer keeps, and the larger pass of one "
      "layer's "
      "attention\nactivations outside attention, fragmentation and the framework are not counted\n"
      "as a table: attnscope-cli fits --batch 1",
      draw::format_bytes(question.weights_bytes));
  draw::Chart chart;
  chart.x = {"N: tokens per sequence", true, kShortestSequence / 1.2, kLongestSequence * 1.2};
  for (Index N = 2 * kShortestSequence; N <= kLongestSequence; N *= 4) {
    chart.x_ticks.push_back({static_cast<double>(N), draw::format_size(N)});
  }
  for (const ModelCurve& curve : curves) {
    add_series(
        chart, series_of(curve, theme),
        fmt::format("{}: {}", curve.choice.name,
                    curve.largest_length > 0 ? "N up to " + draw::format_count(curve.largest_length)
                                             : "none fits"));
  }
  add_capacity(chart, {kShortestSequence, kLongestSequence}, gpu, theme);
  chart.legend.push_back({"lines modelled", 0, draw::LegendEntry::Sample::none, {}});
  fit_y(chart, "bytes", 6, bytes_tick);
  shown.picture = std::move(chart);
  return shown;
}

}  // namespace attnscope::app
