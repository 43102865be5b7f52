/// The tooltip of a frame, placed beside the thing that it explains.
#pragma once

#include <imgui.h>

#include <span>
#include <string_view>

#include "app/ui/named_rects.h"
#include "app/ui/theme.h"

namespace attnscope::app::draw {

/// Shows lines of at most `width` beside the rectangle that they explain. Further calls in the
/// frame add their text to the same tooltip, below a separating line. Shows nothing after a click,
/// until the mouse moves.
void tooltip(const FontRef& font, ImVec2 padding, float width, std::string_view text,
             const Rect& about);

/// The tooltip of text that is cut to fit into the rectangle, while the mouse is over it.
void explain_shortened(const FontRef& font, std::string_view whole, const Rect& rect);

/// Tooltips of this frame and the next are placed beside this card, which the user is reading, if
/// there is room.
void keep_clear(const Rect& card);

/// The upper left corner of a tooltip of this size on a display: near the pointer, at the first of
/// these sides of the rectangle where it fits without covering a card: below, above, right, left;
/// else beside a card; else anywhere on the display.
ImVec2 place_beside(const Rect& about, ImVec2 size, ImVec2 pointer, ImVec2 display,
                    std::span<const Rect> cards = {});

/// A rectangle around the pointer, for something that has no rectangle.
Rect around_pointer(float radius);

}  // namespace attnscope::app::draw
