/// The height of a lesson's step in its card (lesson_card.h), which decides the size of its text.
#pragma once

#include <string_view>

#include "app/draw/prose.h"
#include "app/play/lesson_player.h"
#include "app/screen/widgets.h"

namespace attnscope::app {

/// "Right.", "Wrong.", ...
std::string_view verdict_words(lessons::Verdict::Kind kind);

/// The style of the card's sentences.
draw::ProseStyle lesson_prose(const Frame& frame, const FontRef& font, ImU32 color);

/// The height of the open lesson's current step, which must be prepared, in the frame's fonts: with
/// its answer, so that the text keeps its size when it is revealed; the explanation of a wrong
/// answer counts only when it is shown.
float step_height(const Frame& frame, float width);

}  // namespace attnscope::app
