#include "app/panels/scores_panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/draw/format.h"
#include "app/draw/shapes.h"
#include "app/panels/snapshot_view.h"

namespace attnscope::app {

namespace {

/// A tile smaller than this on the screen gets an enlarged picture beside the grid.
constexpr float kInsetBelow = 46.0f;
constexpr Index kInsetCells = 32;

/// The slot that holds scores or probabilities of the tile under the playhead.
const SlotState* score_slot(const Snapshot& snapshot) {
  for (const Tensor tensor : {Tensor::P, Tensor::S}) {
    const SlotState* slot = find_slot(snapshot, tensor);
    if (slot != nullptr && slot->valid) return slot;
  }
  return nullptr;
}

ImU32 value_color(const Theme& theme, const draw::ValueRange& range, double value) {
  if (std::isnan(value)) return 0;
  if (std::isinf(value)) return mix(theme.untouched, theme.error, 0.12f);
  return draw::sequential_color(theme, range.position(value));
}

}  // namespace

struct ScoresPanel::Frame {
  const Snapshot& snapshot;
  const PanelContext& context;
  draw::Canvas canvas;
  Rect grid;             ///< of all N x N_kv scores
  Index chosen_row = 0;  ///< that was clicked on
  Index query_row = 0;   ///< that the softmax follows: the same row within the current tile

  const RunInfo& run() const { return *snapshot.run; }
  float x_of(Index col) const {
    return grid.min.x +
           grid.width() * static_cast<float>(col) / static_cast<float>(run().problem.N_kv);
  }
  float y_of(Index row) const {
    return grid.min.y +
           grid.height() * static_cast<float>(row) / static_cast<float>(run().problem.N);
  }
  Rect rect_of(const Extent& e) const {
    return {{x_of(e.col_begin), y_of(e.row_begin)}, {x_of(e.col_end), y_of(e.row_end)}};
  }
  /// The tile under the playhead, on the plain grid.
  Rect tile_rect(Index i, Index j) const {
    const Tiling& tiling = run().tiling;
    const AttentionProblem& problem = run().problem;
    return rect_of({i * tiling.Br, std::min((i + 1) * tiling.Br, problem.N), j * tiling.Bc,
                    std::min((j + 1) * tiling.Bc, problem.N_kv)});
  }
};

void ScoresPanel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  if (!has_run(snapshot, context, "SCORES")) return;
  const RunInfo& run = *snapshot.run;
  cells_.update(snapshot.run);
  const std::string note =
      fmt::format("{} × {} tiles of {} × {}", run.Tr, run.Tc, run.tiling.Br, run.tiling.Bc);
  const Rect rest = draw_panel_header(context, "SCORES", "S = scale · Q Kᵀ", note);

  // Leave room for the axes at the left and above, the legend at the right
  const Fonts& fonts = context.fonts;
  const draw::Canvas canvas = canvas_of(context);
  const float left = fonts.small.size * 1.4f + fonts.mono_small.measure("0000").x + canvas.px(6.0f);
  const float above = draw::line_height(fonts.small) + draw::line_height(fonts.mono_small);
  const float legend = fonts.small.measure("done, discarded").x + fonts.small.size * 2.2f;
  const ImVec2 room{rest.width() - left - legend - canvas.px(12.0f), rest.height() - above};
  if (room.x < canvas.px(40.0f) || room.y < canvas.px(40.0f)) return;

  // To scale, unless one axis would be too thin to read
  const auto rows = static_cast<float>(run.problem.N);
  const auto cols = static_cast<float>(run.problem.N_kv);
  const float unit = std::min(room.x / cols, room.y / rows);
  const ImVec2 size{std::max(cols * unit, canvas.px(40.0f)),
                    std::max(rows * unit, canvas.px(40.0f))};
  const Index chosen = std::clamp<Index>(view.query_row, 0, run.problem.N - 1);
  const SoftmaxRow& followed = snapshot.softmax_row;
  const ImVec2 corner{std::round(rest.min.x + left), std::round(rest.min.y + above)};
  const Frame frame{snapshot, context,
                    canvas,   {corner, {corner.x + size.x, corner.y + size.y}},
                    chosen,   followed.j >= 0 || followed.m ? followed.query : chosen};
  context.named_rects.add("scores.grid", frame.grid);

  draw_cells(frame);
  draw_tiles_on_chip(frame);
  draw_query_row(frame);
  draw_axes(frame);
  Rect side{{frame.grid.max.x + canvas.px(14.0f), frame.grid.min.y}, rest.max};
  side.min.y += draw_legend(frame, side);
  draw_inset(frame, side);
  point_at(frame, view);
}

