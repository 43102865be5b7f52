#include "app/panels/scores/scores_frame.h"

#include <fmt/core.h>

#include <string>

#include "app/draw/canvas.h"
#include "app/panels/parts/softmax_terms.h"
#include "sim/studies/break_effect.h"

namespace attnscope::app {

namespace {

/// A tile smaller than this on the screen gets an enlarged picture beside the grid.
constexpr float kInsetBelow = 46.0f;

/// The legend's lines, in as many columns as its height requires and its width allows.
struct Flow {
  Rect area;
  float column = 0.0f;  ///< the width of a column
  ImVec2 at = area.min;
  float used = 0.0f;  ///< the height used

  /// Makes room for an item of this height; returns its upper left corner.
  ImVec2 take(float height) {
    const bool full = at.y > area.min.y && at.y + height > area.max.y;
    if (full && at.x + 2.0f * column <= area.max.x) at = {at.x + column, area.min.y};
    const ImVec2 corner = at;
    at.y += height;
    used = std::max(used, at.y - area.min.y);
    return corner;
  }
  /// Whether an item of this height fits.
  bool holds(float height) const {
    return at.y + height <= area.max.y + 1.0f || at.x + 2.0f * column <= area.max.x;
  }
  float room() const { return area.max.x - at.x; }
};

/// Draws an entry of the legend, a box that `paint` fills and its label, unless it does not fit.
template <typename Paint>
void draw_entry(const ScoresFrame& frame, Flow& flow, std::string_view label, const Paint& paint) {
  const draw::Canvas& canvas = frame.context;
  const FontRef& font = frame.context.fonts.small;
  const float swatch = font.size;
  if (!flow.holds(swatch)) return;
  const ImVec2 at = flow.take(draw::line_height(font) + canvas.px(4.0f));
  paint(Rect{at, {at.x + swatch, at.y + swatch}});
  draw::fitted_text(canvas, font, {at.x + swatch * 1.5f, at.y}, canvas.theme.text_dim, label,
                    flow.room() - swatch * 1.5f);
}

/// Draws the entries for the marks of a break's effect and of the followed row.
void draw_marks(const ScoresFrame& frame, Flow& flow) {
  const Theme& theme = frame.context.theme;
  const draw::Canvas& canvas = frame.context;
  if (frame.wrong != nullptr && frame.snapshot.effect->changes_result()) {
    draw_entry(frame, flow, "wrong tile", [&](const Rect& box) {
      draw::fill(canvas, box, with_alpha(theme.error, 0.22f));
      draw::outline(canvas, box, theme.error, canvas.px(1.5f));
    });
    const bool backward = frame.snapshot.in_backward();
    draw_entry(frame, flow, backward ? "wrong dQ; dK, dV" : "wrong row of O", [&](const Rect& box) {
      draw::fill(canvas, {box.min, {box.min.x + canvas.px(6.0f), box.max.y}}, theme.error);
    });
  }
  if (frame.query_row < 0) return;
  draw_entry(frame, flow, row_in_words(frame.head, frame.query_row), [&](const Rect& box) {
    const float middle = box.center().y;
    const float swatch = box.height();
    const ImU32 color = color_of(theme, Tensor::m);
    const float begin = box.min.x + swatch * 0.5f;
    draw::marker_right(canvas, {begin, middle}, swatch * 0.45f, color);
    draw::outline(canvas, {{begin, middle - 2.0f}, {box.max.x, middle + 2.0f}}, color,
                  canvas.px(1.5f));
  });
}

void draw_states(const ScoresFrame& frame, Flow& flow) {
  const Theme& theme = frame.context.theme;
  const draw::Canvas& canvas = frame.context;
  const auto entry = [&](std::string_view label, const auto& paint) {
    draw_entry(frame, flow, label, paint);
  };
  const ImU32 sample = draw::sequential_color(theme, 0.6f);
  entry("on chip now", [&](const Rect& box) {
    draw::fill(canvas, box, sample);
    draw::outline(canvas, box, theme.highlight, canvas.px(2.0f), canvas.px(2.0f));
  });
  const StoredScores stored =
      frame.shown == Tensor::S ? stored_scores(frame.snapshot) : StoredScores::final_values;
  if (stores_scores(frame.snapshot)) {
    const ImU32 plain = mix(theme.untouched, color_of(theme, frame.shown), 0.45f);
    const bool has_values = stored != StoredScores::unfinished;
    entry(has_values ? "stored" : "stored, not final",
          [&](const Rect& box) { draw::fill(canvas, box, has_values ? sample : plain); });
    if (stored == StoredScores::unmasked) {
      entry("mask to come", [&](const Rect& box) { draw::fill(canvas, box, plain); });
    }
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
  const AttentionProblem& problem = frame.run().problem();
  const bool hides = !problem.mask.is_none() || problem.has_key_lengths() || problem.is_packed();
  if (hides && stored == StoredScores::final_values) {
    const bool faded = !stores_scores(frame.snapshot);
    const ImU32 hidden = mix(theme.untouched, theme.error, faded ? 0.06f : 0.12f);
    entry("hidden by mask", [&](const Rect& box) {
      draw::fill(canvas, box, hidden);
      draw::outline(canvas, box, theme.card_border);
    });
  }
  // An algorithm that computes whole rows computes hidden scores, too
  const bool skips = frame.run().algorithm->softmax != SoftmaxForm::whole_rows;
  if (hides && skips) not_computed("skipped by mask", TileState::skipped);
  if (problem.is_packed()) {
    entry("a sequence",
          [&](const Rect& box) { draw::outline(canvas, box, theme.text, canvas.px(1.5f)); });
  }
  if (problem.block_mask != nullptr) not_computed("0 in block mask", TileState::left_out);
  draw_marks(frame, flow);
}

/// Draws the entry for the dashed outline of a tile under the playhead that is not on chip.
void draw_playhead_entry(const ScoresFrame& frame, Flow& flow) {
  if (frame.current_i < 0 || frame.current_j < 0) return;
  const TileState state = score_tile_state(frame.snapshot, frame.current_i, frame.current_j);
  if (state == TileState::in_sram || state == TileState::stored) return;
  draw_entry(frame, flow, "at the playhead", [&](const Rect& box) {
    const draw::Canvas& canvas = frame.context;
    draw::dashed_outline(canvas, box, canvas.theme.text_faint, canvas.px(2.0f), canvas.px(3.0f));
  });
}

/// Draws a ramp with its name, its range and a note, as many of them as have room below it.
void draw_ramp_entry(const ScoresFrame& frame, Flow& flow, const std::string& name,
                     const draw::ValueRange& range, std::string_view note) {
  const draw::Canvas& canvas = frame.context;
  const FontRef& font = frame.context.fonts.small;
  const float line = draw::line_height(font);
  const std::string words = fmt::format("{:.3g} … {:.3g}", range.low, range.high);
  const bool one_line = font.measure(name + " " + words).x <= flow.room();
  std::vector<std::string> lines =
      one_line ? std::vector{name + " " + words} : std::vector{name, words};
  if (!note.empty()) lines.emplace_back(note);
  const float ramp = canvas.px(14.0f);
  const auto height = [&] { return ramp + line * static_cast<float>(lines.size()); };
  while (!lines.empty() && !flow.holds(height())) lines.pop_back();
  if (lines.empty()) return;
  const ImVec2 at = flow.take(height());
  flow.used += canvas.px(6.0f);
  const float width = std::min(flow.room(), canvas.px(110.0f));
  draw::ramp(canvas, {{at.x, at.y + canvas.px(2.0f)}, {at.x + width, at.y + canvas.px(10.0f)}});
  float y = at.y + ramp;
  for (const std::string& text : lines) {
    draw::fitted_text(canvas, font, {at.x, y}, canvas.theme.text_faint, text, flow.room());
    y += line;
  }
}

/// Draws a ramp for each scale of the values, or why there are none.
void draw_scale(const ScoresFrame& frame, const ScoreCells& cells, Flow& flow) {
  const Theme& theme = frame.context.theme;
  const draw::Canvas& canvas = frame.context;
  const FontRef& font = frame.context.fonts.small;
  const float line = draw::line_height(font);
  if (!frame.run().has_values) {
    const std::string_view what =
        frame.run().has_tile_values ? "values of this tile only" : "too large to show values";
    draw::wrapped_text(canvas, font, flow.take(2.0f * line), theme.text_faint, what, flow.room(),
                       2);
    if (!frame.run().has_tile_values) return;
  }
  const bool settled =
      !frame.run().has_values
          ? false
          : cells.tensor != Tensor::S || stored_scores(frame.snapshot) != StoredScores::unfinished;
  const std::string_view tensor = to_string(cells.tensor);
  if (settled) {
    draw_ramp_entry(frame, flow, fmt::format("{}{}:", tensor, cells.is_exact() ? "" : ", means"),
                    cells.scale, cells.is_exact() ? "" : "one cell = a mean");
  }
  const SlotState* slot = top_slot(frame);
  if (slot != nullptr && !slot->values.values.empty()) {
    const draw::ValueRange range = range_of_slot(frame, cells, *slot);
    const bool own = range.low != cells.scale.low || range.high != cells.scale.high;
    const std::string_view name = display_name(slot->tile.tensor);
    if (own || !settled) draw_ramp_entry(frame, flow, fmt::format("{} on chip:", name), range, "");
  }
}

}  // namespace

float draw_score_legend(const ScoresFrame& frame, const ScoreCells& cells, const Rect& area) {
  const FontRef& font = frame.context.fonts.small;
  Flow flow{area, font.measure("skipped by mask").x + font.size * 3.0f};
  draw_states(frame, flow);
  draw_scale(frame, cells, flow);
  draw_playhead_entry(frame, flow);
  return flow.used;
}

void draw_score_inset(const ScoresFrame& frame, const ScoreCells& cells, const Rect& area) {
  const SlotState* slot = top_slot(frame);
  const float tile_px = frame.tile_width();
  if (slot == nullptr || slot->values.values.empty()) return;
  if (tile_px >= frame.context.px(kInsetBelow)) return;

  // Draw a square in the remaining room, under the tile's name
  const Theme& theme = frame.context.theme;
  const FontRef& font = frame.context.fonts.ui_bold;
  const float side = std::min(area.width(), area.height() - draw::line_height(font));
  if (side < frame.context.px(48.0f)) return;
  draw::draw_symbol(frame.context, font, area.min, text_color_of(theme, slot->tile.tensor),
                    symbol_of(slot->tile));
  const ImVec2 corner{area.min.x, area.min.y + draw::line_height(font)};
  const ValueTile shown =
      cells_of_slot(frame, cells, *slot, slot->values, {kTileCells, kTileCells});
  const float unit = side / static_cast<float>(std::max(shown.rows, shown.cols));
  const Rect box{corner,
                 {corner.x + unit * static_cast<float>(shown.cols),
                  corner.y + std::max(unit * static_cast<float>(shown.rows), 4.0f)}};
  const draw::ValueRange range = range_of_slot(frame, cells, *slot);
  draw::heat_map(frame.context, box, shown,
                 [&](double value) { return score_color(theme, range, value); });
  draw::outline(frame.context, box, theme.highlight, frame.context.px(1.5f));

  // The chosen row within the tile
  const Area tile = area_of(frame.snapshot, slot->tile);
  if (!tile.rows.contains(frame.query_row)) return;
  const float step = box.height() / static_cast<float>(tile.rows.size());
  const float y = box.min.y + step * static_cast<float>(frame.query_row - tile.rows.begin);
  draw::outline(frame.context, {{box.min.x, y}, {box.max.x, y + std::max(step, 3.0f)}},
                color_of(theme, Tensor::m), frame.context.px(1.5f));
}

}  // namespace attnscope::app
