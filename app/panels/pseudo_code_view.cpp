#include "app/panels/pseudo_code_view.h"

#include <algorithm>
#include <string>
#include <vector>

#include "app/draw/shapes.h"
#include "app/draw/text.h"

namespace attnscope::app {

namespace {

/// One line on the screen: a pseudo-code line or the continuation of one.
struct ScreenLine {
  int line = 0;
  int indent = 0;
  std::string text;
};

/// Breaks a line between statements ("; ") where it is wider than `width`, else at spaces.
void add_broken(std::vector<ScreenLine>& out, int index, const PseudoLine& line, float width,
                const FontRef& font) {
  const float step = font.measure("  ").x;
  int indent = line.indent;
  std::string rest(line.text);
  const auto room = [&] { return width - step * static_cast<float>(indent); };
  while (font.measure(rest).x > room()) {
    // The last statement that still fits on this line
    std::size_t cut = std::string::npos;
    for (std::size_t at = rest.find("; "); at != std::string::npos; at = rest.find("; ", at + 1)) {
      if (font.measure(rest.substr(0, at + 1)).x <= room()) cut = at + 1;
    }
    if (cut == std::string::npos) break;
    out.push_back({index, indent, rest.substr(0, cut)});
    rest = rest.substr(cut + 1);
    indent = line.indent + 1;
  }
  for (const std::string& piece : draw::wrapped(font, rest, room())) {
    out.push_back({index, indent, piece});
    indent = line.indent + 1;
  }
}

}  // namespace

void draw_pseudo_code(const draw::Canvas& canvas, const Rect& rect,
                      std::span<const PseudoLine> lines, int lit, ImU32 color) {
  const FontRef& font = canvas.fonts.mono_small;
  const float padding = canvas.px(6.0f);
  const float width = rect.width() - 2.0f * padding;
  std::vector<ScreenLine> screen;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    add_broken(screen, static_cast<int>(k), lines[k], width, font);
  }

  // As loose as the room allows; if it is too little, the part around the lit line
  const auto count = static_cast<float>(std::max<std::size_t>(screen.size(), 1));
  const float pitch = std::clamp(rect.height() / count, font.size * 1.18f, font.size * 1.6f);
  const auto visible = std::max<std::size_t>(static_cast<std::size_t>(rect.height() / pitch), 1);
  std::size_t first = 0;
  if (screen.size() > visible) {
    const auto found = std::ranges::find(screen, lit, &ScreenLine::line);
    const auto at =
        found == screen.end() ? std::size_t{0} : static_cast<std::size_t>(found - screen.begin());
    first = std::min(at > visible / 2 ? at - visible / 2 : 0, screen.size() - visible);
  }

  const float step = font.measure("  ").x;
  float y = rect.min.y;
  for (std::size_t k = first; k < std::min(first + visible, screen.size()); ++k) {
    const ScreenLine& line = screen[k];
    const bool is_lit = line.line == lit;
    if (is_lit) {
      const Rect box{{rect.min.x, y}, {rect.max.x, y + pitch}};
      draw::fill(canvas, box, mix(canvas.theme.card, color, 0.22f), canvas.px(2.0f));
      draw::fill(canvas, {box.min, {box.min.x + canvas.px(3.0f), box.max.y}}, color);
    }
    const bool control = lines[static_cast<std::size_t>(line.line)].control;
    const ImU32 text_color =
        is_lit ? canvas.theme.text : (control ? canvas.theme.text_faint : canvas.theme.text_dim);
    const float x = rect.min.x + padding + step * static_cast<float>(line.indent);
    draw::text(canvas, font, {x, y + (pitch - font.size) * 0.5f}, text_color,
               draw::fitted(font, line.text, rect.max.x - x));
    y += pitch;
  }
}

}  // namespace attnscope::app