void ScoresPanel::draw_cells(const Frame& frame) const {
  const Theme& theme = frame.context.theme;
  const draw::Canvas& canvas = frame.canvas;
  draw::fill(canvas, frame.grid, theme.untouched);

  // States of tiles are looked up once for each pair of cell stretches that differ
  for (std::size_t r = 0; r < cells_.rows().size(); ++r) {
    const CellSpan& rows = cells_.rows()[r];
    TileState state = TileState::untouched;
    Index known_tile = -1;
    for (std::size_t c = 0; c < cells_.cols().size(); ++c) {
      const CellSpan& cols = cells_.cols()[c];
      if (cols.tile != known_tile) state = score_tile_state(frame.snapshot, rows.tile, cols.tile);
      known_tile = cols.tile;
      if (state == TileState::untouched) continue;
      const Rect cell = frame.rect_of({rows.begin, rows.end, cols.begin, cols.end});
      if (state == TileState::skipped) {
        draw::fill(canvas, cell, mix(theme.card, theme.error, 0.10f));
        continue;
      }
      const ImU32 known = value_color(theme, cells_.range(), cells_.mean(r, c));
      const ImU32 plain = color_of(theme, Tensor::S);
      const ImU32 color = known != 0 ? known : mix(theme.untouched, plain, 0.45f);
      const float faded = state == TileState::discarded ? 0.5f : 0.0f;
      draw::fill(canvas, cell, mix(color, theme.untouched, faded));
    }
  }

  // Borders of tiles, where they are apart enough
  const float tile_px = frame.grid.width() / static_cast<float>(frame.run().Tc);
  if (tile_px < canvas.px(5.0f)) {
    draw::outline(canvas, frame.grid, theme.grid);
    return;
  }
  for (Index i = 0; i < frame.run().Tr; ++i) {
    for (Index j = 0; j < frame.run().Tc; ++j) {
      if (score_tile_state(frame.snapshot, i, j) != TileState::skipped) continue;
      const Rect tile = frame.tile_rect(i, j);
      const ImU32 red = with_alpha(theme.error, 0.55f);
      if (tile_px >= canvas.px(14.0f)) draw::hatch(canvas, tile, red, canvas.px(7.0f));
      draw::outline(canvas, tile, red);
    }
  }
  draw_borders(frame, tile_px);
}

void ScoresPanel::draw_borders(const Frame& frame, float tile_px) const {
  // A gap between tiles, and where there is room an outline of each
  const Theme& theme = frame.context.theme;
  const draw::Canvas& canvas = frame.canvas;
  const RunInfo& run = frame.run();
  const float gap = tile_px >= canvas.px(24.0f) ? canvas.px(3.0f) : 1.0f;
  for (Index i = 1; i < run.Tr; ++i) {
    const float y = frame.y_of(i * run.tiling.Br);
    canvas.list->AddLine({frame.grid.min.x, y}, {frame.grid.max.x, y}, theme.card, gap);
  }
  for (Index j = 1; j < run.Tc; ++j) {
    const float x = frame.x_of(j * run.tiling.Bc);
    canvas.list->AddLine({x, frame.grid.min.y}, {x, frame.grid.max.y}, theme.card, gap);
  }
  if (tile_px < canvas.px(24.0f)) return draw::outline(canvas, frame.grid, theme.card_border);
  for (Index i = 0; i < run.Tr; ++i) {
    for (Index j = 0; j < run.Tc; ++j) {
      const Rect tile = frame.tile_rect(i, j);
      draw::outline(canvas, {{tile.min.x + 1, tile.min.y + 1}, {tile.max.x - 1, tile.max.y - 1}},
                    with_alpha(theme.card_border, 0.8f), 1.0f, canvas.px(2.0f));
    }
  }
}

void ScoresPanel::draw_tiles_on_chip(const Frame& frame) const {
  const Theme& theme = frame.context.theme;
  for (const Tensor tensor : {Tensor::S, Tensor::P}) {
    const SlotState* slot = find_slot(frame.snapshot, tensor);
    if (slot == nullptr || !slot->valid) continue;
    const Rect rect = frame.rect_of(extent_of(frame.snapshot, slot->tile));

    // Probabilities have a scale of their own, 0 to 1
    if (!slot->values.values.empty() && rect.width() >= frame.canvas.px(8.0f)) {
      const draw::ValueRange range =
          tensor == Tensor::P ? draw::ValueRange{0.0, 1.0} : cells_.range();
      draw::heat_map(frame.canvas, rect,
                     draw::aggregated(slot->values, kInsetCells, 2 * kInsetCells),
                     [&](double value) { return value_color(theme, range, value); });
    }
    const float border = frame.canvas.px(2.0f);
    const Rect around{{rect.min.x - border * 0.5f, rect.min.y - border * 0.5f},
                      {rect.max.x + border * 0.5f, rect.max.y + border * 0.5f}};
    draw::outline(frame.canvas, around, theme.highlight, border, frame.canvas.px(2.0f));
  }
}

