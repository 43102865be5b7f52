/// A page of the user guide, as its reader shows it: headings, paragraphs, lists, tables, commands
/// with their output, and links.
#pragma once

#include <string>
#include <vector>

#include "app/guide/guide.h"
#include "app/screen/widgets.h"

namespace attnscope::app {

/// Draws the blocks of a page (app/guide/markdown.h) into the current ImGui window, from its cursor
/// down. A block outside the window is laid out only once, to learn its height.
class PageView {
 public:
  /// Lays the page out in `width` pixels. Scrolls to the heading `anchor` when it is not empty.
  /// Returns the link that was clicked: a page of the guide, or "https://..."; empty if there is
  /// none.
  std::string draw(const Frame& frame, const GuidePage& page, float width,
                   const std::string& anchor);

 private:
  std::vector<float> heights_;  ///< the heights of the blocks, in pixels
  // The page and sizes for which the heights are valid
  std::string page_;
  float width_ = 0.0f;
  float text_px_ = 0.0f;
};

}  // namespace attnscope::app
