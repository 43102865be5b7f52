#include "app/draw/canvas.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/draw/tooltip.h"
#include "app/ui/drawn_texts.h"

namespace attnscope::app::draw {

namespace {

constexpr float kSubscriptSize = 0.74f;
constexpr float kLeastSubscript = 18.0f;  ///< in pixels, if the text itself is at least as large
constexpr float kSubscriptDrop = 0.36f;
constexpr float kSuperscriptRise = 0.12f;
constexpr float kSubscriptGap = 0.07f;  // a j extends to the left of its origin

float shifted(float x, float width, Align align) {
  if (align == Align::center) return x - width * 0.5f;
  return align == Align::right ? x - width : x;
}

ImVec2 on_pixel(ImVec2 at) {
  return {std::floor(at.x + 0.5f), std::floor(at.y + 0.5f)};
}

FontRef subscript_font(const FontRef& font) {
  const float size = font.size * kSubscriptSize;
  return {font.font, font.size >= kLeastSubscript ? std::max(size, kLeastSubscript) : size};
}

ImVec2 operator+(ImVec2 a, ImVec2 b) {
  return {a.x + b.x, a.y + b.y};
}
ImVec2 operator-(ImVec2 a, ImVec2 b) {
  return {a.x - b.x, a.y - b.y};
}
ImVec2 operator*(ImVec2 a, float t) {
  return {a.x * t, a.y * t};
}

float length(ImVec2 v) {
  return std::sqrt(v.x * v.x + v.y * v.y);
}

}  // namespace

void text(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color, std::string_view text,
          Align align) {
  if (text.empty()) return;
  if (align != Align::left) at.x = shifted(at.x, font.measure(text).x, align);
  font.draw(canvas.list, on_pixel(at), color, text);
}

void vertical_text(const Canvas& canvas, const FontRef& font, ImVec2 center, ImU32 color,
                   std::string_view words) {
  // Draw the text horizontally in the middle of the clip rectangle, where nothing is clipped, then
  // rotate and move it
  const ImVec2 low = canvas.list->GetClipRectMin();
  const ImVec2 high = canvas.list->GetClipRectMax();
  const ImVec2 middle{(low.x + high.x) * 0.5f, (low.y + high.y) * 0.5f};
  const int first = canvas.list->VtxBuffer.Size;
  const ImVec2 begin{middle.x - font.measure(words).x * 0.5f, middle.y - font.size * 0.5f};
  record_text(canvas.list, font.font, font.size, center, color, words, true);
  canvas.list->AddText(font.font, font.size, on_pixel(begin), color, words.data(),
                       words.data() + words.size());
  for (int k = first; k < canvas.list->VtxBuffer.Size; ++k) {
    ImVec2& at = canvas.list->VtxBuffer[k].pos;
    at = {center.x + (at.y - middle.y), center.y - (at.x - middle.x)};
  }
}

std::string fitted(const FontRef& font, std::string_view text, float width) {
  if (font.measure(text).x <= width) return std::string(text);
  constexpr std::string_view kEllipsis = "…";
  const float room = width - font.measure(kEllipsis).x;
  if (room <= 0.0f) return {};

  // Take whole UTF-8 characters while they fit
  std::size_t end = 0;
  while (end < text.size()) {
    std::size_t next = end + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0U) == 0x80U) ++next;
    if (font.measure(text.substr(0, next)).x > room) break;
    end = next;
  }
  if (end == 0) return {};
  while (end > 0 && text[end - 1] == ' ') --end;
  return std::string(text.substr(0, end)) + std::string(kEllipsis);
}

std::string widest_that_fits(const FontRef& font, std::span<const std::string> wordings,
                             float width) {
  const auto found = std::ranges::find_if(
      wordings, [&](const std::string& each) { return font.measure(each).x <= width; });
  return found != wordings.end() ? *found : std::string();
}

std::string label_that_fits(const FontRef& font, std::span<const std::string> wordings,
                            float width) {
  const std::string fits = widest_that_fits(font, wordings, width);
  return fits.empty() && !wordings.empty() ? wordings.back() : fits;
}

