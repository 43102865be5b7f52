/// Texts that become shorter when room is scarce: parts that matter less are left out as a whole,
/// and no text is cut within a word.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/draw/canvas.h"

namespace attnscope::app::draw {

/// The text, then its part before the last separator, and so on, as "N = 64, d = 16" and "N = 64"
/// for the separator ", ". No wording ends in a separator.
std::vector<std::string> wordings_of(std::string_view text,
                                     std::span<const std::string_view> separators);
inline std::vector<std::string> wordings_of(std::string_view text, std::string_view separator) {
  return wordings_of(text, std::span(&separator, 1));
}

/// The first wording that takes at most `max_lines` lines of this width, else the last one.
std::string wording_in_lines(const FontRef& font, std::span<const std::string> wordings,
                             float width, int max_lines);

/// Draws that wording, at least one line of it; if a shorter one than the first is drawn, a tooltip
/// shows the first while the mouse is there. Returns the height used, in pixels.
float draw_wording(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color,
                   std::span<const std::string> wordings, float width, int max_lines = 1);

}  // namespace attnscope::app::draw
