/// What the list of a text field offers for the choice that is shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/view_state.h"

namespace attnscope::app {

/// A text of the list.
struct TextPreset {
  std::string text;   ///< as it may be typed
  std::string label;  ///< what the list shows; empty: the text
  std::string help;
};

/// The usual values of a part of the choice (app/choice_text.h); files: those of the folder.
std::vector<TextPreset> text_presets(std::string_view name, const Choice& choice);

}  // namespace attnscope::app