void fitted_text(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color,
                 std::string_view words, float width, Align align) {
  const std::string shown = fitted(font, words, width);
  text(canvas, font, at, color, shown, align);
  if (shown.empty() || shown == words) return;
  const float drawn = font.measure(shown).x;
  const float left = shifted(at.x, drawn, align);
  explain_shortened(canvas.fonts.small, words, {{left, at.y}, {left + drawn, at.y + font.size}});
}

bool text_if_fits(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color,
                  std::string_view words, float width, Align align) {
  if (font.measure(words).x > width) return false;
  text(canvas, font, at, color, words, align);
  return true;
}

std::vector<std::string> wrapped(const FontRef& font, std::string_view text, float width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    std::string longer = line.empty() ? std::string(word) : line + " " + std::string(word);
    if (!line.empty() && font.measure(longer).x > width) {
      lines.push_back(std::move(line));
      line = word;
    } else {
      line = std::move(longer);
    }
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

float wrapped_text(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color,
                   std::string_view words, float width, int max_lines) {
  std::vector<std::string> lines = wrapped(font, words, width);
  const auto limit = static_cast<std::size_t>(std::max(max_lines, 0));
  if (lines.size() > limit) {
    // The last line shown gets all remaining text, so that it is cut with "…"
    std::string rest;
    for (std::size_t k = limit - (limit > 0 ? 1 : 0); k < lines.size(); ++k) {
      rest += (rest.empty() ? "" : " ") + lines[k];
    }
    lines.resize(limit);
    if (limit > 0) lines.back() = rest;
  }
  float y = at.y;
  for (const std::string& line : lines) {
    fitted_text(canvas, font, {at.x, y}, color, line, width);
    y += line_height(font);
  }
  return y - at.y;
}

float width_of(const FontRef& font, const Symbol& symbol) {
  const FontRef small = subscript_font(font);
  const float gap = symbol.subscript.empty() ? 0.0f : font.size * kSubscriptGap;
  return font.measure(symbol.base).x + gap + small.measure(symbol.subscript).x +
         small.measure(symbol.superscript).x;
}

void draw_symbol(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color,
                 const Symbol& symbol, Align align) {
  at.x = shifted(at.x, width_of(font, symbol), align);
  text(canvas, font, at, color, symbol.base);
  const FontRef small = subscript_font(font);
  float x = at.x + font.measure(symbol.base).x;
  if (!symbol.subscript.empty()) {
    x += font.size * kSubscriptGap;
    text(canvas, small, {x, at.y + font.size * kSubscriptDrop}, color, symbol.subscript);
    x += small.measure(symbol.subscript).x;
  }
  if (!symbol.superscript.empty()) {
    text(canvas, small, {x, at.y - font.size * kSuperscriptRise}, color, symbol.superscript);
  }
}

void fill(const Canvas& canvas, const Rect& rect, ImU32 color, float rounding) {
  canvas.list->AddRectFilled(rect.min, rect.max, color, rounding);
}

void outline(const Canvas& canvas, const Rect& rect, ImU32 color, float thickness, float rounding) {
  canvas.list->AddRect(rect.min, rect.max, color, rounding, 0, thickness);
}

void hatch(const Canvas& canvas, const Rect& rect, ImU32 color, float spacing) {
  // Lines x + y = c, each cut to the rectangle
  const float first = rect.min.x + rect.min.y;
  const float last = rect.max.x + rect.max.y;
  const auto count = static_cast<int>((last - first) / spacing);
  for (int k = 1; k <= count; ++k) {
    const float c = first + spacing * static_cast<float>(k);
    const float x0 = std::max(rect.min.x, c - rect.max.y);
    const float x1 = std::min(rect.max.x, c - rect.min.y);
    if (x1 > x0) canvas.list->AddLine({x0, c - x0}, {x1, c - x1}, color, 1.0f);
  }
}

void dots(const Canvas& canvas, const Rect& rect, ImU32 color, float spacing) {
  const float side = std::max(1.0f, spacing * 0.3f);
  const auto rows = static_cast<int>(rect.height() / spacing) + 1;
  const auto cols = static_cast<int>(rect.width() / spacing) + 1;
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; ++col) {
      const float shift = row % 2 == 0 ? 0.25f : 0.75f;
      const ImVec2 at{rect.min.x + spacing * (static_cast<float>(col) + shift),
                      rect.min.y + spacing * (static_cast<float>(row) + 0.4f)};
      if (at.x + side > rect.max.x || at.y + side > rect.max.y) continue;
      canvas.list->AddRectFilled(at, {at.x + side, at.y + side}, color);
    }
  }
}

