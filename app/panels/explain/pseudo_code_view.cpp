#include "app/panels/explain/pseudo_code_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "app/draw/canvas.h"
#include "app/panels/parts/snapshot_view.h"

namespace attnscope::app {

namespace {

/// One line on the screen: a pseudo-code line or the continuation of one.
struct ScreenLine {
  std::size_t line = 0;
  int indent = 0;
  std::size_t begin = 0, end = 0;  ///< characters of the line
};

/// Breaks a line between statements ("; ") if it is wider than `width`, else at spaces.
void add_broken(std::vector<ScreenLine>& out, std::size_t index, int indent, std::string_view text,
                float width, const FontRef& font) {
  const float step = font.measure("  ").x;
  const int continued = indent + 1;
  const auto room = [&] { return width - step * static_cast<float>(indent); };
  std::size_t begin = 0;
  while (font.measure(text.substr(begin)).x > room()) {
    // The last statement that still fits on this line
    std::size_t cut = std::string::npos;
    for (std::size_t at = text.find("; ", begin); at != std::string::npos;
         at = text.find("; ", at + 1)) {
      if (font.measure(text.substr(begin, at + 1 - begin)).x <= room()) cut = at + 1;
    }
    if (cut == std::string::npos) break;
    out.push_back({index, indent, begin, cut});
    begin = cut + 1;
    indent = continued;
  }
  for (const std::string& piece : draw::wrapped(font, text.substr(begin), room())) {
    begin = text.find(piece, begin);
    out.push_back({index, indent, begin, begin + piece.size()});
    begin += piece.size();
    indent = continued;
  }
}

/// Names the agents at the right edge of a line whose text ends at `end`.
void draw_agents(const PanelContext& canvas, const std::string& agents, float end,
                 const Rect& box) {
  const FontRef& font = canvas.fonts.small;
  const float room = box.max.x - canvas.px(6.0f) - end - canvas.px(12.0f);
  const std::string names[] = {agents, agents.substr(0, 1)};
  draw::text_if_fits(canvas, font, {box.max.x - canvas.px(6.0f), box.center().y - font.size * 0.5f},
                     canvas.theme.text_faint, draw::widest_that_fits(font, names, room), room,
                     draw::Align::right);
}

/// The lines as they are broken at this width of their box.
std::vector<ScreenLine> broken_lines(const PanelContext& canvas, float width,
                                     const MarkedCode& code) {
  std::vector<ScreenLine> screen;
  for (std::size_t k = 0; k < code.lines.size(); ++k) {
    add_broken(screen, k, code.lines[k].indent, code.shown[k].text, width - canvas.px(6.0f),
               canvas.fonts.mono_small);
  }
  return screen;
}

constexpr float kLeastPitch = 1.0f;  ///< the distance of lines, as a multiple of the font's size

/// Draws the characters of a line that are in `part`: red where the run is broken, and struck out
/// where the code does not run.
void draw_code_text(const PanelContext& canvas, const ShownLine& line, const ScreenLine& part,
                    ImVec2 at, ImU32 color) {
  const FontRef& font = canvas.fonts.mono_small;
  const ImU32 red = canvas.theme.error;
  const auto draw_until = [&](std::size_t& begin, std::size_t end, ImU32 ink, bool struck) {
    end = std::clamp(end, begin, part.end);
    const std::string_view text = std::string_view(line.text).substr(begin, end - begin);
    begin = end;
    if (text.empty()) return;
    const float width = font.measure(text).x;
    draw::text(canvas, font, at, ink, text);
    if (struck) {
      const float middle = std::round(at.y + font.size * 0.5f);
      canvas.list->AddLine({at.x, middle}, {at.x + width, middle}, red, canvas.px(1.5f));
    }
    at.x += width;
  };
  std::size_t begin = part.begin;
  draw_until(begin, line.begin, color, false);
  draw_until(begin, line.struck_end, red, true);
  draw_until(begin, line.end, red, false);
  draw_until(begin, part.end, color, false);
}

/// The lines that are visible, [first, past), and whether the first and the last of them are
/// replaced by the number of hidden lines.
struct ShownPart {
  std::size_t first = 0, past = 0;
  bool more_above = false, more_below = false;
};

/// All lines, or as many as fit around the highlighted one.
ShownPart shown_part(std::span<const ScreenLine> screen, std::size_t fitting, int lit) {
  if (screen.size() <= fitting) return {0, screen.size()};
  const auto found = std::ranges::find_if(
      screen, [&](const ScreenLine& each) { return static_cast<int>(each.line) == lit; });
  const auto at =
      found == screen.end() ? std::size_t{0} : static_cast<std::size_t>(found - screen.begin());
  ShownPart part;
  part.first = std::min(at > fitting / 2 ? at - fitting / 2 : 0, screen.size() - fitting);
  part.past = part.first + fitting;
  if (fitting < 4) return part;  // too few lines to spend one on the number of hidden ones
  part.more_above = part.first > 0;
  part.more_below = part.past < screen.size();
  return part;
}

/// Draws a line, and the agents that execute it if it `begins` a line of the pseudo-code.
void draw_line(const PanelContext& canvas, const MarkedCode& code, const ScreenLine& line,
               ImVec2 at, const Rect& box, bool begins) {
  const FontRef& font = canvas.fonts.mono_small;
  const bool control = !has_operations(code.lines[line.line].step);
  const ImU32 color = static_cast<int>(line.line) == code.lit ? canvas.theme.text
                      : control                               ? canvas.theme.text_faint
                                                              : canvas.theme.text_dim;
  at.x += font.measure("  ").x * static_cast<float>(line.indent);
  draw_code_text(canvas, code.shown[line.line], line, at, color);
  const std::string& agents = code.agents[line.line];
  const std::string_view text = code.shown[line.line].text;
  const float end = at.x + font.measure(text.substr(line.begin, line.end - line.begin)).x;
  if (begins && !agents.empty()) draw_agents(canvas, agents, end, box);
}

}  // namespace

float least_height(const PanelContext& canvas, float width, const MarkedCode& code) {
  const auto count = static_cast<float>(broken_lines(canvas, width, code).size());
  return count * kLeastPitch * canvas.fonts.mono_small.size;
}

int draw_pseudo_code(const PanelContext& canvas, const Rect& rect, const MarkedCode& code) {
  const FontRef& font = canvas.fonts.mono_small;
  const float padding = canvas.px(6.0f);
  const std::vector<ScreenLine> screen = broken_lines(canvas, rect.width(), code);

  if (rect.height() < font.size) return -1;

  // Space the lines as widely as the room allows
  const auto count = static_cast<float>(std::max<std::size_t>(screen.size(), 1));
  const float pitch = std::clamp(rect.height() / count, font.size * kLeastPitch, font.size * 1.6f);
  const auto fitting =
      std::max<std::size_t>(static_cast<std::size_t>(rect.height() / pitch + 0.01f), 1);
  const ShownPart part = shown_part(screen, fitting, code.lit);

  // Where lines are close, letters may reach into the next one: draw all backgrounds first
  const auto box_of = [&](std::size_t k) {
    const float y = rect.min.y + pitch * static_cast<float>(k - part.first);
    return Rect{{rect.min.x, std::round(y)}, {rect.max.x, std::round(y + pitch)}};
  };
  const auto hides_others = [&](std::size_t k) {
    return (part.more_above && k == part.first) || (part.more_below && k + 1 == part.past);
  };
  for (std::size_t k = part.first; k < part.past; ++k) {
    if (hides_others(k)) continue;
    const Rect box = box_of(k);
    if (code.pointed[screen[k].line]) draw_pointed(canvas, box);
    if (static_cast<int>(screen[k].line) != code.lit) continue;
    draw::fill(canvas, box, mix(canvas.theme.card, code.color, 0.22f), canvas.px(2.0f));
    draw::fill(canvas, {box.min, {box.min.x + canvas.px(3.0f), box.max.y}}, code.color);
  }

  int under_mouse = -1;
  for (std::size_t k = part.first; k < part.past; ++k) {
    const Rect box = box_of(k);
    const float y = std::floor(box.center().y - font.size * 0.5f);
    if (hides_others(k)) {
      const bool above = k == part.first;
      draw::text(canvas, font, {rect.min.x + padding, y}, canvas.theme.text_dim,
                 fmt::format("… {} more lines", above ? k + 1 : screen.size() - k));
      canvas.named_rects.add(above ? "explain.more.above" : "explain.more.below", box);
      continue;
    }
    const int number = static_cast<int>(screen[k].line);
    canvas.named_rects.add(fmt::format("explain.line.{}", number), box);
    if (hovered(box)) under_mouse = number;
    const bool begins = k == 0 || screen[k - 1].line != screen[k].line;
    draw_line(canvas, code, screen[k], {rect.min.x + padding, y}, box, begins);
  }
  return under_mouse;
}

}  // namespace attnscope::app
