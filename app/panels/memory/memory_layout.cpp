#include "app/panels/memory/memory_layout.h"

#include <algorithm>

namespace attnscope::app {

namespace {

/// If no box is at least this many times as tall as the smallest size, only areas are to scale, not
/// shapes.
constexpr float kTooFlat = 7.0f;

/// Fraction of the desired gap that is always left between cells.
constexpr float kLeastGap = 0.4f;

float cell_width(const RowItem& item, float unit_x, float min_size) {
  const float box = std::max(static_cast<float>(item.shape.cols) * unit_x, min_size);
  return std::max(box + 2.0f * item.beside_width, item.label_width);
}

float total_width(std::span<const RowItem> items, float unit_x, float gap, float min_size) {
  float total = items.empty() ? 0.0f : gap * static_cast<float>(items.size() - 1);
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
  if (!scale.largest_true) return "not to scale";
  std::string note = scale.uniform ? "to scale" : "areas to scale";
  if (any_widened || any_heightened) note += ", thin ones drawn wider";
  return note;
}

RowScale choose_scale(std::span<const std::vector<RowItem>> rows, float width, float height,
                      float gap, float min_size) {
  RowScale scale{.gap = gap};
  Index max_rows = 1;
  Index max_cols = 1;
  for (const auto& items : rows) {
    for (const RowItem& item : items) {
      max_rows = std::max(max_rows, item.shape.rows);
      max_cols = std::max(max_cols, item.shape.cols);
    }
    // Labels that leave no room for boxes are placed closer together
    const float least = total_width(items, 0.0f, 0.0f, min_size);
    if (items.size() < 2) continue;
    const float spare = (width - least) / static_cast<float>(items.size() - 1);
    scale.gap = std::min(scale.gap, std::max(0.5f * spare, kLeastGap * gap));
  }

  // Use one scale for both axes if the picture then fills enough of its room
  scale.unit_y = height / static_cast<float>(max_rows);
  scale.unit_x = width;
  for (const auto& items : rows) {
    scale.unit_x = std::min(scale.unit_x, widest_unit(items, width, scale.gap, min_size));
    scale.fits = scale.fits && total_width(items, 0.0f, scale.gap, min_size) <= width;
  }
  const float unit = std::min(scale.unit_x, scale.unit_y);
  const bool flat =
      unit * static_cast<float>(max_rows) < std::min(kTooFlat * min_size, 0.6f * height);
  const bool thin = unit * static_cast<float>(max_cols) < 3.0f * min_size;
  scale.uniform = !flat && !thin;
  if (scale.uniform) scale.unit_x = scale.unit_y = unit;
  if (thin) scale.unit_x = std::min(scale.unit_x, 0.5f * height / static_cast<float>(max_cols));
  scale.largest_true = static_cast<float>(max_cols) * scale.unit_x >= min_size &&
                       static_cast<float>(max_rows) * scale.unit_y >= min_size;
  return scale;
}

RowLayout lay_out_row(std::span<const RowItem> items, const RowScale& scale, float width,
                      float min_size) {
  RowLayout layout;
  layout.scale = scale;
  if (items.empty()) return layout;

  // Distribute the surplus over the cells, or the deficit
  const float gaps = scale.gap * static_cast<float>(items.size() - 1);
  const float used = total_width(items, scale.unit_x, 0.0f, min_size);
  const float spare = std::max(width - gaps - used, 0.0f) / static_cast<float>(items.size());
  const float squeeze = std::min((width - gaps) / used, 1.0f);
  float x = spare * 0.5f;
  for (const RowItem& item : items) {
    RowPlace place;
    place.cell_x = x;
    place.cell_width = cell_width(item, scale.unit_x, min_size) * squeeze;
    const float true_width = static_cast<float>(item.shape.cols) * scale.unit_x;
    const float true_height = static_cast<float>(item.shape.rows) * scale.unit_y;
    place.width = std::min(std::max(true_width, min_size), place.cell_width);
    place.height = std::max(true_height, min_size);
    place.x = x + (place.cell_width - place.width) * 0.5f;
    layout.any_widened |= true_width < min_size;
    layout.any_heightened |= true_height < min_size;
    layout.places.push_back(place);
    x += place.cell_width + scale.gap + spare;
  }
  return layout;
}

RowLayout lay_out_row(const std::vector<RowItem>& items, float width, float height, float gap,
                      float min_size) {
  const RowScale scale = choose_scale({&items, 1}, width, height, gap, min_size);
  return lay_out_row(items, scale, width, min_size);
}

}  // namespace attnscope::app