void dashed_line(const Canvas& canvas, ImVec2 from, ImVec2 to, ImU32 color, float thickness,
                 float dash) {
  interleaved_line(canvas, from, to, color, thickness, dash, 0, 1, true);
}

void interleaved_line(const Canvas& canvas, ImVec2 from, ImVec2 to, ImU32 color, float thickness,
                      float dash, int index, int count, bool gaps) {
  const ImVec2 whole = to - from;
  const float total = length(whole);
  if (total <= 0.0f || dash <= 0.0f || count < 1) return;
  const ImVec2 unit = whole * (1.0f / total);
  const float slot = gaps ? 2.0f * dash : dash;
  for (int k = index; slot * static_cast<float>(k) < total; k += count) {
    const float at = slot * static_cast<float>(k);
    canvas.list->AddLine(from + unit * at, from + unit * std::min(at + dash, total), color,
                         thickness);
  }
}

void dashed_outline(const Canvas& canvas, const Rect& rect, ImU32 color, float thickness,
                    float dash) {
  const ImVec2 upper_right{rect.max.x, rect.min.y};
  const ImVec2 lower_left{rect.min.x, rect.max.y};
  dashed_line(canvas, rect.min, upper_right, color, thickness, dash);
  dashed_line(canvas, upper_right, rect.max, color, thickness, dash);
  dashed_line(canvas, rect.max, lower_left, color, thickness, dash);
  dashed_line(canvas, lower_left, rect.min, color, thickness, dash);
}

ImVec2 Curve::at(float t) const {
  const float s = 1.0f - t;
  return from * (s * s * s) + control_from * (3.0f * s * s * t) + control_to * (3.0f * s * t * t) +
         to * (t * t * t);
}

Curve vertical_curve(ImVec2 from, ImVec2 to) {
  const float reach = (to.y - from.y) * 0.5f;
  return {from, {from.x, from.y + reach}, {to.x, to.y - reach}, to};
}

Curve arc_over(ImVec2 from, ImVec2 to, float rise) {
  return {from, {from.x, from.y - rise}, {to.x, to.y - rise}, to};
}

Route::Route(std::vector<Curve> curves) : curves_(std::move(curves)) {
  constexpr int kPieces = 16;
  float total = 0.0f;
  for (const Curve& curve : curves_) {
    for (int k = 0; k < kPieces; ++k) {
      const float t = static_cast<float>(k) / kPieces;
      total += app::draw::length(curve.at(t + 1.0f / kPieces) - curve.at(t));
    }
    ends_.push_back(total);
  }
}

ImVec2 Route::at(float t) const {
  const float place = std::clamp(t, 0.0f, 1.0f) * length();
  std::size_t k = 0;
  while (k + 1 < ends_.size() && ends_[k] < place) ++k;
  const float begin = k > 0 ? ends_[k - 1] : 0.0f;
  const float part = ends_[k] - begin;
  return curves_[k].at(part > 0.0f ? (place - begin) / part : 0.0f);
}

Route Route::reversed() const {
  std::vector<Curve> back;
  for (auto curve = curves_.rbegin(); curve != curves_.rend(); ++curve) {
    back.push_back({curve->to, curve->control_to, curve->control_from, curve->from});
  }
  return Route(std::move(back));
}

