#include "app/draw/wordings.h"

#include <algorithm>

#include "app/draw/tooltip.h"

namespace attnscope::app::draw {

std::vector<std::string> wordings_of(std::string_view text,
                                     std::span<const std::string_view> separators) {
  std::vector<std::string> wordings;
  while (!text.empty()) {
    wordings.emplace_back(text);
    std::size_t end = 0;  // text that is only separators has no shorter wording
    for (const std::string_view separator : separators) {
      const std::size_t found = text.rfind(separator);
      if (found != std::string_view::npos) end = std::max(end, found);
    }
    text = text.substr(0, end);
  }
  return wordings;
}

std::string wording_in_lines(const FontRef& font, std::span<const std::string> wordings,
                             float width, int max_lines) {
  if (wordings.empty()) return {};
  const auto fits = [&](const std::string& each) {
    const std::vector<std::string> lines = wrapped(font, each, width);
    return std::ssize(lines) <= max_lines && std::ranges::all_of(lines, [&](const auto& line) {
             return font.measure(line).x <= width;
           });
  };
  const auto found = std::ranges::find_if(wordings, fits);
  return found != wordings.end() ? *found : wordings.back();
}

float draw_wording(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color,
                   std::span<const std::string> wordings, float width, int max_lines) {
  const std::string shown = wording_in_lines(font, wordings, width, max_lines);
  const float height = wrapped_text(canvas, font, at, color, shown, width, std::max(max_lines, 1));
  if (!shown.empty() && shown != wordings.front()) {
    explain_shortened(canvas.fonts.small, wordings.front(), {at, {at.x + width, at.y + height}});
  }
  return height;
}

}  // namespace attnscope::app::draw
