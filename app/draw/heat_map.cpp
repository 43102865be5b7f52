#include "app/draw/heat_map.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/rounding.h"

namespace attnscope::app::draw {

ValueTile aggregated(const ValueTile& values, Index max_rows, Index max_cols) {
  if (values.rows <= max_rows && values.cols <= max_cols) return values;
  ValueTile cells;
  cells.rows = std::min(values.rows, max_rows);
  cells.cols = std::min(values.cols, max_cols);
  const auto count = static_cast<std::size_t>(cells.rows * cells.cols);
  std::vector<double> sums(count, 0.0);
  std::vector<Index> finite(count, 0);
  std::vector<std::uint8_t> hidden(count, 0);
  for (Index row = 0; row < values.rows; ++row) {
    const Index cell_row = row * cells.rows / values.rows;
    for (Index col = 0; col < values.cols; ++col) {
      const auto cell =
          static_cast<std::size_t>(cell_row * cells.cols + col * cells.cols / values.cols);
      const double value = values.at(row, col);
      if (std::isfinite(value)) {
        sums[cell] += value;
        ++finite[cell];
      } else if (std::isinf(value)) {
        hidden[cell] = 1;
      }
    }
  }
  cells.values.resize(count);
  for (std::size_t k = 0; k < count; ++k) {
    constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
    const double empty = hidden[k] != 0 ? -kInfinity : kNaN;
    cells.values[k] = finite[k] > 0 ? sums[k] / static_cast<double>(finite[k]) : empty;
  }
  return cells;
}

float ValueRange::position(double value) const {
  if (!(high > low)) return 0.5f;
  return static_cast<float>(std::clamp((value - low) / (high - low), 0.0, 1.0));
}

ValueRange range_of(const ValueTile& values) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double value : values.values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return low <= high ? ValueRange{low, high} : ValueRange{};
}

ImU32 sequential_color(const Theme& theme, float t) {
  // The mix starts slowly, so that lightness rises evenly
  return mix(theme.heat_low, theme.heat_high, t * t * (1.4f - 0.4f * t));
}

void heat_map(const Canvas& canvas, const Rect& rect, const ValueTile& values,
              const CellColor& color) {
  if (values.rows <= 0 || values.cols <= 0) return;
  const float height = rect.height() / static_cast<float>(values.rows);
  const float width = rect.width() / static_cast<float>(values.cols);
  for (Index row = 0; row < values.rows; ++row) {
    const float y = rect.min.y + height * static_cast<float>(row);
    Index begin = 0;
    ImU32 run = color(values.at(row, 0));
    for (Index col = 1; col <= values.cols; ++col) {
      const ImU32 next = col < values.cols ? color(values.at(row, col)) : 0;
      if (col < values.cols && next == run) continue;
      if (run != 0) {
        canvas.list->AddRectFilled({rect.min.x + width * static_cast<float>(begin), y},
                                   {rect.min.x + width * static_cast<float>(col), y + height}, run);
      }
      begin = col;
      run = next;
    }
  }
}

void ramp(const Canvas& canvas, const Rect& rect) {
  constexpr int kSteps = 12;
  const float width = rect.width() / kSteps;
  for (int k = 0; k < kSteps; ++k) {
    const float x = rect.min.x + width * static_cast<float>(k);
    const ImU32 color =
        sequential_color(canvas.theme, (static_cast<float>(k) + 0.5f) / static_cast<float>(kSteps));
    fill(canvas, {{x, rect.min.y}, {x + width, rect.max.y}}, color);
  }
}

}  // namespace attnscope::app::draw
