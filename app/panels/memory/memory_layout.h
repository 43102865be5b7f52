/// The width and height of boxes that represent tensors of very different sizes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/ops/tile_grid.h"

namespace attnscope::app {

/// An item of a row: elements, the room that its label needs, and the room beside its box.
struct RowItem {
  Shape shape;
  float label_width = 0.0f;
  float beside_width = 0.0f;
};

/// The place of an item: the cell with box and label, and the box within it.
struct RowPlace {
  float cell_x = 0.0f, cell_width = 0.0f;
  float x = 0.0f, width = 0.0f, height = 0.0f;
};

/// Pixels per element along both axes; equal unless only areas are to scale.
struct RowScale {
  float unit_x = 0.0f, unit_y = 0.0f;
  bool uniform = true;       ///< true: shapes are to scale; false: only areas
  bool largest_true = true;  ///< whether the widest and the tallest tensor are exactly to scale
  bool fits = true;          ///< whether labels and the smallest boxes fit in the row
  float gap = 0.0f;          ///< between cells
};

struct RowLayout {
  std::vector<RowPlace> places;
  RowScale scale;
  bool any_widened = false;  ///< whether some box would have been too thin to see
  bool any_heightened = false;

  /// "to scale", "areas to scale", "to scale, thin ones drawn wider", "not to scale".
  std::string scale_note() const;
};

/// Chooses one scale for all rows, each of `width` x `height` pixels, with boxes `gap` apart, or
/// less where labels need the room, and no box thinner than `min_size`.
RowScale choose_scale(std::span<const std::vector<RowItem>> rows, float width, float height,
                      float gap, float min_size);

/// Places the items side by side at that scale, within `width` pixels.
RowLayout lay_out_row(std::span<const RowItem> items, const RowScale& scale, float width,
                      float min_size);

/// Places the items of a row that has its own scale.
RowLayout lay_out_row(const std::vector<RowItem>& items, float width, float height, float gap,
                      float min_size);

}  // namespace attnscope::app
