/// The word under the mouse, in any text that the screen draws, so that every symbol can be
/// explained wherever it appears.
#pragma once

#include <imgui.h>

#include <optional>
#include <string>
#include <string_view>

#include "app/ui/named_rects.h"

namespace attnscope::app {

/// A word as it is drawn, and where.
struct PointedWord {
  std::string word;
  Rect rect;
};

/// The word of the text that lies at `offset`, in bytes: letters and digits, with subscripts and
/// marks ("Q_i", "P~", "LSE_i^s", "O[0]"). Empty between words, and for the unit of a number
/// ("64 B").
std::string_view word_at(std::string_view text, std::size_t offset);

/// Notes the word under the mouse, if the text is drawn there in the window that the mouse is over.
/// FontRef::draw() calls it for all text.
void note_pointed_word(const ImDrawList* list, const ImFont* font, float font_size, ImVec2 at,
                       std::string_view text);

/// The last word noted since the previous call. Like Dear ImGui's state, it belongs to the thread
/// that draws.
std::optional<PointedWord> take_pointed_word();

}  // namespace attnscope::app
