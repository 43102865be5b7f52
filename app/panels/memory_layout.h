/// How wide and tall boxes are drawn that stand for tensors of very different sizes.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sim/ops/tile_grid.h"

namespace attnscope::app {

/// What is to stand in a row: elements, and the least room that its label needs, and what stands
/// beside its box.
struct RowItem {
  Shape shape;
  float label_width = 0.0f;
  float beside_width = 0.0f;
};

/// Where it stands: the cell that holds box and label, and the box within it.
struct RowPlace {
  float cell_x = 0.0f, cell_width = 0.0f;
  float x = 0.0f, width = 0.0f, height = 0.0f;
};

struct RowLayout {
  std::vector<RowPlace> places;
  /// Pixels per element along both axes; equal unless areas alone are to scale.
  float unit_x = 0.0f, unit_y = 0.0f;
  bool uniform = true;       ///< shapes are to scale, not only areas
  bool any_widened = false;  ///< some box would have been too thin to see
  bool any_heightened = false;

  /// "to scale", "areas to scale", "to scale, but thin ones are drawn wider".
  std::string scale_note() const;
};

/// Places the items side by side in `width` x `height` pixels, `gap` apart, no box thinner than
/// `min_size`. Uses one scale for all of them, at most `most_unit` pixels an element.
RowLayout lay_out_row(std::span<const RowItem> items, float width, float height, float gap,
                      float min_size, float most_unit = std::numeric_limits<float>::infinity());

}  // namespace attnscope::app
