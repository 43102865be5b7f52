#include "app/draw/text.h"

#include <algorithm>
#include <cmath>

namespace attnscope::app::draw {

namespace {

constexpr float kSubscriptSize = 0.74f;
constexpr float kSubscriptDrop = 0.36f;
constexpr float kSuperscriptRise = 0.12f;

float shifted(float x, float width, Align align) {
  if (align == Align::center) return x - width * 0.5f;
  return align == Align::right ? x - width : x;
}

ImVec2 on_pixel(ImVec2 at) {
  return {std::floor(at.x + 0.5f), std::floor(at.y + 0.5f)};
}

FontRef subscript_font(const FontRef& font) {
  return {font.font, font.size * kSubscriptSize};
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
  // Draw it horizontally in the middle of the clip rectangle, where nothing is clipped, then rotate
  // and move it
  const ImVec2 low = canvas.list->GetClipRectMin();
  const ImVec2 high = canvas.list->GetClipRectMax();
  const ImVec2 middle{(low.x + high.x) * 0.5f, (low.y + high.y) * 0.5f};
  const int first = canvas.list->VtxBuffer.Size;
  text(canvas, font, {middle.x, middle.y - font.size * 0.5f}, color, words, Align::center);
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
  text(canvas, font, at, color, fitted(font, words, width), align);
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
    // The last line shown ends with a mark that more text follows
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

void tooltip(const FontRef& font, ImVec2 padding, float width, std::string_view text) {
  const FontScope scope(font);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, padding);
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(width);
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
  ImGui::PopStyleVar();
}

float width_of(const FontRef& font, const Symbol& symbol) {
  const FontRef small = subscript_font(font);
  return font.measure(symbol.base).x + small.measure(symbol.subscript).x +
         small.measure(symbol.superscript).x;
}

void draw_symbol(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color,
                 const Symbol& symbol, Align align) {
  at.x = shifted(at.x, width_of(font, symbol), align);
  text(canvas, font, at, color, symbol.base);
  const FontRef small = subscript_font(font);
  float x = at.x + font.measure(symbol.base).x;
  if (!symbol.subscript.empty()) {
    text(canvas, small, {x, at.y + font.size * kSubscriptDrop}, color, symbol.subscript);
    x += small.measure(symbol.subscript).x;
  }
  if (!symbol.superscript.empty()) {
    text(canvas, small, {x, at.y - font.size * kSuperscriptRise}, color, symbol.superscript);
  }
}

}  // namespace attnscope::app::draw
