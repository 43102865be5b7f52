#include "app/draw/chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnscope::app::draw {

namespace {

/// Line pitch in units of the font size: the preferred one, and the smallest, used when room is
/// short.
constexpr float kPitch = 1.4f;
constexpr float kLeastPitch = 1.12f;

float sample_width(const Canvas& canvas, const LegendEntry& entry) {
  return entry.sample == LegendEntry::Sample::none ? 0.0f : canvas.px(20.0f);
}

float entry_width(const Canvas& canvas, const LegendEntry& entry) {
  return sample_width(canvas, entry) + std::ceil(canvas.fonts.small.measure(entry.label).x) + 1.0f;
}

float gap_between(const Canvas& canvas) {
  return canvas.px(14.0f);
}

int line_count(const Canvas& canvas, const std::vector<LegendEntry>& entries, float width) {
  int lines = 1;
  float x = 0.0f;
  for (const LegendEntry& entry : entries) {
    const float own = std::min(entry_width(canvas, entry), width);
    if (x > 0.0f && x + own > width) {
      ++lines;
      x = 0.0f;
    }
    x += own + gap_between(canvas);
  }
  return lines;
}

void draw_sample(const Canvas& canvas, const LegendEntry& entry, ImVec2 from) {
  const ImVec2 to{from.x + canvas.px(15.0f), from.y};
  const ImVec2 middle{(from.x + to.x) * 0.5f, from.y};
  const float half = canvas.fonts.small.size * 0.38f;
  const Rect box{{middle.x - half, from.y - half}, {middle.x + half, from.y + half}};
  switch (entry.sample) {
    case LegendEntry::Sample::none:
      return;
    case LegendEntry::Sample::line:
      canvas.list->AddLine(from, to, entry.color, canvas.px(2.0f));
      return;
    case LegendEntry::Sample::dashed:
      dashed_line(canvas, from, to, entry.color, canvas.px(1.8f), canvas.px(4.0f));
      return;
    case LegendEntry::Sample::marker:
      draw_marker(canvas, entry.marker, middle, entry.color);
      return;
    case LegendEntry::Sample::surface:
      fill(canvas, box, entry.color);
      return;
    case LegendEntry::Sample::hatched:
      fill(canvas, box, entry.color);
      hatch(canvas, box, canvas.theme.card, canvas.px(4.0f));
      return;
    case LegendEntry::Sample::mark:
      canvas.list->AddLine({middle.x, box.min.y}, {middle.x, box.max.y}, entry.color,
                           canvas.px(2.5f));
      return;
  }
}

}  // namespace

void draw_marker(const Canvas& canvas, Marker marker, ImVec2 at, ImU32 color) {
  const float size = canvas.px(4.0f);
  const float thickness = canvas.px(1.8f);
  switch (marker) {
    case Marker::none:
      return;
    case Marker::circle:
      canvas.list->AddCircleFilled(at, size, canvas.theme.card, 12);
      canvas.list->AddCircle(at, size, color, 12, thickness);
      return;
    case Marker::square:
      fill(canvas, {{at.x - size, at.y - size}, {at.x + size, at.y + size}}, canvas.theme.card);
      outline(canvas, {{at.x - size, at.y - size}, {at.x + size, at.y + size}}, color, thickness);
      return;
    case Marker::cross:
      canvas.list->AddLine({at.x - size, at.y - size}, {at.x + size, at.y + size}, color,
                           thickness);
      canvas.list->AddLine({at.x - size, at.y + size}, {at.x + size, at.y - size}, color,
                           thickness);
      return;
    case Marker::diamond: {
      const float half = 1.25f * size;
      const ImVec2 top{at.x, at.y - half}, bottom{at.x, at.y + half};
      const ImVec2 left{at.x - half, at.y}, right{at.x + half, at.y};
      canvas.list->AddQuadFilled(top, right, bottom, left, canvas.theme.card);
      canvas.list->AddQuad(top, right, bottom, left, color, thickness);
      return;
    }
  }
}

