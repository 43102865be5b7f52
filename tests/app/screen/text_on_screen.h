/// The texts of a frame of Dear ImGui, read back from its draw lists, and what is wrong with them:
/// letters that are cut, covered or crossed, and texts that overlap.
#pragma once

#include <imgui.h>

#include <string>
#include <vector>

#include "app/ui/named_rects.h"

namespace attnscope::test {

/// Letters of one font on one line, with the spaces between them.
struct ScreenText {
  std::string words;
  float size = 0.0f;               ///< size of the font, in pixels
  app::Rect rect;                  ///< rectangle around the ink of all letters, in pixels
  std::vector<app::Rect> ink;      ///< rectangle around the ink of each letter
  std::vector<std::string> wrong;  ///< defects in words, such as "cut"; empty: none
};

/// The texts of the last frame that are visible at least in part, in the order in which they were
/// drawn. A text is wrong if its clip rectangle cuts a letter, if a later surface covers the
/// middle of a letter, if an oblique line crosses it, or if it overlaps another text, in each case
/// by more than a pixel. A text that a later window hides as a whole is not listed.
std::vector<ScreenText> texts_on_screen();

}  // namespace attnscope::test
