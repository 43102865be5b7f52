/// The fields in which a prediction is entered, and which show the revealed answer: each in the
/// current ImGui window, `width` wide.
#pragma once

#include <imgui.h>

#include <optional>
#include <string>

#include "app/screen/widgets.h"

namespace attnscope::app {

/// Draws an option as a button that is as tall as its text; once the answer is revealed, `mark`
/// colours it. Returns whether it is pressed.
bool draw_option(const Frame& frame, const std::string& name, const std::string& text, float width,
                 std::optional<ImU32> mark, bool is_button);

// The fields of a lesson's question, for its present draft or answer.

/// Draws a text field with an example of the unit as its hint; `takes_focus` when the question is
/// new. Named rectangle: "lesson.number".
void draw_number_field(const Frame& frame, float width, bool takes_focus);
/// Draws the options as buttons or, once the answer is revealed or in presenter mode, as text with
/// marks. Named rectangles: "lesson.option.a" and so on.
void draw_options(const Frame& frame, float width);
/// Draws the curve drawn by the user and, once `share` is above 0, the computed one. Named
/// rectangle: "lesson.curve".
void draw_curve_field(const Frame& frame, float width, float share);
/// The height of that field.
float curve_height(const Frame& frame, float width);

}  // namespace attnscope::app