float legend_width(const Canvas& canvas, const std::vector<LegendEntry>& entries) {
  float width = 0.0f;
  for (const LegendEntry& entry : entries) width = std::max(width, entry_width(canvas, entry));
  return width;
}

float legend_height(const Canvas& canvas, const std::vector<LegendEntry>& entries, float width) {
  const auto further = static_cast<float>(line_count(canvas, entries, width) - 1);
  return canvas.fonts.small.size * (1.0f + kLeastPitch * further);
}

bool draw_legend(const Canvas& canvas, const Rect& rect, const std::vector<LegendEntry>& entries) {
  const FontRef& font = canvas.fonts.small;
  const float gap = gap_between(canvas);
  const int further = std::max(line_count(canvas, entries, rect.width()) - 1, 1);
  const float pitch = std::clamp((rect.height() - font.size) / static_cast<float>(further),
                                 kLeastPitch * font.size, kPitch * font.size);
  ImVec2 at = rect.min;
  for (const LegendEntry& entry : entries) {
    const float width = std::min(entry_width(canvas, entry), rect.width());
    if (at.x > rect.min.x && at.x + width > rect.max.x) at = {rect.min.x, at.y + pitch};
    if (at.y + font.size > rect.max.y + 0.5f) {
      text_if_fits(canvas, font, {rect.max.x, at.y - pitch}, canvas.theme.text_faint, "…",
                   rect.width(), Align::right);
      return false;
    }
    draw_sample(canvas, entry, {at.x, at.y + font.size * 0.55f});
    const float sample = sample_width(canvas, entry);
    fitted_text(canvas, font, {at.x + sample, at.y}, canvas.theme.text_dim, entry.label,
                rect.max.x - at.x - sample);
    at.x += width + gap;
  }
  return true;
}

namespace {

bool drawable(const Axis& axis, double value) {
  return std::isfinite(value) && (!axis.logarithmic || value > 0.0);
}

/// A chart and the rectangle between its axes.
struct Plot {
  const Chart& chart;
  Rect area;
  const ChartZoom& zoom;