void ScoresPanel::draw_query_row(const Frame& frame) const {
  // A bracket around the row within the tile that is being worked on, a mark at the left
  const Theme& theme = frame.context.theme;
  const float top = frame.y_of(frame.query_row);
  const float bottom = std::max(frame.y_of(frame.query_row + 1), top + frame.canvas.px(3.0f));
  const ImU32 color = color_of(theme, Tensor::m);
  const float chosen_y = (frame.y_of(frame.chosen_row) + frame.y_of(frame.chosen_row + 1)) * 0.5f;
  draw::marker_right(frame.canvas, {frame.grid.min.x - 1.0f, chosen_y}, frame.canvas.px(7.0f),
                     color);
  const Index tile = frame.query_row / frame.run().tiling.Br;
  Rect row{{frame.grid.min.x, top}, {frame.grid.max.x, bottom}};
  if (tile == frame.snapshot.i) {
    const Rect current = frame.tile_rect(frame.snapshot.i, frame.snapshot.j);
    row.min.x = current.min.x;
    row.max.x = current.max.x;
    draw::outline(frame.canvas, row, color, frame.canvas.px(1.5f));
  } else {
    draw::outline(frame.canvas, row, with_alpha(color, 0.5f), 1.0f);
  }
}

void ScoresPanel::draw_axes(const Frame& frame) const {
  const Fonts& fonts = frame.context.fonts;
  const Theme& theme = frame.context.theme;
  const draw::Canvas& canvas = frame.canvas;
  const RunInfo& run = frame.run();
  const float name_y =
      frame.grid.min.y - draw::line_height(fonts.small) - draw::line_height(fonts.mono_small);
  const std::string columns = fmt::format("j: key columns, N_kv = {}  →", run.problem.N_kv);
  const float left_edge = frame.context.rect.min.x + canvas.px(14.0f);
  draw::text(canvas, fonts.small, {std::max(frame.grid.min.x, left_edge), name_y}, theme.text_faint,
             draw::fitted(fonts.small, columns,
                          frame.context.rect.max.x - canvas.px(14.0f) - frame.grid.min.x));
  const std::string rows = fmt::format("←  i: query rows, N = {}", run.problem.N);
  draw::vertical_text(canvas, fonts.small,
                      {left_edge + fonts.small.size * 0.5f, frame.grid.center().y},
                      theme.text_faint, draw::fitted(fonts.small, rows, frame.grid.height()));

  // Indices of tiles, thinned out where they would touch; the current one always
  const FontRef& font = fonts.mono_small;
  const auto draw_indices = [&](Index count, Index current, float room, float tile_px,
                                const auto& put) {
    const Index every =
        std::max<Index>(1, static_cast<Index>(std::ceil(room / std::max(tile_px, 0.001f))));
    for (Index index = 0; index < count; index += every) {
      const bool close = std::abs(static_cast<float>(index - current)) * tile_px < room;
      if (index != current && !close) put(index, theme.text_faint);
    }
    if (current >= 0 && current < count) put(current, theme.text);
  };
  const float row_px = frame.grid.height() / static_cast<float>(run.Tr);
  draw_indices(run.Tr, frame.snapshot.i, font.size * 1.1f, row_px, [&](Index i, ImU32 color) {
    const Rect tile = frame.tile_rect(i, 0);
    draw::text(canvas, font,
               {frame.grid.min.x - canvas.px(10.0f), tile.center().y - font.size * 0.5f}, color,
               std::to_string(i), draw::Align::right);
  });
  const float col_px = frame.grid.width() / static_cast<float>(run.Tc);
  draw_indices(run.Tc, frame.snapshot.j, font.measure("0000").x, col_px, [&](Index j, ImU32 color) {
    const Rect tile = frame.tile_rect(0, j);
    draw::text(canvas, font, {tile.center().x, frame.grid.min.y - draw::line_height(font)}, color,
               std::to_string(j), draw::Align::center);
  });
}

