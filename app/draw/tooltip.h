/// The tooltip of a frame, beside what it explains.
#pragma once

#include <imgui.h>

#include <span>
#include <string_view>

#include "app/ui/named_rects.h"
#include "app/ui/theme.h"

namespace attnscope::app::draw {

/// Shows lines of at most `width` beside the rectangle that they explain. What further calls of the
/// frame show is added below a line, at the place of the first. Shows nothing after a click, until
/// the mouse moves.
void tooltip(const FontRef& font, ImVec2 padding, float width, std::string_view text,
             const Rect& about);

/// Tooltips of this frame and the next are placed beside this card, which the user is reading, if
/// there is room.
void keep_clear(const Rect& card);

/// The upper left corner of a tooltip of this size on a display: below, above, right or left of the
/// rectangle and near the pointer, whichever comes first with room for it that covers no card; then
/// beside a card; anywhere on the display if there is no such place.
ImVec2 place_beside(const Rect& about, ImVec2 size, ImVec2 pointer, ImVec2 display,
                    std::span<const Rect> cards = {});

/// The place of something without a rectangle: around the pointer.
Rect around_pointer(float radius);

}  // namespace attnscope::app::draw
