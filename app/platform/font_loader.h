/// Finds Debian's Inter and DejaVu fonts and puts them into Dear ImGui's atlas.
#pragma once

#include "app/fonts.h"

namespace attnscope::app {

/// Fills the atlas of the current ImGui context with every role at `scale` (1 = the 1600 x 900
/// design). A font that is not installed is replaced by the next best, at last by ImGui's own, so
/// this cannot fail. The texture must be uploaded again afterwards.
Fonts load_fonts(float scale);

}  // namespace attnscope::app
