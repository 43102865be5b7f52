/// Buttons of the bars: surfaces with a text or an icon, named for tests that click.
#pragma once

#include <string_view>

#include "app/ui/frame.h"

namespace attnscope::app::ui {

enum class Icon : std::uint8_t { none, play, pause, to_begin, to_end, back, forward };

struct ButtonLook {
  ImU32 surface = 0;
  ImU32 hovered = 0;
  ImU32 text = 0;
  ImU32 border = 0;  ///< 0: none
};

ButtonLook plain_look(const Theme& theme);
ButtonLook primary_look(const Theme& theme);

/// Draws the button and answers whether it was clicked. The icon stands before the text, or after
/// it when it points forward.
bool button(const Frame& frame, std::string_view name, const Rect& rect, std::string_view text,
            Icon icon, const ButtonLook& look);

/// A tooltip in the app's font, wrapped; shown when the last item is hovered.
void tooltip(const Frame& frame, std::string_view text);

/// Escape closes the popup that is being drawn.
void close_popup_on_escape();

/// Text drawn with its middle at `center`.
void draw_centered(ImDrawList* list, const FontRef& font, ImVec2 center, ImU32 color,
                   std::string_view text);

/// The text, cut and ended by an ellipsis where it is wider than `width`.
std::string shortened(const FontRef& font, std::string_view text, float width);

}  // namespace attnscope::app::ui
