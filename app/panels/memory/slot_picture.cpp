#include "app/panels/memory/memory_boxes.h"

#include <algorithm>
#include <cmath>

#include "app/draw/heat_map.h"

namespace attnscope::app {

namespace {

/// Smallest size of a cell of values in pixels, and largest number of cells.
constexpr float kCellPixels = 3.5f;
constexpr Index kMostRows = 24;
constexpr Index kMostCols = 64;

void draw_undefined(const draw::Canvas& canvas, const Rect& box, ImU32 color) {
  draw::fill(canvas, box, mix(canvas.theme.inset, color, 0.06f));
  draw::dots(canvas, box, with_alpha(color, 0.55f), canvas.px(5.0f));
  draw::outline(canvas, box, with_alpha(color, 0.6f));
}

void draw_values(const draw::Canvas& canvas, const ValueTile& values, const Rect& box,
                 ImU32 color) {
  const auto count = [&](float pixels, Index most) {
    return std::clamp(static_cast<Index>(pixels / canvas.px(kCellPixels)), Index{1}, most);
  };
  const Index rows = count(box.height(), kMostRows);
  const bool few_rows = std::min(rows, values.rows) <= 16;
  const Index cols = count(box.width(), few_rows ? kMostCols : kMostRows);
  const ValueTile cells = draw::aggregated(values, rows, cols);
  double largest = 0.0;
  for (const double value : cells.values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  draw::heat_map(canvas, box, cells, [&](double value) -> ImU32 {
    if (!std::isfinite(value)) return mix(canvas.theme.inset, color, 0.1f);
    const double strength = largest > 0.0 ? std::abs(value) / largest : 0.0;
    return mix(canvas.theme.inset, color, 0.35f + 0.65f * static_cast<float>(strength));
  });
}

}  // namespace

void draw_slot_contents(const draw::Canvas& canvas, const SlotState& slot, const Rect& box,
                        const Area& area) {
  const ImU32 color = color_of(canvas.theme, slot.tensor);
  if (!slot.valid) return draw_undefined(canvas, box, color);

  // A ragged tile leaves a part of its slot undefined
  const auto share = [](Index used, Index all) {
    return all > 0 ? std::min(1.0f, static_cast<float>(used) / static_cast<float>(all)) : 1.0f;
  };
  const float width = box.width() * share(area.cols.size(), slot.capacity.cols);
  const float height = box.height() * share(area.rows.size(), slot.capacity.rows);
  if (width < box.width() - 0.5f || height < box.height() - 0.5f) {
    draw_undefined(canvas, box, color);
  }
  const Rect part{box.min, {box.min.x + width, box.min.y + height}};
  draw::fill(canvas, part, mix(canvas.theme.inset, color, 0.85f));
  if (!slot.values.values.empty()) draw_values(canvas, slot.values, part, color);
  if (is_gradient(slot.tensor)) hatch_gradient(canvas, part);
}

void draw_last_used(const draw::Canvas& canvas, Tensor tensor, const Rect& box) {
  const ImU32 color = color_of(canvas.theme, tensor);
  draw::fill(canvas, box, mix(canvas.theme.inset, color, 0.45f));
  if (is_gradient(tensor)) hatch_gradient(canvas, box);
  draw::dashed_outline(canvas, box, color, canvas.px(2.0f), canvas.px(4.0f));
}

}  // namespace attnscope::app
