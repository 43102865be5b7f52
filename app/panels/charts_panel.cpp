#include "app/panels/charts_panel.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/draw/shapes.h"
#include "app/draw/text.h"
#include "app/panels/panel_tabs.h"
#include "app/panels/snapshot_view.h"

namespace attnscope::app {

namespace {

std::string_view title_of(ChartQuantity quantity) {
  switch (quantity) {
    case ChartQuantity::bytes:
      return "BYTES AGAINST N";
    case ChartQuantity::time:
      return "TIME AGAINST N";
    case ChartQuantity::memory:
      return "MEMORY AGAINST N";
  }
  return "";
}

std::string_view file_word(ChartQuantity quantity) {
  switch (quantity) {
    case ChartQuantity::bytes:
      return "bytes";
    case ChartQuantity::time:
      return "time";
    case ChartQuantity::memory:
      return "memory";
  }
  return "";
}

/// One line of the legend: a sample of the series and its name.
struct LegendLine {
  const draw::Series* series;
  std::string label;
};

/// Recorded series of one kind share a line: the colours repeat those of the modelled ones.
std::vector<LegendLine> legend_lines(const draw::Chart& chart) {
  std::vector<LegendLine> lines;
  std::vector<std::string> kinds;
  for (const draw::Series& series : chart.series) {
    if (series.line) lines.push_back({&series, series.name});
  }
  for (const draw::Series& series : chart.series) {
    if (series.line) continue;
    const std::string::size_type space = series.name.find(' ');
    const bool of_algorithm = series.name.find(", ") != std::string::npos;
    std::string kind = of_algorithm ? series.name.substr(space + 1) : series.name;
    if (std::ranges::find(kinds, kind) != kinds.end()) continue;
    kinds.push_back(kind);
    lines.push_back({&series, std::move(kind)});
  }
  return lines;
}

}  // namespace

void ChartsPanel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  if (!has_run(snapshot, context, "CHARTS")) return;
  const RunInfo& run = *snapshot.run;
  const SweepKey key =
      charted_key(run.problem, run.gpu.name, run.totals.pass, context.measurements);
  sweep_.want(key, run.gpu);
  const bool own = key.d == run.problem.d && key.dtype == run.problem.dtype;
  const std::string subtitle = fmt::format(
      "{}{}d = {}, {}, {}16k tokens", own ? "" : "as recorded: ",
      key.pass == PassKind::forward ? "" : fmt::format("{}, ", to_string(key.pass)), key.d,
      to_string(key.dtype), key.mask.is_none() ? "" : to_string(key.mask) + ", ");
  const Rect rest = draw_panel_header(context, title_of(view.chart_quantity), subtitle, {});
  view.chart_quantity = static_cast<ChartQuantity>(draw_header_tabs(
      context, "charts", {"bytes", "time", "memory"}, static_cast<int>(view.chart_quantity)));

  const draw::Canvas canvas = canvas_of(context);
  const SizeSweep* sweep = sweep_.latest();
  if (sweep == nullptr) {
    draw::text(canvas, context.fonts.small, rest.min, context.theme.text_faint,
               "modelling three algorithms at seven lengths…");
    return;
  }
  const draw::Chart chart =
      size_chart(*sweep, view.chart_quantity, run.gpu, context.measurements, context.theme);
  const float legend = draw_legend(context, rest, chart, view.chart_quantity);
  const Rect plot{rest.min, {rest.max.x - legend, rest.max.y + canvas.px(4.0f)}};
  const draw::ChartPoint* near = draw::draw_chart(canvas, plot, chart);
  if (near != nullptr) tooltip(context, near->about);
  if (!(sweep->key == key)) {
    draw::text(canvas, context.fonts.small, {plot.max.x, plot.min.y}, context.theme.warning,
               "of the last settings; modelling…", draw::Align::right);
  }
}

float ChartsPanel::draw_legend(const PanelContext& context, const Rect& rect,
                               const draw::Chart& chart, ChartQuantity quantity) const {
  const draw::Canvas canvas = canvas_of(context);
  const FontRef& font = context.fonts.small;
  const std::vector<LegendLine> lines = legend_lines(chart);
  const float sample = canvas.px(20.0f);
  float width = 0.0f;
  for (const LegendLine& line : lines) width = std::max(width, font.measure(line.label).x);
  width = std::min(width + sample + canvas.px(8.0f), 0.42f * rect.width());
  const float x = rect.max.x - width;

  // The buttons stand at the bottom; the lines share what is above
  const float buttons = draw::line_height(font) + canvas.px(4.0f);
  const float room = rect.height() - buttons;
  const float pitch = std::min(room / static_cast<float>(std::max<std::size_t>(lines.size(), 1)),
                               font.size * 1.45f);
  float y = rect.min.y;
  if (pitch >= font.size) {
    for (const LegendLine& line : lines) {
      const float middle = y + pitch * 0.5f;
      const draw::Series& series = *line.series;
      const ImVec2 from{x, middle};
      const ImVec2 to{x + sample - canvas.px(5.0f), middle};
      if (!series.line) {
        const ImU32 color =
            series.marker == draw::Marker::cross ? series.color : context.theme.text_dim;
        draw::draw_marker(canvas, series.marker, {(from.x + to.x) * 0.5f, middle}, color);
      } else if (series.dashed) {
        draw::dashed_line(canvas, from, to, series.color, canvas.px(1.8f), canvas.px(4.0f));
      } else {
        canvas.list->AddLine(from, to, series.color, canvas.px(2.0f));
      }
      draw::text(canvas, font, {x + sample, middle - font.size * 0.5f}, context.theme.text_dim,
                 draw::fitted(font, line.label, width - sample));
      y += pitch;
    }
  }
  ImVec2 at{rect.max.x + canvas.px(6.0f), rect.max.y - font.size};
  const TextButton save = draw_text_button(context, "charts.save", "save PNG", at, false);
  if (save.pressed) {
    const Rect& all = context.rect;
    context.commands.push(SavePicture{{all.min.x, all.min.y, all.max.x, all.max.y},
                                      fmt::format("attnscope-{}", file_word(quantity))});
  }
  at.x = save.left - canvas.px(2.0f);
  const TextButton copy = draw_text_button(context, "charts.copy", "copy CSV", at, false);
  if (copy.pressed) {
    context.commands.push(
        CopyText{draw::chart_csv(chart), std::string(title_of(quantity)) + " as CSV"});
  }
  return width + canvas.px(10.0f);
}

}  // namespace attnscope::app
