#include <fmt/format.h>

#include <algorithm>

#include "app/draw/chart.h"
#include "app/draw/wordings.h"

namespace attnscope::app::draw {

namespace {

double sum(const Bar& bar) {
  double value = 0.0;
  for (const BarSegment& segment : bar.segments) value += segment.value;
  return value;
}

/// The layout of a bar chart.
struct Bars {
  Rect area;  ///< between the names and the end of the axis
  float pitch = 0.0f;
  float names = 0.0f;  ///< left edge of the names
  bool axis_name = true;
  ZoomedAxis visible = {};  ///< part of the axis

  float x(const BarChart& chart, double value) const {
    const double position = visible.position(static_cast<double>(chart.axis.position(value)));
    return area.min.x + area.width() * static_cast<float>(position);
  }
  /// x(), or the nearer end of the area if the value is not visible.
  float visible_x(const BarChart& chart, double value) const {
    return std::clamp(x(chart, value), area.min.x, area.max.x);
  }
};

Bars lay_out(const Canvas& canvas, const Rect& rect, const BarChart& chart) {
  const FontRef& font = canvas.fonts.small;
  float names = 0.0f;
  for (const Bar& bar : chart.bars) names = std::max(names, font.measure(bar.name).x);
  names = std::min(names, 0.45f * rect.width());

  // Leave out the name of the axis if the bars need its line
  const auto count = static_cast<float>(std::max<std::size_t>(chart.bars.size(), 1));
  const float line = line_height(font);
  const float room = rect.height() - 2.0f * line;
  Bars bars;
  bars.axis_name = room / count >= font.size * 1.2f;
  bars.names = rect.min.x;
  bars.area = {{rect.min.x + names + canvas.px(8.0f), rect.min.y},
               {rect.max.x - canvas.px(4.0f), rect.max.y - (bars.axis_name ? 2.0f : 1.0f) * line}};
  bars.pitch = bars.area.height() / count;

  // End the axis so that every bar has room for its value after it
  const float whole = bars.area.width();
  float width = whole;
  for (const Bar& bar : chart.bars) {
    const float share = chart.axis.position(std::max(sum(bar), bar.mark.value_or(0.0)));
    const float room_for_bar = whole - font.measure(bar.label).x - canvas.px(11.0f);
    if (share > 0.0f) width = std::min(width, room_for_bar / share);
  }
  bars.area.max.x = bars.area.min.x + std::max(width, 0.4f * whole);
  return bars;
}

void draw_axis(const Canvas& canvas, const Rect& rect, const Bars& bars, const BarChart& chart) {
  const FontRef& font = canvas.fonts.small;
  const Theme& theme = canvas.theme;
  const Rect& area = bars.area;
  float free_x = rect.min.x;
  for (const Tick& tick : visible_ticks(chart.axis, chart.ticks, bars.visible, chart.tick_label)) {
    const float x = bars.x(chart, tick.value);
    canvas.list->AddLine({x, area.min.y}, {x, area.max.y}, theme.grid);
    const float half = font.measure(tick.label).x * 0.5f;
    if (x - half < free_x || x + half > rect.max.x) continue;
    text(canvas, font, {x, area.max.y + canvas.px(2.0f)}, theme.text_faint, tick.label,
         Align::center);
    free_x = x + half + canvas.px(6.0f);
  }
  canvas.list->AddLine({area.min.x, area.min.y}, {area.min.x, area.max.y}, theme.text_faint);
  if (!bars.axis_name) return;
  text(canvas, font, {area.center().x, rect.max.y - font.size}, theme.text_faint,
       name_that_fits(chart.axis, font, area.width()), Align::center);
}

/// Draws the segments; returns the one under the mouse and the end of the bar.
const BarSegment* draw_segments(const Canvas& canvas, const Bars& bars, const BarChart& chart,
                                const Bar& bar, const Rect& row, float& end_x) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const BarSegment* under_mouse = nullptr;
  double value = 0.0;
  for (const BarSegment& segment : bar.segments) {
    const float left = bars.visible_x(chart, value);
    value += segment.value;
    const float right = bars.visible_x(chart, value);
    const Rect rect{{left, row.min.y}, {right, row.max.y}};
    fill(canvas, rect, segment.color);
    if (segment.hatched && rect.width() > 1.0f) {
      hatch(canvas, rect, canvas.theme.card, canvas.px(5.0f));
    }
    if (segment.begins && left > bars.area.min.x + 1.0f && rect.width() > canvas.px(2.0f)) {
      canvas.list->AddLine({left, row.min.y}, {left, row.max.y}, canvas.theme.card,
                           canvas.px(1.5f));
    }
    if (rect.contains(mouse)) under_mouse = &segment;
    end_x = right;
  }
  return under_mouse;
}

}  // namespace

