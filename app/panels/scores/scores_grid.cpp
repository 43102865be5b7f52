#include "app/panels/scores/scores_frame.h"

#include <fmt/core.h>

#include "app/draw/canvas.h"
#include "app/draw/format.h"
#include "app/panels/parts/softmax_terms.h"

namespace attnscope::app {

namespace {

/// Whether the cells' tensor has values here; without any values, whether the tile was touched.
bool is_computed(const ScoresFrame& frame, TileState state, Index row, Index j) {
  if (state == TileState::untouched) return false;
  const ScoreMatrix& matrix = frame.run().scores(frame.shown);
  return matrix.values.values.empty() ||
         matrix.is_known(frame.snapshot.step, row, j, frame.run().Tc);
}

/// The colour of a cell in a tile of this state.
ImU32 cell_color(const ScoresFrame& frame, const ScoreCells& cells, TileState state,
                 StoredScores stored, double mean) {
  const Theme& theme = frame.context.theme;
  const bool there = cells.tensor != Tensor::S || stored == StoredScores::final_values ||
                     (stored == StoredScores::unmasked && std::isfinite(mean));
  const ImU32 known = there ? score_color(theme, cells.scale, mean) : 0;
  const ImU32 plain = mix(theme.untouched, color_of(theme, cells.tensor), 0.45f);
  const float faded = state == TileState::discarded ? 0.5f : 0.0f;
  return mix(known != 0 ? known : plain, theme.untouched, faded);
}

/// Fills rectangles that come from left to right, neighbours of one colour at once: software
/// renderers spend a frame on thousands of small ones.
class RowOfCells {
 public:
  explicit RowOfCells(const draw::Canvas& canvas) : canvas_(canvas) {}
  ~RowOfCells() { fill(); }
  RowOfCells(const RowOfCells&) = delete;
  RowOfCells& operator=(const RowOfCells&) = delete;

  void add(const Rect& cell, ImU32 color) {
    if (color == color_ && cell.min.x == joined_.max.x) {
      joined_.max.x = cell.max.x;
      return;
    }
    fill();
    joined_ = cell;
    color_ = color;
  }

 private:
  void fill() const {
    if (joined_.width() > 0.0f) draw::fill(canvas_, joined_, color_);
  }

