/// Texts that become shorter where room is scarce: parts that matter less are left out as a whole,
/// and no text is cut within a word.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/draw/canvas.h"

namespace attnscope::app::draw {

/// The text, then what remains of it before its last separator, and so on. No separator is part of
/// a wording's end: "N = 64, d = 16", "N = 64" for ", ".
std::vector<std::string> wordings_of(std::string_view text,
                                     std::span<const std::string_view> separators);
inline std::vector<std::string> wordings_of(std::string_view text, std::string_view separator) {
  return wordings_of(text, std::span(&separator, 1));
}

/// The first wording that takes at most `max_lines` lines of this width, else the last one.
std::string wording_in_lines(const FontRef& font, std::span<const std::string> wordings,
                             float width, int max_lines);

/// Draws that wording in lines, at least one; while the mouse is there, a tooltip has the first
/// wording if a shorter one is drawn. Returns the height used, in pixels.
float draw_wording(const Canvas& canvas, const FontRef& font, ImVec2 at, ImU32 color,
                   std::span<const std::string> wordings, float width, int max_lines = 1);

}  // namespace attnscope::app::draw