void fit_from_zero(Axis& axis, const std::vector<Bar>& bars) {
  axis.logarithmic = false;
  axis.low = 0.0;
  axis.high = 0.0;
  for (const Bar& bar : bars) axis.high = std::max({axis.high, sum(bar), bar.mark.value_or(0.0)});
  if (!(axis.high > 0.0)) axis.high = 1.0;
}

const std::string* draw_bar_chart(const Canvas& canvas, const Rect& rect, const BarChart& chart,
                                  ZoomedAxis& zoom) {
  constexpr double kLeastVisible = 0.01;
  const FontRef& font = canvas.fonts.small;
  Bars bars = lay_out(canvas, rect, chart);
  if (bars.area.width() < canvas.px(40.0f) || bars.pitch < font.size * 0.9f) return nullptr;
  zoom_by_wheel(bars.area, &zoom, nullptr, {kLeastVisible});
  bars.visible = zoom;
  draw_axis(canvas, rect, bars, chart);

  const std::string* about = nullptr;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const float thickness = std::min(0.72f * bars.pitch, font.size * 2.4f);
  float middle = bars.area.min.y + bars.pitch * 0.5f;
  for (const Bar& bar : chart.bars) {
    const Rect row{{bars.names, middle - thickness * 0.5f},
                   {rect.max.x, middle + thickness * 0.5f}};
    const float text_y = middle - font.size * 0.5f;
    fitted_text(canvas, font, {bars.area.min.x - canvas.px(8.0f), text_y}, canvas.theme.text_dim,
                bar.name, bars.area.min.x - bars.names - canvas.px(8.0f), Align::right);
    float end_x = bars.area.min.x;
    const BarSegment* segment = draw_segments(canvas, bars, chart, bar, row, end_x);
    if (row.contains(mouse)) about = segment != nullptr ? &segment->about : &bar.about;
    if (bar.mark && bars.x(chart, *bar.mark) == bars.visible_x(chart, *bar.mark)) {
      const float x = bars.x(chart, *bar.mark);
      canvas.list->AddLine({x, row.min.y - canvas.px(1.0f)}, {x, row.max.y + canvas.px(1.0f)},
                           chart.mark_color, canvas.px(2.5f));
      end_x = std::max(end_x, x);
    }
    const float room = rect.max.x - end_x - canvas.px(7.0f);
    draw_wording(canvas, font, {end_x + canvas.px(7.0f), text_y},
                 bar.refused ? canvas.theme.error : canvas.theme.text,
                 wordings_of(bar.label, " · "), room);
    middle += bars.pitch;
  }
  return ImGui::IsWindowHovered() ? about : nullptr;
}

std::string bar_chart_csv(const BarChart& chart) {
  std::string csv = fmt::format("bar,part,{}\n", chart.axis.name);
  for (const Bar& bar : chart.bars) {
    for (const BarSegment& segment : bar.segments) {
      csv += fmt::format("\"{}\",\"{}\",{:.17g}\n", bar.name, segment.name, segment.value);
    }
    if (bar.refused) csv += fmt::format("\"{}\",\"{}\",\n", bar.name, bar.label);
  }
  return csv;
}

}  // namespace attnscope::app::draw
