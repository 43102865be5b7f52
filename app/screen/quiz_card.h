/// The quiz on the screen. Its state is in app/play/quiz.h.
#pragma once

#include "app/screen/widgets.h"

namespace attnscope::app {

/// Draws the question with its options, the answer, and how many answers were right. Named
/// rectangles: "quiz.option.a", "quiz.show", "quiz.next", "quiz.leave".
void draw_quiz_card(const Frame& frame, const Rect& rect);

}  // namespace attnscope::app