  ImVec2 pixel(double x, double y) const {
    return {area.min.x + area.width() * static_cast<float>(zoom.x.position(chart.x.position(x))),
            area.max.y - area.height() * static_cast<float>(zoom.y.position(chart.y.position(y)))};
  }
  bool holds(const ChartPoint& point) const {
    return drawable(chart.x, point.x) && drawable(chart.y, point.y);
  }
};

void draw_axes(const Canvas& canvas, const Rect& rect, const Plot& plot,
               const std::vector<Tick>& y_ticks) {
  const FontRef& font = canvas.fonts.small;
  const Theme& theme = canvas.theme;
  const Rect& area = plot.area;
  for (const Tick& tick : y_ticks) {
    const float y = plot.pixel(plot.chart.x.low, tick.value).y;
    canvas.list->AddLine({area.min.x, y}, {area.max.x, y}, theme.grid);
    text(canvas, font, {area.min.x - canvas.px(7.0f), y - font.size * 0.5f}, theme.text_faint,
         tick.label, Align::right);
  }
  float free_x = rect.min.x;  // labels below the axis must not touch
  for (const Tick& tick : visible_ticks(plot.chart.x, plot.chart.x_ticks, plot.zoom.x, nullptr)) {
    const float x = plot.pixel(tick.value, plot.chart.y.low).x;
    const float half = font.measure(tick.label).x * 0.5f;
    canvas.list->AddLine({x, area.max.y}, {x, area.max.y + canvas.px(3.0f)}, theme.text_faint);
    if (x - half < free_x || x + half > rect.max.x) continue;
    text(canvas, font, {x, area.max.y + canvas.px(4.0f)}, theme.text_faint, tick.label,
         Align::center);
    free_x = x + half + canvas.px(6.0f);
  }
  canvas.list->AddLine({area.min.x, area.max.y}, {area.max.x, area.max.y}, theme.text_faint);
  text(canvas, font, {area.center().x, rect.max.y - font.size}, theme.text_faint,
       name_that_fits(plot.chart.x, font, area.width()), Align::center);
}

void add_pieces(const Plot& plot, std::size_t which, std::vector<LinePiece>& pieces) {
  const Series& series = plot.chart.series[which];
  const ChartPoint* previous = nullptr;
  for (const ChartPoint& point : series.points) {
    if (!plot.holds(point)) continue;
    if (previous != nullptr) {
      pieces.push_back({plot.pixel(previous->x, previous->y), plot.pixel(point.x, point.y), which,
                        series.dashed});
    }
    previous = &point;
  }
}

void draw_lines(const Canvas& canvas, const Plot& plot) {
  std::vector<LinePiece> pieces;
  for (std::size_t k = 0; k < plot.chart.series.size(); ++k) {
    if (plot.chart.series[k].line) add_pieces(plot, k, pieces);
  }
  const std::vector<Turn> turns = turns_of(pieces, canvas.px(1.5f));

  // Draw dashed lines last, because lines below them are visible through their gaps
  for (const bool dashed : {false, true}) {
    for (std::size_t k = 0; k < pieces.size(); ++k) {
      const LinePiece& piece = pieces[k];
      if (piece.dashed != dashed) continue;
      const ImU32 color = plot.chart.series[piece.series].color;
      if (!dashed && turns[k].count == 1) {
        canvas.list->AddLine(piece.from, piece.to, color, canvas.px(2.0f));
        continue;
      }
      interleaved_line(canvas, piece.from, piece.to, color, canvas.px(dashed ? 1.8f : 2.0f),
                       canvas.px(dashed ? 5.0f : 9.0f), turns[k].index, turns[k].count, dashed);
    }
  }
}

/// Zooms both axes. The screen counts rows from the top, the y axis from the bottom.
void zoom_by_wheel(const Rect& area, ChartZoom& zoom) {
  constexpr double kLeast = 0.01;
  ZoomedAxis down{1.0 - zoom.y.end, 1.0 - zoom.y.begin};
  if (!zoom_by_wheel(area, &zoom.x, &down, {kLeast}, {kLeast})) return;
  zoom.y = {1.0 - down.end, 1.0 - down.begin};
}

/// Draws the markers; returns the point nearest to the mouse, if one is near.
const ChartPoint* draw_markers(const Canvas& canvas, const Plot& plot) {
  const ChartPoint* nearest = nullptr;
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  float reach = canvas.px(10.0f);
  for (const Series& series : plot.chart.series) {
    for (const ChartPoint& point : series.points) {
      if (!plot.holds(point)) continue;
      const ImVec2 at = plot.pixel(point.x, point.y);
      if (!plot.zoom.is_whole() && !plot.area.contains(at)) continue;
      draw_marker(canvas, series.marker, at, series.color);
      const float distance = std::hypot(at.x - mouse.x, at.y - mouse.y);
      if (distance > reach) continue;
      reach = distance;
      nearest = &point;
    }
  }
  return nearest;
}

}  // namespace

std::vector<Turn> turns_of(const std::vector<LinePiece>& pieces, float reach) {
  const auto near = [reach](ImVec2 a, ImVec2 b) {
    return std::hypot(a.x - b.x, a.y - b.y) < reach;
  };
  std::vector<Turn> turns(pieces.size());
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    for (std::size_t other = 0; other < pieces.size(); ++other) {
      const bool shared = other != k && pieces[other].dashed == pieces[k].dashed &&
                          near(pieces[other].from, pieces[k].from) &&
                          near(pieces[other].to, pieces[k].to);
      if (!shared) continue;
      ++turns[k].count;
      if (other < k) ++turns[k].index;
    }
  }
  return turns;
}