float ScoresPanel::draw_legend(const Frame& frame, const Rect& area) const {
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
  if (!frame.run().problem.mask.is_none()) {
    entry("skipped by mask", [&](const Rect& box) {
      draw::hatch(canvas, box, with_alpha(theme.error, 0.7f), canvas.px(4.0f));
      draw::outline(canvas, box, theme.error);
    });
  }
  entry(fmt::format("query row {}", frame.query_row), [&](const Rect& box) {
    const float middle = box.center().y;
    draw::outline(canvas, {{box.min.x, middle - 2.0f}, {box.max.x, middle + 2.0f}},
                  color_of(theme, Tensor::m), canvas.px(1.5f));
  });

  // The scale of the values, or why there are none
  if (!frame.run().has_values) {
    y += draw::wrapped_text(canvas, font, {area.min.x, y}, theme.text_faint,
                            "too large to show values", area.width(), 2);
    return y - area.min.y + canvas.px(6.0f);
  }
  const float width = std::min(area.width(), canvas.px(110.0f));
  draw::ramp(canvas,
             {{area.min.x, y + canvas.px(2.0f)}, {area.min.x + width, y + canvas.px(10.0f)}});
  y += canvas.px(14.0f);
  draw::text(
      canvas, font, {area.min.x, y}, theme.text_faint,
      draw::fitted(font, fmt::format("S: {:.2g} … {:.2g}", cells_.range().low, cells_.range().high),
                   area.width()));
  y += draw::line_height(font);
  draw::text(canvas, font, {area.min.x, y}, theme.text_faint,
             draw::fitted(font, "P: 0 … 1", area.width()));
  y += draw::line_height(font);
  if (!cells_.exact()) {
    draw::text(canvas, font, {area.min.x, y}, theme.text_faint,
               draw::fitted(font, "one cell = a mean", area.width()));
    y += draw::line_height(font);
  }
  return y - area.min.y + canvas.px(6.0f);
}

void ScoresPanel::draw_inset(const Frame& frame, const Rect& area) const {
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
  const ValueTile cells = draw::aggregated(slot->values, kInsetCells, kInsetCells);
  const float unit = side / static_cast<float>(std::max(cells.rows, cells.cols));
  const Rect box{corner,
                 {corner.x + unit * static_cast<float>(cells.cols),
                  corner.y + std::max(unit * static_cast<float>(cells.rows), 4.0f)}};
  const draw::ValueRange range =
      slot->tensor == Tensor::P ? draw::ValueRange{0.0, 1.0} : draw::range_of(cells);
  draw::heat_map(frame.canvas, box, cells,
                 [&](double value) { return value_color(theme, range, value); });
  draw::outline(frame.canvas, box, theme.highlight, frame.canvas.px(1.5f));

  // The chosen row within it
  const Extent extent = extent_of(frame.snapshot, slot->tile);
  if (frame.query_row < extent.row_begin || frame.query_row >= extent.row_end) return;
  const float step = box.height() / static_cast<float>(extent.row_end - extent.row_begin);
  const float y = box.min.y + step * static_cast<float>(frame.query_row - extent.row_begin);
  draw::outline(frame.canvas, {{box.min.x, y}, {box.max.x, y + std::max(step, 3.0f)}},
                color_of(theme, Tensor::m), frame.canvas.px(1.5f));
}

void ScoresPanel::point_at(const Frame& frame, ViewState& view) const {
  if (!hovered(frame.grid)) return;
  const RunInfo& run = frame.run();
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const auto element = [](float at, float begin, float size, Index count) {
    const auto index = static_cast<Index>((at - begin) / size * static_cast<float>(count));
    return std::clamp<Index>(index, 0, count - 1);
  };
  const Index row = element(mouse.y, frame.grid.min.y, frame.grid.height(), run.problem.N);
  const Index col = element(mouse.x, frame.grid.min.x, frame.grid.width(), run.problem.N_kv);
  const Index i = row / run.tiling.Br;
  const Index j = col / run.tiling.Bc;
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) view.query_row = row;

  std::string lines = fmt::format("query {}, key {}  ·  tile i = {}, j = {}\n{}", row, col, i, j,
                                  to_string(score_tile_state(frame.snapshot, i, j)));
  for (const Tensor tensor : {Tensor::S, Tensor::P}) {
    const SlotState* slot = find_slot(frame.snapshot, tensor);
    if (slot == nullptr || !slot->valid || slot->values.values.empty()) continue;
    const Extent extent = extent_of(frame.snapshot, slot->tile);
    if (!extent.contains(row, col)) continue;
    lines += fmt::format(
        "\n{} on chip = {}", display_name(tensor),
        draw::format_value(slot->values.at(row - extent.row_begin, col - extent.col_begin)));
  }
  if (!run.reference_scores.values.empty()) {
    const double score = run.reference_scores.at(row, col);
    lines += std::isinf(score) ? "\nhidden by the mask"
                               : fmt::format("\nscore = {}, from the reference in double precision",
                                             draw::format_value(score));
  }
  lines += fmt::format("\nclick: follow query row {}", row);
  tooltip(frame.context, lines);
}

}  // namespace attnscope::app
