#include "app/draw/legend.h"

#include <algorithm>
#include <cmath>

#include "app/draw/shapes.h"
#include "app/draw/text.h"

namespace attnscope::app::draw {

namespace {

/// Line pitch in units of the font size: preferred, and when room is short.
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

}  // namespace attnscope::app::draw
