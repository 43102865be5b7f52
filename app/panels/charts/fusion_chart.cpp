#include "app/panels/charts/charts.h"

#include <fmt/format.h>

#include "app/draw/format.h"
#include "app/report/report_text.h"

namespace attnscope::app {

namespace {

struct Colors {
  ImU32 read, written, statistics;
};

Colors colors_of(const Theme& theme) {
  return {tensor_color(theme, "Q"), tensor_color(theme, "K"), theme.text_faint};
}

/// The bytes of a launch, not counting tensors with one number per row.
Bytes matrices_of(const LaunchReport& launch) {
  const Bytes statistics = statistics_of(launch.by_tensor);
  return {launch.paper.read_bytes - statistics.read_bytes,
          launch.paper.write_bytes - statistics.write_bytes, 0};
}

/// Lists the launches of both passes, and marks the one under the mouse.
std::string list_launches(const FusionStep& step, const LaunchReport* pointed) {
  std::string lines;
  for (const SimulationReport* report : {&step.forward, &step.backward}) {
    lines += fmt::format("\n{}: {}", to_string(report->run.pass()),
                         draw::format_bytes(report->paper.total()));
    for (const LaunchReport& launch : report->launches) {
      lines += fmt::format("\n   {} {}: {} read, {} written", &launch == pointed ? "›" : "·",
                           launch_words(launch.name), draw::format_bytes(launch.paper.read_bytes),
                           draw::format_bytes(launch.paper.write_bytes));
    }
  }
  return lines;
}

std::string about_step(const FusionStep& step, const LaunchReport* pointed) {
  const std::string unfit = overflow_words(step);
  return fmt::format("{}: {} modelled, {} launches\n{}{}\n{} of these for m, l, LSE and D{}{}",
                     step.words, draw::format_bytes(step.paper_bytes()), step.launches(), step.idea,
                     list_launches(step, pointed), draw::format_bytes(step.statistic_bytes()),
                     unfit.empty() ? "" : "\n", unfit);
}

void add_launches(draw::Bar& bar, const FusionStep& step, const SimulationReport& report,
                  const Colors& colors) {
  const bool backward = report.run.pass() == PassKind::backward;
  for (const LaunchReport& launch : report.launches) {
    const Bytes bytes = matrices_of(launch);
    const std::string about = about_step(step, &launch);
    const auto part = [&](std::string_view direction, Index value, ImU32 color, bool begins) {
      bar.segments.push_back({fmt::format("{} {} {}", to_string(report.run.pass()),
                                          launch_words(launch.name), direction),
                              static_cast<double>(value), color, backward, begins, about});
    };
    part("read", bytes.read_bytes, colors.read, true);
    part("written", bytes.write_bytes, colors.written, false);
  }
}

draw::Bar bar_of(const FusionStep& step, bool figure2, const Colors& colors) {
  draw::Bar bar;
  bar.name = step.words;
  if (!step.refused.empty()) {
    bar.refused = true;
    bar.label = "not counted: no launch for soft-capping or ALiBi";
    bar.about = words(step.refused, Reader::screen);
    return bar;
  }
  bar.about = about_step(step, nullptr);
  add_launches(bar, step, step.forward, colors);
  add_launches(bar, step, step.backward, colors);
  bar.segments.push_back({"m, l, LSE, D", static_cast<double>(step.statistic_bytes()),
                          colors.statistics, false, true, bar.about});
  bar.label = draw::format_si(step.matrix_bytes(), "B");
  if (figure2) {
    bar.label = fmt::format("{:.4g} GB", static_cast<double>(step.matrix_bytes()) / 1e9);
    bar.mark = figure2_printed_bytes(step);
  }
  if (!overflow_words(step).empty()) bar.label += " · its tiles do not fit in SRAM";
  if (bar.mark) bar.label += fmt::format(" · the figure prints {:.3g}", *bar.mark / 1e9);
  return bar;
}

}  // namespace

FusionKey figure2_key(std::string gpu) {
  return fusion_key(figure2_problem(), kFigure2Tiling, std::move(gpu));
}

FusionKey fusion_key(const AttentionProblem& problem, const Tiling& tiling, std::string gpu) {
  FusionKey key{.problem = problem, .gpu = std::move(gpu)};
  key.problem.block_mask = nullptr;
  key.set_tiling(tiling);
  return key;
}

Result<std::vector<FusionStep>> count_fusion(const FusionKey& key, const GpuDescription& gpu,
                                             WorkControl& control) {
  const auto may_continue = [&control](double done) {
    control.set_progress(done);
    return !control.cancelled();
  };
  return fusion_steps(key.problem, *key.tiling(), gpu, may_continue, &control.cancel_flag());
}

ShownChart fusion_chart(const FusionKey& key, const std::vector<FusionStep>& steps,
                        const Theme& theme) {
  const AttentionProblem& problem = key.problem;
  const Tiling tiling = *key.tiling();
  const bool figure2 = problem == figure2_problem() && tiling == kFigure2Tiling;
  const Colors colors = colors_of(theme);
  ShownChart shown;
  shown.title = figure2 ? "FUSION, FIGURE 2" : "FUSION, STEP BY STEP";
  const std::string_view padding = problem.key_lengths.empty() ? "" : ", key padding mask";
  shown.subtitle =
      fmt::format("{}B {}, H {}, N {}, d {}, {}{}, tiles {} × {}",
                  figure2 ? "the figure's problem: " : "", problem.batch, problem.heads, problem.N,
                  problem.d, to_string(problem.dtype), padding, tiling.Br, tiling.Bc);
  const std::string left_out = left_out_of_fusion(problem);
  if (!left_out.empty()) shown.subtitle += "; " + left_out;
  shown.about = fmt::format(
      "bytes read and written as the papers count them, forward and backward pass, all heads; mask "
      "{}{}, "
      "dropout {}\n{}as a table: attnscope-cli fusion",
      to_string(problem.mask), padding, problem.score.dropout.probability,
      figure2 ? fmt::format("{}\n", kFigure2Note) : "");
  if (const std::string why = why_flash2_moves_more(steps, tiling); !why.empty()) {
    shown.about += "\n" + why;
  }
  draw::BarChart chart;
  chart.axis.name = "bytes as in the papers, forward and backward";
  chart.mark_color = theme.error;
  chart.legend = {{"read", colors.read, draw::LegendEntry::Sample::surface, {}},
                  {"written", colors.written, draw::LegendEntry::Sample::surface, {}},
                  {"backward: hatched", theme.text_dim, draw::LegendEntry::Sample::hatched, {}},
                  {"m, l, LSE, D: not in the totals",
                   colors.statistics,
                   draw::LegendEntry::Sample::surface,
                   {}}};
  if (figure2) {
    chart.legend.push_back(
        {"printed in Figure 2", theme.error, draw::LegendEntry::Sample::mark, {}});
  }
  chart.legend.push_back({"bars: all modelled", 0, draw::LegendEntry::Sample::none, {}});
  for (const FusionStep& step : steps) chart.bars.push_back(bar_of(step, figure2, colors));
  draw::fit_from_zero(chart.axis, chart.bars);
  chart.ticks = draw::ticks(chart.axis, 5, bytes_tick);
  chart.tick_label = bytes_tick;
  shown.picture = std::move(chart);
  return shown;
}

}  // namespace attnscope::app
