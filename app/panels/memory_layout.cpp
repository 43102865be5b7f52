#include "app/panels/memory_layout.h"

#include <algorithm>

namespace attnscope::app {

namespace {

/// When no box is as high as this many times the least size, shapes give way and only areas are to
/// scale.
constexpr float kTooFlat = 7.0f;

float cell_width(const RowItem& item, float unit_x, float min_size) {
  const float box = std::max(static_cast<float>(item.shape.cols) * unit_x, min_size);
  return std::max(box + 2.0f * item.beside_width, item.label_width);
}

float total_width(std::span<const RowItem> items, float unit_x, float gap, float min_size) {
  float total = gap * static_cast<float>(items.size() - 1);
  for (const RowItem& item : items) total += cell_width(item, unit_x, min_size);
  return total;
}

/// The largest horizontal scale at which the row is no wider than `width`.
float widest_unit(std::span<const RowItem> items, float width, float gap, float min_size) {
  float low = 0.0f;
  float high = width;
  for (int k = 0; k < 40; ++k) {
    const float middle = (low + high) * 0.5f;
    (total_width(items, middle, gap, min_size) <= width ? low : high) = middle;
  }
  return low;
}

}  // namespace

std::string RowLayout::scale_note() const {
  std::string note = uniform ? "to scale" : "areas to scale";
  if (any_widened || any_heightened) note += ", thin ones drawn wider";
  return note;
}

RowLayout lay_out_row(std::span<const RowItem> items, float width, float height, float gap,
                      float min_size, float most_unit) {
  RowLayout layout;
  if (items.empty()) return layout;
  Index max_rows = 1;
  Index max_cols = 1;
  for (const RowItem& item : items) {
    max_rows = std::max(max_rows, item.shape.rows);
    max_cols = std::max(max_cols, item.shape.cols);
  }

  // One scale for both axes where the picture then fills a good part of its room
  layout.unit_y = height / static_cast<float>(max_rows);
  layout.unit_x = widest_unit(items, width, gap, min_size);
  const float unit = std::min(layout.unit_x, layout.unit_y);
  const bool flat =
      unit * static_cast<float>(max_rows) < std::min(kTooFlat * min_size, 0.6f * height);
  const bool thin = unit * static_cast<float>(max_cols) < 3.0f * min_size;
  layout.uniform = !flat && !thin;
  if (layout.uniform) layout.unit_x = layout.unit_y = std::min(unit, most_unit);
  if (thin) layout.unit_x = std::min(layout.unit_x, 0.5f * height / static_cast<float>(max_cols));

  // Share what is left over between the cells
  const float used = total_width(items, layout.unit_x, gap, min_size);
  const float spare = std::max(width - used, 0.0f) / static_cast<float>(items.size());
  float x = spare * 0.5f;
  for (const RowItem& item : items) {
    RowPlace place;
    place.cell_x = x;
    place.cell_width = cell_width(item, layout.unit_x, min_size);
    const float true_width = static_cast<float>(item.shape.cols) * layout.unit_x;
    const float true_height = static_cast<float>(item.shape.rows) * layout.unit_y;
    place.width = std::max(true_width, min_size);
    place.height = std::max(true_height, min_size);
    place.x = x + (place.cell_width - place.width) * 0.5f;
    layout.any_widened |= true_width < min_size;
    layout.any_heightened |= true_height < min_size;
    layout.places.push_back(place);
    x += place.cell_width + gap + spare;
  }
  return layout;
}

}  // namespace attnscope::app