  const draw::Canvas& canvas_;
  Rect joined_{};
  ImU32 color_ = 0;
};

/// Draws values, or plain colours by state, with hatching over tiles that the mask skips.
void draw_cells(const ScoresFrame& frame, const ScoreCells& cells) {
  const Theme& theme = frame.context.theme;
  const StoredScores stored = stored_scores(frame.snapshot);
  const auto color_at = [&](TileState state, const CellSpan& rows, const CellSpan& cols,
                            double mean) {
    if (state == TileState::skipped || state == TileState::left_out) {
      return mix(theme.card, skipped_color(theme, state), 0.10f);
    }
    const Index last_row = std::min(rows.end, (rows.tile + 1) * frame.run().tiling().Br) - 1;
    return is_computed(frame, state, last_row, cols.tile)
               ? cell_color(frame, cells, state, stored, mean)
               : theme.untouched;
  };

  // Look up the state of a tile only if the previous cell is in another tile
  for (std::size_t r = 0; r < cells.rows.size(); ++r) {
    const CellSpan& rows = cells.rows[r];
    RowOfCells row(frame.context);
    TileState state = TileState::untouched;
    Index known_tile = -1;
    for (std::size_t c = 0; c < cells.cols.size(); ++c) {
      const CellSpan& cols = cells.cols[c];
      if (cols.tile != known_tile) state = score_tile_state(frame.snapshot, rows.tile, cols.tile);
      known_tile = cols.tile;
      row.add(frame.rect_of({{rows.begin, rows.end}, {cols.begin, cols.end}}),
              color_at(state, rows, cols, cells.mean(r, c)));
    }
  }
}

void draw_skipped_tiles(const ScoresFrame& frame, float tile_px) {
  const draw::Canvas& canvas = frame.context;
  const Area tiles = frame.visible_tiles();
  for (Index i = tiles.rows.begin; i < tiles.rows.end; ++i) {
    for (Index j = tiles.cols.begin; j < tiles.cols.end; ++j) {
      const TileState state = score_tile_state(frame.snapshot, i, j);
      if (state != TileState::skipped && state != TileState::left_out) continue;
      const ImU32 color = with_alpha(skipped_color(frame.context.theme, state), 0.55f);
      const Rect tile = frame.tile_rect(i, j);
      if (tile_px >= canvas.px(14.0f)) draw::hatch(canvas, tile, color, canvas.px(7.0f));
      draw::outline(canvas, tile, color);
    }
  }
}

void draw_borders(const ScoresFrame& frame, float tile_px) {
  // Draw a gap between tiles, and an outline of each if there is room
  const Theme& theme = frame.context.theme;
  const draw::Canvas& canvas = frame.context;
  const RunInfo& run = frame.run();
  if (tile_px < canvas.px(5.0f)) return draw::outline(canvas, frame.grid, theme.grid);
  draw_skipped_tiles(frame, tile_px);
  const float gap = tile_px >= canvas.px(24.0f) ? canvas.px(3.0f) : 1.0f;
  const Area tiles = frame.visible_tiles();
  for (Index i = tiles.rows.begin + 1; i < tiles.rows.end; ++i) {
    const float y = frame.y_of(i * run.tiling().Br);
    canvas.list->AddLine({frame.grid.min.x, y}, {frame.grid.max.x, y}, theme.card, gap);
  }
  for (Index j = tiles.cols.begin + 1; j < tiles.cols.end; ++j) {
    const float x = frame.x_of(j * run.tiling().Bc);
    canvas.list->AddLine({x, frame.grid.min.y}, {x, frame.grid.max.y}, theme.card, gap);
  }
  if (tile_px < canvas.px(24.0f)) return draw::outline(canvas, frame.grid, theme.card_border);
  for (Index i = tiles.rows.begin; i < tiles.rows.end; ++i) {
    for (Index j = tiles.cols.begin; j < tiles.cols.end; ++j) {
      const Rect tile = frame.tile_rect(i, j);
      draw::outline(canvas, {{tile.min.x + 1, tile.min.y + 1}, {tile.max.x - 1, tile.max.y - 1}},
                    with_alpha(theme.card_border, 0.8f), 1.0f, canvas.px(2.0f));
    }
  }
}

/// The slots whose tiles are drawn, in the order in which they are computed.
std::vector<const SlotState*> drawn_slots(const ScoresFrame& frame) {
  std::vector<const SlotState*> slots;
  for (const SlotState& slot : frame.snapshot.slots) {
    const bool of_scores = std::ranges::find(kScoreTensors, slot.tensor) != kScoreTensors.end();
    const bool drawn = of_scores && (frame.draws_all_slots || slot.tile.tensor == frame.shown);
    if (slot.valid && drawn) slots.push_back(&slot);
  }
  std::ranges::stable_sort(slots, {}, [](const SlotState* slot) { return slot->tensor; });
  return slots;
}

/// The visible elements of a tile on chip; none if it has no values.
Area visible_part(const ScoresFrame& frame, const SlotState& slot) {
  if (slot.values.values.empty()) return {};
  const Area tile = area_of(frame.snapshot, slot.tile);
  const Area seen = frame.visible();
  const auto common = [](const Span& a, const Span& b) {
    return a.meets(b) ? Span{std::max(a.begin, b.begin), std::min(a.end, b.end)} : Span{};
  };
  return {common(tile.rows, seen.rows), common(tile.cols, seen.cols)};
}

/// The values of these elements of the tile in the slot.
ValueTile values_of(const ScoresFrame& frame, const SlotState& slot, const Area& part) {
  const Area tile = area_of(frame.snapshot, slot.tile);
  ValueTile values{part.rows.size(), part.cols.size(), {}};
  for (Index row = part.rows.begin; row < part.rows.end; ++row) {
    for (Index col = part.cols.begin; col < part.cols.end; ++col) {
      values.values.push_back(slot.values.at(row - tile.rows.begin, col - tile.cols.begin));
    }
  }
  return values;
}

void draw_tiles_on_chip(const ScoresFrame& frame, const ScoreCells& cells) {
  const Theme& theme = frame.context.theme;
  for (const SlotState* slot : drawn_slots(frame)) {
    const Rect rect = frame.rect_of(area_of(frame.snapshot, slot->tile));
    const Area part = visible_part(frame, *slot);
    const bool shown = part.rows.size() > 0 && part.cols.size() > 0;
    if (shown && rect.width() >= frame.context.px(8.0f)) {
      const draw::ValueRange range = range_of_slot(frame, cells, *slot);
      const ValueTile values = values_of(frame, *slot, part);
      draw::heat_map(frame.context, frame.rect_of(part),
                     cells_of_slot(frame, cells, *slot, values, {kTileCells, 2 * kTileCells}),
                     [&](double value) { return score_color(theme, range, value); });
    }
    const float border = frame.context.px(2.0f);
    const Rect around{{rect.min.x - border * 0.5f, rect.min.y - border * 0.5f},
                      {rect.max.x + border * 0.5f, rect.max.y + border * 0.5f}};
    draw::outline(frame.context, around, theme.highlight, border, frame.context.px(2.0f));
  }
}

/// A number to write in its element's cell, and the colour under it.
struct CellNumber {
  double value = 0.0;
  ImU32 surface = 0;
};

/// The value that the colour of an element shows: from the last tile on chip, else from the cells.
std::optional<CellNumber> number_at(const ScoresFrame& frame, const ScoreCells& cells, Index row,
                                    Index col) {
  const Theme& theme = frame.context.theme;
  std::optional<CellNumber> number;
  for (const SlotState* slot : drawn_slots(frame)) {
    if (slot->values.values.empty()) continue;
    const Area tile = area_of(frame.snapshot, slot->tile);
    if (!tile.contains(row, col)) continue;
    const double value = slot->values.at(row - tile.rows.begin, col - tile.cols.begin);
    number = {value, score_color(theme, range_of_slot(frame, cells, *slot), value)};
  }
  const ValueTile& values = frame.run().scores(frame.shown).values;
  if (number || values.values.empty()) return number;
  const Tiling& tiling = frame.run().tiling();
  const TileState state = score_tile_state(frame.snapshot, row / tiling.Br, col / tiling.Bc);
  const bool unfinished =
      frame.shown == Tensor::S && stored_scores(frame.snapshot) == StoredScores::unfinished;
  const bool hidden = std::isinf(frame.run().scores(Tensor::S).values.at(row, col));
  if (hidden || unfinished || !is_computed(frame, state, row, col / tiling.Bc)) return number;
  const double value = values.at(row, col);
  const ImU32 color = score_color(theme, cells.scale, value);
  const float faded = state == TileState::discarded ? 0.5f : 0.0f;
  return CellNumber{value, mix(color, theme.untouched, faded)};
}

/// Draws the values of cells that are single elements and have room for them.
void draw_numbers(const ScoresFrame& frame, const ScoreCells& cells) {
  const FontRef& font = frame.context.fonts.mono_small;
  const Area part = frame.visible();
  const Rect first = frame.rect_of({{0, 1}, {0, 1}});
  const bool fits = first.width() >= font.measure("-0.0000").x + frame.context.px(4.0f) &&
                    first.height() >= font.size * 1.2f;
  if (!fits) return;
  for (Index row = part.rows.begin; row < part.rows.end; ++row) {
    for (Index col = part.cols.begin; col < part.cols.end; ++col) {
      const std::optional<CellNumber> number = number_at(frame, cells, row, col);
      if (!number || !std::isfinite(number->value)) continue;
      const ImVec2 middle = frame.rect_of({{row, row + 1}, {col, col + 1}}).center();
      const ImU32 dark = frame.context.theme.text_on_tensor;
      const bool on_dark = contrast_ratio(number->surface, dark) < 4.5;
      draw::text(frame.context, font, {middle.x, middle.y - font.size * 0.5f},
                 on_dark ? IM_COL32_WHITE : dark, draw::format_value(number->value),
                 draw::Align::center);
      frame.context.named_rects.add("scores.number", frame.grid);
    }
  }
}

void draw_axis_names(const ScoresFrame& frame) {
  const Fonts& fonts = frame.context.fonts;
  const Theme& theme = frame.context.theme;
  const draw::Canvas& canvas = frame.context;
  const RunInfo& run = frame.run();
  const float name_y =
      frame.grid.min.y - draw::line_height(fonts.small) - index_line_height(frame.context);
  const Index N_kv = run.problem().N_kv;
  const Tiling& tiling = run.tiling();
  const std::string columns[] = {
      fmt::format("j: column tiles of {} keys, N_kv = {}  →", tiling.Bc, N_kv),
      fmt::format("j: column tiles, N_kv = {}  →", N_kv),
      fmt::format("j: tiles, N_kv = {}  →", N_kv), "j: tiles  →", "j  →"};
  const float left_edge = frame.context.rect.min.x + canvas.px(14.0f);
  draw::text(canvas, fonts.small, {std::max(frame.grid.min.x, left_edge), name_y}, theme.text_faint,
             draw::widest_that_fits(fonts.small, columns, frame.name_end - frame.grid.min.x));
  // With few rows the name continues below the grid
  const Index N = run.problem().N;
  const ShownHead& head = frame.head;
  const std::string rows_in_all = head.packed > 1
                                      ? fmt::format("{} heads × {}", head.packed, head.queries)
                                      : fmt::format("N = {}", N);
  const std::string rows[] = {
      fmt::format("←  i: row tiles of {} queries, {}", tiling.Br, rows_in_all),
      fmt::format("←  i: row tiles, {}", rows_in_all), fmt::format("←  i: tiles, {}", rows_in_all),
      "←  i: tiles", "←  i"};
  const float bottom = frame.context.rect.max.y - canvas.px(12.0f);
  const std::string shown = draw::widest_that_fits(
      fonts.small, rows, std::max(frame.grid.height(), bottom - frame.grid.min.y));
  const float half = fonts.small.measure(shown).x * 0.5f;
  draw::vertical_text(canvas, fonts.small,
                      {left_edge + fonts.small.size * 0.5f,
                       std::max(frame.grid.center().y, frame.grid.min.y + half)},
                      theme.text_faint, shown);
}

/// Draws the indices of tiles, fewer where they would touch; the current one is always shown.
void draw_axis_indices(const ScoresFrame& frame) {
  const Theme& theme = frame.context.theme;
  const draw::Canvas& canvas = frame.context;
  const FontRef& font = frame.context.fonts.mono_small;
  const Area tiles = frame.visible_tiles();
  const auto draw_indices = [&](const Span& shown, Index current, float room, float tile_px,
                                const auto& put) {
    const Index every =
        std::max<Index>(1, static_cast<Index>(std::ceil(room / std::max(tile_px, 0.001f))));
    const Index first = (shown.begin + every - 1) / every * every;
    const bool has_current = current >= shown.begin && current < shown.end;
    for (Index index = first; index < shown.end; index += every) {
      const bool close =
          has_current && std::abs(static_cast<float>(index - current)) * tile_px < room;
      if (!close) put(index, theme.text_faint);
    }
    if (has_current) put(current, theme.text);
  };
  const float row_px = frame.tile_height();
  draw_indices(tiles.rows, frame.current_i, font.size * 1.1f, row_px, [&](Index i, ImU32 color) {
    const Rect tile = frame.tile_rect(i, tiles.cols.begin);
    const float middle =
        0.5f * (std::max(tile.min.y, frame.grid.min.y) + std::min(tile.max.y, frame.grid.max.y));
    draw::text(canvas, font, {frame.grid.min.x - canvas.px(10.0f), middle - font.size * 0.5f},
               color, std::to_string(i), draw::Align::right);
  });
  const float col_px = frame.tile_width();
  const float label = font.measure(std::to_string(tiles.cols.end - 1) + "0").x;
  draw_indices(tiles.cols, frame.current_j, label, col_px, [&](Index j, ImU32 color) {
    const Rect tile = frame.tile_rect(tiles.rows.begin, j);
    const float middle =
        0.5f * (std::max(tile.min.x, frame.grid.min.x) + std::min(tile.max.x, frame.grid.max.x));
    draw::text(canvas, font, {middle, frame.grid.min.y - index_line_height(frame.context)}, color,
               std::to_string(j), draw::Align::center);
  });
}

}  // namespace

const SlotState* top_slot(const ScoresFrame& frame) {
  const std::vector<const SlotState*> slots = drawn_slots(frame);
  return slots.empty() ? nullptr : slots.back();
}

bool shares_cells(const ScoresFrame& frame, const ScoreCells& cells, const SlotState& slot) {
  // In a forward pass, P on chip is not divided by l yet
  const Tensor tensor = slot.tile.tensor;
  const bool final_values = tensor == Tensor::S
                                ? stored_scores(frame.snapshot) != StoredScores::unfinished
                            : tensor == Tensor::P ? frame.snapshot.in_backward()
                                                  : true;
  if (tensor != cells.tensor || !final_values) return false;
  constexpr Index kLeastCells = 8;  // fewer along an axis would not show what is in the tile
  const Tiling& tiling = frame.run().tiling();
  return cells.is_exact() ||
         (cells.size.rows * kLeastCells <= tiling.Br && cells.size.cols * kLeastCells <= tiling.Bc);
}

draw::ValueRange range_of_slot(const ScoresFrame& frame, const ScoreCells& cells,
                               const SlotState& slot) {
  return shares_cells(frame, cells, slot) ? cells.scale : draw::range_of(slot.values);
}

ValueTile cells_of_slot(const ScoresFrame& frame, const ScoreCells& cells, const SlotState& slot,
                        const ValueTile& part, Shape most) {
  if (shares_cells(frame, cells, slot) && !cells.is_exact()) {
    most = {ceil_div(part.rows, cells.size.rows), ceil_div(part.cols, cells.size.cols)};
  }
  return draw::aggregated(part, most.rows, most.cols);
}

Area ScoresFrame::visible() const {
  const auto elements_of = [](const draw::ZoomedAxis& axis, Index size) {
    const auto first = static_cast<Index>(axis.begin * static_cast<double>(size));
    const auto past = static_cast<Index>(std::ceil(axis.end * static_cast<double>(size)));
    return Span{std::min(first, size - 1), std::min(past, size)};
  };
  return {elements_of(rows, run().problem().N), elements_of(cols, run().problem().N_kv)};
}

Area ScoresFrame::visible_tiles() const {
  const auto [row, col] = visible();
  const Tiling& tiling = run().tiling();
  return {{row.begin / tiling.Br, ceil_div(row.end, tiling.Br)},
          {col.begin / tiling.Bc, ceil_div(col.end, tiling.Bc)}};
}

void draw_score_grid(const ScoresFrame& frame, const ScoreCells& cells) {
  // A zoomed picture ends at the grid's edge; marks of an unzoomed one may extend beyond it
  const bool zoomed = !(frame.rows.is_whole() && frame.cols.is_whole());
  if (zoomed) frame.context.list->PushClipRect(frame.grid.min, frame.grid.max, true);
  draw_cells(frame, cells);
  draw_borders(frame, frame.tile_width());
  draw_sequences(frame);
  draw_tiles_on_chip(frame, cells);
  draw_wrong_tiles(frame);
  draw_numbers(frame, cells);
  draw_score_marks(frame);
  if (zoomed) frame.context.list->PopClipRect();
  draw_axis_names(frame);
  draw_axis_indices(frame);
}

}  // namespace attnscope::app
