/// The text of a frame of Dear ImGui, read back from its draw lists, and its defects: letters that
/// are cut, covered or crossed, pieces of text that overlap, and shortened text.
#pragma once

#include <imgui.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/named_rects.h"
#include "tests/app/screen/screen_session.h"

namespace attnscope::test {

/// Letters of one font on one line, with the spaces between them.
struct ScreenText {
  std::string words;
  float size = 0.0f;               ///< size of the font, in pixels
  app::Rect rect;                  ///< rectangle around the ink of all letters, in pixels
  std::vector<app::Rect> ink;      ///< the ink of each letter that no surface covers
  std::vector<std::string> wrong;  ///< defects in words, such as "cut"; empty: none
};

/// The pieces of text of the last frame that are visible at least in part, in the order in which
/// they were drawn. A piece of text is wrong if its clip rectangle cuts a letter, if a later
/// surface covers the middle of a letter, if an oblique line crosses it, or if it overlaps another
/// one, in each case by more than a pixel. Text that a later window hides as a whole is not listed.
std::vector<ScreenText> texts_on_screen();

/// Whether a piece of text of the last frame contains the words.
bool is_on_screen(std::string_view words);

/// Whether "…" replaces the rest of the text, as in "FlashAttent…".
bool is_shortened(const std::string& words);

/// What check_texts() looks at.
struct TextCheck {
  float least_size = 8.0f;  ///< of a font, in pixels
  /// A card or a popup above the panels: only text within it, which it may hide in part.
  std::optional<app::Rect> within = {};
  /// Lists that scroll: they cut text at their edges.
  bool scrolls = false;
};

/// Fails for every text of the last frame with a defect, and for one that is too small. A shortened
/// text is a defect, except the value of a box, such as the title of a scene, and a line of CUDA
/// source. The mouse points at each value and at one line per session: a tooltip must show it in
/// full.
void check_texts(ScreenSession& session, const std::string& where, const TextCheck& check);

/// Checks the text of a card and of the panels beside it, as they are now, at 1280 x 720 and at
/// 1600 x 900, with small and large text. Leaves the second size, with small text.
void check_card_texts(ScreenSession& session, const std::string& where);

}  // namespace attnscope::test
