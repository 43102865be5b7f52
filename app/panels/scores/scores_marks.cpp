/// Marks over the grid of scores: packed sequences, the tile under the playhead, the followed row,
/// what belongs to the thing under the mouse.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "app/draw/canvas.h"
#include "app/panels/parts/softmax_terms.h"
#include "app/panels/scores/scores_frame.h"

namespace attnscope::app {

namespace {

/// Outlines the tile under the playhead, at a size that can be seen, and marks it on each axis. The
/// outline of a large tile is bright and solid only while the tile is on chip or stored.
void draw_current_tile(const ScoresFrame& frame) {
  if (frame.current_i < 0 || frame.current_j < 0) return;
  const draw::Canvas& canvas = frame.context;
  const Theme& theme = frame.context.theme;
  Rect tile = frame.tile_rect(frame.current_i, frame.current_j);
  const ImVec2 center = tile.center();
  const float least = canvas.px(9.0f);
  const bool is_small = tile.width() < least || tile.height() < least;
  const ImVec2 half{std::max(tile.width(), least) * 0.5f, std::max(tile.height(), least) * 0.5f};
  tile = {{center.x - half.x, center.y - half.y}, {center.x + half.x, center.y + half.y}};
  const float border = canvas.px(2.0f);
  draw::outline(
      canvas,
      {{tile.min.x - border, tile.min.y - border}, {tile.max.x + border, tile.max.y + border}},
      theme.card, border, border);
  const TileState state = score_tile_state(frame.snapshot, frame.current_i, frame.current_j);
  const bool bright = is_small || state == TileState::in_sram || state == TileState::stored;
  if (bright) draw::outline(canvas, tile, theme.highlight, border, border);
  if (!bright) draw::dashed_outline(canvas, tile, theme.text_faint, border, canvas.px(4.0f));
  const float length = canvas.px(kMarkLength);
  canvas.list->AddLine({center.x, frame.grid.min.y - length}, {center.x, frame.grid.min.y},
                       theme.highlight, border);
  canvas.list->AddLine({frame.grid.min.x - length, center.y}, {frame.grid.min.x, center.y},
                       theme.highlight, border);
  frame.context.named_rects.add("scores.current_tile", tile);
}

/// Marks the tiles that belong to the thing under the mouse: one, or a whole row or column.
void draw_pointed_tiles(const ScoresFrame& frame) {
  if (!frame.pointed || !(frame.pointed->queries || frame.pointed->keys)) return;
  const AttentionProblem& problem = frame.run().problem();
  const Span rows = frame.pointed->queries.value_or(Span{0, problem.N});
  const Span cols = frame.pointed->keys.value_or(Span{0, problem.N_kv});
  const Rect rect = frame.rect_of({rows, cols});
  draw_pointed(frame.context, rect, PointedOver::values);
  frame.context.named_rects.add("scores.pointed", rect);
}

/// Draws a mark to the left of the row, and lines above and below it: in the current tile if that
/// contains the row, else across the grid; no lines where they would hide the neighbouring rows.
void draw_query_row(const ScoresFrame& frame) {
  if (frame.query_row < 0) return;
  const float top = frame.y_of(frame.query_row);
  const float bottom = frame.y_of(frame.query_row + 1);
  const ImU32 color = color_of(frame.context.theme, Tensor::m);
  draw::marker_right(frame.context, {frame.grid.min.x - 1.0f, (top + bottom) * 0.5f},
                     frame.context.px(7.0f), color);
  Rect row{{frame.grid.min.x, top}, {frame.grid.max.x, bottom}};
  frame.context.named_rects.add("scores.query_row", row);
  constexpr float kLeastHeight = 3.0f;  // pixels
  if (row.height() < kLeastHeight) return;
  const SlotState* slot = score_slot(frame.snapshot);
  const Area area = slot != nullptr ? area_of(frame.snapshot, slot->tile) : Area{};
  const bool in_tile = area.rows.contains(frame.query_row);
  if (in_tile) {
    row.min.x = frame.x_of(area.cols.begin);
    row.max.x = frame.x_of(area.cols.end);
  }
  const float most = std::max(frame.context.px(in_tile ? 2.0f : 1.0f), 1.0f);
  const float thickness = std::round(std::clamp(0.2f * row.height(), 1.0f, most));
  const ImU32 ink = in_tile ? color : with_alpha(color, 0.6f);
  draw::fill(frame.context,
             {{row.min.x, std::round(top) - thickness}, {row.max.x, std::round(top)}}, ink);
  draw::fill(frame.context,
             {{row.min.x, std::round(bottom)}, {row.max.x, std::round(bottom) + thickness}}, ink);
}

}  // namespace

void draw_sequences(const ScoresFrame& frame) {
  const AttentionProblem& problem = frame.run().problem();
  if (!problem.is_packed()) return;
  const draw::Canvas& canvas = frame.context;
  for (Index s = 0; s < problem.sequence_count(); ++s) {
    const Sequence sequence = problem.sequence(s);
    const Rect rect = frame.rect_of(
        {{sequence.query_begin, sequence.query_end}, {sequence.keys.begin, sequence.keys.end}});
    draw::outline(canvas, rect, canvas.theme.text, canvas.px(1.5f));
    frame.context.named_rects.add(fmt::format("scores.sequence.{}", s), rect);
  }
}

void draw_score_marks(const ScoresFrame& frame) {
  draw_current_tile(frame);
  draw_query_row(frame);
  draw_pointed_tiles(frame);
}

}  // namespace attnscope::app
