#include "app/panels/scores_side.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/draw/shapes.h"
#include "app/panels/snapshot_view.h"

namespace attnscope::app {

namespace {

/// A tile smaller than this on the screen gets an enlarged picture beside the grid.
constexpr float kInsetBelow = 46.0f;

/// Answers the height used.
float draw_states(const ScoresFrame& frame, const Rect& area) {
  const Theme& theme = frame.context.theme;
  const draw::Canvas& canvas = frame.canvas;
  const FontRef& font = frame.context.fonts.small;
  const float swatch = font.size;
  const float line = draw::line_height(font) + canvas.px(4.0f);
  float y = area.min.y;
  const auto entry = [&](std::string_view label, const auto& paint) {
    paint(Rect{{area.min.x, y}, {area.min.x + swatch, y + swatch}});
    const float x = area.min.x + swatch * 1.5f;
    draw::text(canvas, font, {x, y}, theme.text_dim, draw::fitted(font, label, area.max.x - x));
    y += line;
  };
  const ImU32 sample = draw::sequential_color(theme, 0.6f);
  entry("in SRAM now", [&](const Rect& box) {
    draw::fill(canvas, box, sample);
    draw::outline(canvas, box, theme.highlight, canvas.px(2.0f), canvas.px(2.0f));
  });
  if (stores_scores(frame.snapshot)) {
    entry("stored in HBM", [&](const Rect& box) { draw::fill(canvas, box, sample); });
  } else {
    entry("done, discarded",
          [&](const Rect& box) { draw::fill(canvas, box, mix(sample, theme.untouched, 0.5f)); });
  }
  entry("not yet", [&](const Rect& box) {
    draw::fill(canvas, box, theme.untouched);
    draw::outline(canvas, box, theme.card_border);
  });
  const auto not_computed = [&](std::string_view label, TileState state) {
    const ImU32 color = skipped_color(theme, state);
    entry(label, [&](const Rect& box) {
      draw::hatch(canvas, box, with_alpha(color, 0.7f), canvas.px(4.0f));
      draw::outline(canvas, box, color);
    });
  };
  const AttentionProblem& problem = frame.run().problem;
  const bool hides = !problem.mask.is_none() || problem.has_key_lengths() || problem.is_packed();
  if (hides) not_computed("skipped by mask", TileState::skipped);
  if (problem.block_mask != nullptr) not_computed("0 in block mask", TileState::left_out);
  entry(fmt::format("query row {}", frame.query_row), [&](const Rect& box) {
    const float middle = box.center().y;
    draw::outline(canvas, {{box.min.x, middle - 2.0f}, {box.max.x, middle + 2.0f}},
                  color_of(theme, Tensor::m), canvas.px(1.5f));
  });
  return y - area.min.y;
}

/// The scale of the values, or why there are none; answers the height used.
float draw_scale(const ScoresFrame& frame, const ScoreCells& cells, const Rect& area) {
  const Theme& theme = frame.context.theme;
  const draw::Canvas& canvas = frame.canvas;
  const FontRef& font = frame.context.fonts.small;
  float y = area.min.y;
  if (!frame.run().has_values) {
    y += draw::wrapped_text(canvas, font, {area.min.x, y}, theme.text_faint,
                            "too large to show values", area.width(), 2);
    return y - area.min.y + canvas.px(6.0f);
  }
  const float width = std::min(area.width(), canvas.px(110.0f));
  draw::ramp(canvas,
             {{area.min.x, y + canvas.px(2.0f)}, {area.min.x + width, y + canvas.px(10.0f)}});
  y += canvas.px(14.0f);
  draw::text(canvas, font, {area.min.x, y}, theme.text_faint,
             draw::fitted(font,
                          fmt::format("{}: {:.2g} … {:.2g}", cells.exact() ? "S" : "S, means",
                                      cells.range().low, cells.range().high),
                          area.width()));
  y += draw::line_height(font);
  draw::text(canvas, font, {area.min.x, y}, theme.text_faint,
             draw::fitted(font, "P: 0 … 1", area.width()));
  y += draw::line_height(font);
  if (frame.snapshot.in_backward()) {
    draw::text(canvas, font, {area.min.x, y}, theme.text_faint,
               draw::fitted(font, "dP, dS: of the tile", area.width()));
    y += draw::line_height(font);
  }
  if (!cells.exact()) {
    draw::text(canvas, font, {area.min.x, y}, theme.text_faint,
               draw::fitted(font, "one cell = a mean", area.width()));
    y += draw::line_height(font);
  }
  return y - area.min.y + canvas.px(6.0f);
}

}  // namespace

float draw_score_legend(const ScoresFrame& frame, const ScoreCells& cells, const Rect& area) {
  const float states = draw_states(frame, area);
  return states + draw_scale(frame, cells, {{area.min.x, area.min.y + states}, area.max});
}

void draw_score_inset(const ScoresFrame& frame, const Rect& area) {
  const SlotState* slot = score_slot(frame.snapshot);
  const float tile_px = frame.grid.width() / static_cast<float>(frame.run().Tc);
  if (slot == nullptr || slot->values.values.empty()) return;
  if (tile_px >= frame.canvas.px(kInsetBelow)) return;

  // A square of the room that is left, under the tile's name
  const Theme& theme = frame.context.theme;
  const FontRef& font = frame.context.fonts.ui_bold;
  const float side = std::min(area.width(), area.height() - draw::line_height(font));
  if (side < frame.canvas.px(48.0f)) return;
  draw::draw_symbol(frame.canvas, font, area.min, text_color_of(theme, slot->tensor),
                    symbol_of(slot->tile));
  const ImVec2 corner{area.min.x, area.min.y + draw::line_height(font)};
  const ValueTile cells = draw::aggregated(slot->values, kTileCells, kTileCells);
  const float unit = side / static_cast<float>(std::max(cells.rows, cells.cols));
  const Rect box{corner,
                 {corner.x + unit * static_cast<float>(cells.cols),
                  corner.y + std::max(unit * static_cast<float>(cells.rows), 4.0f)}};
  const draw::ValueRange range =
      slot->tensor == Tensor::P ? draw::ValueRange{0.0, 1.0} : draw::range_of(cells);
  draw::heat_map(frame.canvas, box, cells,
                 [&](double value) { return score_color(theme, range, value); });
  draw::outline(frame.canvas, box, theme.highlight, frame.canvas.px(1.5f));

  // The chosen row within it
  const Extent extent = extent_of(frame.snapshot, slot->tile);
  if (frame.query_row < extent.row_begin || frame.query_row >= extent.row_end) return;
  const float step = box.height() / static_cast<float>(extent.row_end - extent.row_begin);
  const float y = box.min.y + step * static_cast<float>(frame.query_row - extent.row_begin);
  draw::outline(frame.canvas, {{box.min.x, y}, {box.max.x, y + std::max(step, 3.0f)}},
                color_of(theme, Tensor::m), frame.canvas.px(1.5f));
}

}  // namespace attnscope::app
