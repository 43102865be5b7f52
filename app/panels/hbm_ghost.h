/// A tensor that is not in HBM in this pass: the outline of the place that it would take, and why
/// it is empty.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/panel.h"
#include "sim/ops/tile_op.h"

namespace attnscope::app {

struct HbmGhost {
  Tensor tensor = Tensor::S;
  Index bytes = 0;                ///< that it would take
  Rect box;                       ///< to scale
  Rect cell;                      ///< with the label
  float top = 0.0f;               ///< of its row: how far up words may stand
  bool stored_elsewhere = false;  ///< by the forward pass, for nothing in this one
};

/// "never stored" or "not read here", in lines that fit in the outline, or above it where it is too
/// flat for words; none where nothing fits.
std::vector<std::string> words_of(const PanelContext& context, const HbmGhost& ghost);

/// Why it is empty, for its hover.
std::string_view about(const HbmGhost& ghost);

/// Draws the outline, its words, and the bytes above them where there is room. Named rectangle:
/// "memory.ghost.TENSOR", where it has words.
void draw_ghost(const PanelContext& context, const HbmGhost& ghost);

}  // namespace attnscope::app
