/// Finds Debian's Inter and DejaVu fonts and puts them into Dear ImGui's atlas.
#pragma once

#include <string>
#include <vector>

#include "app/fonts.h"

namespace attnscope::app {

/// Paths of the fonts of each role; empty where none is installed.
struct FontFiles {
  std::string regular;
  std::string semi_bold;
  std::string mono;
  std::string fallback;  ///< for glyphs that the others lack
};
FontFiles find_font_files();

/// Fills the atlas of the current ImGui context with every role at each of the scales (1 = the
/// 1600 x 900 design); the fonts of each scale, in the order of the scales. A font that is not
/// installed is replaced by the next best, finally by ImGui's own, so this cannot fail. The texture
/// must be uploaded again afterwards.
std::vector<Fonts> load_fonts(const FontFiles& files, const std::vector<float>& scales);

}  // namespace attnscope::app