const ChartPoint* draw_chart(const Canvas& canvas, const Rect& whole, const Chart& chart,
                             ChartZoom& zoom) {
  // Leave room for the labels on the left and below, and for the y axis's name left of its labels
  const FontRef& font = canvas.fonts.small;
  Rect rect = whole;
  rect.min.x += font.size * 1.5f;
  const float middle = (rect.min.y + rect.max.y - 2.0f * line_height(font)) * 0.5f;
  const float length = rect.height() - 2.0f * line_height(font);
  const std::string name = name_that_fits(chart.y, font, length);
  if (!name.empty()) {
    vertical_text(canvas, font, {whole.min.x + font.size * 0.5f, middle}, canvas.theme.text_faint,
                  name);
  }
  const std::vector<Tick> y_ticks = visible_ticks(chart.y, chart.y_ticks, zoom.y, chart.y_label);
  float label_width = 0.0f;
  for (const Tick& tick : y_ticks) {
    label_width = std::max(label_width, font.measure(tick.label).x);
  }
  const Plot plot{chart,
                  {{rect.min.x + label_width + canvas.px(7.0f), rect.min.y + font.size * 0.5f},
                   {rect.max.x - canvas.px(8.0f), rect.max.y - 2.0f * line_height(font)}},
                  zoom};
  if (plot.area.width() < canvas.px(20.0f) || plot.area.height() < canvas.px(10.0f)) return nullptr;
  draw_axes(canvas, rect, plot, y_ticks);
  if (!zoom.is_whole()) canvas.list->PushClipRect(plot.area.min, plot.area.max, true);
  draw_lines(canvas, plot);
  const ChartPoint* nearest = draw_markers(canvas, plot);
  if (!zoom.is_whole()) canvas.list->PopClipRect();
  zoom_by_wheel(plot.area, zoom);
  return ImGui::IsWindowHovered() ? nearest : nullptr;
}

void fit_decades(Axis& axis, const std::vector<Series>& series) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0.0;
  for (const Series& each : series) {
    for (const ChartPoint& point : each.points) {
      if (!std::isfinite(point.y) || point.y <= 0.0) continue;
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
  }
  if (!(low <= high)) return;
  axis.logarithmic = true;
  axis.low = std::pow(10.0, std::floor(std::log10(low) + 1e-9));
  axis.high = std::pow(10.0, std::ceil(std::log10(high) - 1e-9));
  if (!(axis.high > axis.low)) axis.high = 10.0 * axis.low;
}

std::string chart_csv(const Chart& chart) {
  const auto quoted = [](const std::string& name) {
    return name.find(',') == name.npos ? name : fmt::format("\"{}\"", name);
  };
  std::string csv = fmt::format("series,{},{}\n", quoted(chart.x.name), quoted(chart.y.name));
  for (const Series& series : chart.series) {
    for (const ChartPoint& point : series.points) {
      csv += fmt::format("\"{}\",{:.17g},{:.17g}\n", series.name, point.x, point.y);
    }
  }
  return csv;
}

const std::string* draw_chart(const Canvas& canvas, const Rect& rect, const AnyChart& chart,
                              ChartZoom& zoom) {
  if (const auto* bars = std::get_if<BarChart>(&chart)) {
    return draw_bar_chart(canvas, rect, *bars, zoom.x);
  }
  const ChartPoint* near = draw_chart(canvas, rect, std::get<Chart>(chart), zoom);
  return near != nullptr ? &near->about : nullptr;
}

std::string chart_csv(const AnyChart& chart) {
  if (const auto* bars = std::get_if<BarChart>(&chart)) return bar_chart_csv(*bars);
  return chart_csv(std::get<Chart>(chart));
}

const std::vector<LegendEntry>& legend_of(const AnyChart& chart) {
  return std::visit(
      [](const auto& each) -> const auto& { return each.legend; }, chart);
}

}  // namespace attnscope::app::draw