void draw_arrow(const Canvas& canvas, const Route& route, ImU32 color, float thickness,
                bool dashed) {
  const float head = canvas.px(7.0f) + thickness;
  const float whole = route.length();
  if (whole <= 0.0f) return;
  const ImVec2 tip = route.end();
  const ImVec2 along = tip - route.at(1.0f - std::min(head / whole, 1.0f));
  const float size = length(along);
  if (size <= 0.0f) return;
  const ImVec2 unit = along * (1.0f / size);
  const ImVec2 neck = tip - unit * head;

  // The shaft, up to the head
  const int pieces = std::max(static_cast<int>(whole / canvas.px(dashed ? 4.0f : 3.0f)), 8);
  ImVec2 previous = route.at(0.0f);
  for (int k = 1; k <= pieces; ++k) {
    const bool last = k == pieces;
    const ImVec2 next = last ? neck : route.at(static_cast<float>(k) / static_cast<float>(pieces));
    if (!last && length(tip - next) < head) continue;
    if (!dashed || k % 3 != 0) canvas.list->AddLine(previous, next, color, thickness);
    previous = next;
  }

  const ImVec2 side{-unit.y * head * 0.5f, unit.x * head * 0.5f};
  canvas.list->AddTriangleFilled(tip, neck + side, neck - side, color);
}

Rect badge(const Canvas& canvas, const FontRef& font, ImVec2 center, const Rect& bounds,
           ImU32 color, std::string_view label) {
  const std::string shown = fitted(font, label, bounds.width() - canvas.px(12.0f));
  const ImVec2 half{font.measure(shown).x * 0.5f + canvas.px(7.0f),
                    font.size * 0.5f + canvas.px(5.0f)};
  center.x = std::clamp(center.x, bounds.min.x + half.x,
                        std::max(bounds.min.x + half.x, bounds.max.x - half.x));
  center.y = std::clamp(center.y, bounds.min.y + half.y,
                        std::max(bounds.min.y + half.y, bounds.max.y - half.y));
  const Rect box{center - half, center + half};
  fill(canvas, box, mix(canvas.theme.card, color, 0.16f), canvas.px(4.0f));
  outline(canvas, box, color, 1.0f, canvas.px(4.0f));
  text(canvas, font, {center.x, center.y - font.size * 0.5f}, mix(color, canvas.theme.text, 0.3f),
       shown, Align::center);
  return box;
}

void marker_right(const Canvas& canvas, ImVec2 tip, float size, ImU32 color) {
  canvas.list->AddTriangleFilled(tip, {tip.x - size, tip.y - size * 0.6f},
                                 {tip.x - size, tip.y + size * 0.6f}, color);
}

std::optional<float> free_center(float wish, float width, const Range& room,
                                 std::span<const Range> taken) {
  constexpr float kRounding = 0.01f;  // tolerance for places that just touch
  const float half = 0.5f * width - kRounding;
  std::optional<float> best;
  const auto consider = [&](float center) {
    if (center - half < room.low || center + half > room.high) return;
    for (const Range& range : taken) {
      if (center - half < range.high && range.low < center + half) return;
    }
    if (!best || std::abs(center - wish) < std::abs(*best - wish)) best = center;
  };
  const float least = room.low + 0.5f * width;
  consider(std::clamp(wish, least, std::max(least, room.high - 0.5f * width)));
  for (const Range& range : taken) consider(range.high + 0.5f * width);
  for (const Range& range : taken) consider(range.low - 0.5f * width);
  return best;
}

Range crossing(const Route& route, const Range& band) {
  constexpr int kPieces = 128;
  std::optional<Range> range;
  for (int k = 0; k <= kPieces; ++k) {
    const ImVec2 at = route.at(static_cast<float>(k) / kPieces);
    if (at.y < band.low || at.y > band.high) continue;
    range =
        range ? Range{std::min(range->low, at.x), std::max(range->high, at.x)} : Range{at.x, at.x};
  }
  const float middle = route.at(0.5f).x;
  return range.value_or(Range{middle, middle});
}

}  // namespace attnscope::app::draw
