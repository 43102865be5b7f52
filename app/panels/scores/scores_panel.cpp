#include "app/panels/panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/draw/format.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/softmax_terms.h"
#include "app/panels/scores/scores_frame.h"

namespace attnscope::app {

namespace {

/// A click to the left of the grid follows the row; a click in the grid also seeks the tile.
void point_at(const ScoresFrame& frame, ViewState& view) {
  const Rect margin{{frame.context.rect.min.x, frame.grid.min.y},
                    {frame.grid.min.x, frame.grid.max.y}};
  const bool beside = hovered(margin);
  if (!beside && !hovered(frame.grid)) return;
  const RunInfo& run = frame.run();
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const auto element = [](float position, const draw::ZoomedAxis& axis, Index count) {
    const auto index = static_cast<Index>(axis.share(position) * static_cast<double>(count));
    return std::clamp<Index>(index, 0, count - 1);
  };
  const float down = (mouse.y - frame.grid.min.y) / frame.grid.height();
  const float across = (mouse.x - frame.grid.min.x) / frame.grid.width();
  const Index row = element(down, frame.rows, run.problem().N);
  const Index col = element(across, frame.cols, run.problem().N_kv);
  const Index i = row / run.tiling().Br;
  const Index j = col / run.tiling().Bc;
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
    view.query_row = row;
    view.shows_query_row = true;
  }
  if (beside) {
    return tooltip(frame.context,
                   fmt::format("{}\nclick: follow it", row_in_words(frame.head, row)));
  }
  point_at_thing(frame.snapshot, view, frame.context, ScoreTile{tile_area(run, i, j)});

  std::string lines =
      fmt::format("{}, key {}  ·  tile i = {}, j = {}\n{}", row_in_words(frame.head, row), col, i,
                  j, to_string(score_tile_state(frame.snapshot, i, j)));
  for (const Tensor tensor : kScoreTensors) {
    const SlotState* slot = find_slot(frame.snapshot, tensor);
    if (slot == nullptr || !slot->valid || slot->values.values.empty()) continue;
    const Area area = area_of(frame.snapshot, slot->tile);
    if (!area.contains(row, col)) continue;
    lines += fmt::format(
        "\n{} on chip = {}", display_name(slot->tile.tensor),
        draw::format_value(slot->values.at(row - area.rows.begin, col - area.cols.begin)));
  }
  if (const ValueTile& S = run.scores(Tensor::S).values; !S.values.empty()) {
    const double score = S.at(row, col);
    const StoredScores stored = stored_scores(frame.snapshot);
    const bool unfinished = stored == StoredScores::unfinished;
    lines += std::isinf(score)
                 ? (stored == StoredScores::final_values ? "\nhidden by the mask"
                                                         : "\nthe mask of a later launch hides it")
                 : fmt::format("\n{} = {}, in double precision",
                               unfinished ? "final score (later launch)" : "score",
                               draw::format_value(score));
    const ValueTile& shown = run.scores(frame.shown).values;
    if (frame.shown != Tensor::S && std::isfinite(score)) {
      lines += fmt::format("\n{} = {}, in double precision", to_string(frame.shown),
                           draw::format_value(shown.at(row, col)));
    }
  }
  lines += kClickHelp;
  lines += fmt::format("; both follow {}", row_in_words(frame.head, row));
  tooltip(frame.context, lines, frame.tile_rect(i, j));
}

/// Sets the followed row and the current tile.
void choose_row_and_tile(ScoresFrame& frame, const ViewState& view) {
  const RunInfo& run = frame.run();
  const Snapshot& snapshot = frame.snapshot;
  frame.query_row =
      view.shows_query_row ? std::clamp<Index>(view.query_row, 0, run.problem().N - 1) : -1;

  // A launch may have different tiles (a few whole rows); the slot's tile gives the position
  const SlotState* slot = score_slot(snapshot);
  const auto launch = static_cast<std::size_t>(snapshot.launch);
  if (slot != nullptr) {
    const Area area = area_of(snapshot, slot->tile);
    frame.current_i = area.rows.begin / run.tiling().Br;
    const bool one_column = area.cols.size() <= run.tiling().Bc;
    frame.current_j = one_column ? area.cols.begin / run.tiling().Bc : -1;
  } else if (launch < run.grids.size() && run.grids[launch].tiling() == run.tiling()) {
    frame.current_i = snapshot.i;
    frame.current_j = snapshot.j;
  }
}

/// The room that the heading leaves for the picture, and the formulas to draw beside the picture.
struct Headline {
  Rect rest;
  std::vector<std::string> beside;
};

/// Draws the heading up to the tabs at its right. The formulas are in its line or, if they are too
/// long, under it; in a low panel, where the grid needs the height, they are drawn beside the grid.
Headline draw_headline(const Snapshot& snapshot, Tensor shown, const PanelContext& context,
                       float tabs_left) {
  constexpr std::string_view kTitle = "SCORES";
  constexpr float kLow = 300.0f;  // height of a low panel, in design units
  const FontRef& title = context.fonts.title;
  const std::vector<std::string> formulas = scores_headline(snapshot, shown);
  const std::string all = fmt::format("{}", fmt::join(formulas, "; "));
  const float room = tabs_left - context.rect.min.x - context.px(32.0f);
  const float title_width = title.measure(kTitle).x;
  if (title_width + title.measure(all).x <= room) {
    return {draw_panel_header(context, kTitle, all, {}), {}};
  }
  const FontRef& small = context.fonts.small;
  if (context.rect.height() < kLow * context.scale) {
    if (title_width + title.measure(formulas.front()).x > room) {
      return {draw_panel_header(context, kTitle, {}, {}), formulas};
    }
    const Rect rest = draw_panel_header(context, kTitle, formulas.front(), {});
    return {rest, {formulas.begin() + 1, formulas.end()}};
  }
  Rect rest = draw_panel_header(context, kTitle, {}, {});
  for (const std::string& formula : formulas) {
    draw::fitted_text(context, small, rest.min, context.theme.text_dim, formula, rest.width());
    rest.min.y += draw::line_height(small);
  }
  rest.min.y += 4.0f * context.scale;
  return {rest, {}};
}

/// Draws the tabs that choose the tensor of the cells; returns their left end.
float draw_tensor_tabs(const RunInfo& run, ViewState& view, const PanelContext& context) {
  const std::vector<ScoresTab> tabs = scores_tabs(run);
  std::vector<std::string_view> labels;
  for (const ScoresTab tab : tabs) labels.push_back(to_string(tab));
  const auto chosen = std::ranges::find(tabs, view.scores_tab);
  const std::ptrdiff_t lit = chosen == tabs.end() ? 0 : chosen - tabs.begin();
  const float title = context.fonts.title.size;
  const ImVec2 at{
      context.rect.max.x - context.px(8.0f),
      context.rect.min.y + context.px(10.0f) + (title - context.fonts.small.size) * 0.8f};
  const TextTabs drawn = draw_text_tabs(context, "scores", labels, lit, at);
  if (drawn.pressed) view.scores_tab = tabs[*drawn.pressed];
  return drawn.left;
}

std::string tiles_text(const RunInfo& run, bool zoomed) {
  return fmt::format("{}{} × {} tiles of {} × {}", zoomed ? "zoomed  ·  " : "", run.Tr, run.Tc,
                     run.tiling().Br, run.tiling().Bc);
}

/// Draws the size of the grid's tiles, and the mask if there is room, right-aligned in the line of
/// the axis name; returns the text's left end.
float draw_tiles_note(const Snapshot& snapshot, const PanelContext& context, const Rect& rest,
                      bool zoomed) {
  const RunInfo& run = *snapshot.run;
  const FontRef& small = context.fonts.small;
  const std::string tiles = tiles_text(run, zoomed);
  const Mask& mask = run.problem().mask;
  std::vector<std::string> notes{tiles, ""};
  if (!mask.is_none())
    notes.insert(notes.begin(), fmt::format("mask {}  ·  {}", to_string(mask), tiles));
  if (const Index sequences = run.problem().sequence_count(); run.problem().is_packed()) {
    const std::string packed = fmt::format("{} packed sequences", sequences);
    const std::string masked =
        mask.is_none() ? packed : fmt::format("{}, mask {}", packed, to_string(mask));
    notes.insert(notes.begin(), {fmt::format("{}  ·  {}", masked, tiles), masked});
  }
  const float axis = small.measure("j: column tiles, N_kv = 0000  →").x + context.px(60.0f);
  const std::string note = draw::widest_that_fits(small, notes, rest.width() - axis);
  draw::text(context, small, {rest.max.x, rest.min.y}, context.theme.text_faint, note,
             draw::Align::right);
  return rest.max.x - small.measure(note).x - context.px(8.0f);
}

class ScoresPanel {
 public:
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context);

 private:
  void zoom(ScoresFrame& frame);
  void update_cells(const ScoresFrame& frame);

  std::weak_ptr<const RunInfo> cells_of_;  // not kept alive by a panel that may be hidden
  Area cells_part_;
  ScoreCells cells_;
  WrongTiles wrong_;
  draw::ZoomedAxis rows_, cols_;  ///< the visible part
  Index N_ = 0, N_kv_ = 0;  ///< the size of the scores of which `rows_` and `cols_` are a part
  std::string algorithm_;   ///< theirs: another one keeps its tiles elsewhere
  Index step_ = -1;         ///< the step in the last frame
};

/// The wheel zooms and scrolls; a zoomed picture follows the playhead.
void ScoresPanel::zoom(ScoresFrame& frame) {
  constexpr double kLeastElements = 4.0;
  const AttentionProblem& problem = frame.run().problem();
  const std::string& algorithm = frame.run().resolved().algorithm();
  if (N_ != problem.N || N_kv_ != problem.N_kv || algorithm_ != algorithm) rows_ = cols_ = {};
  algorithm_ = algorithm;
  N_ = problem.N;
  N_kv_ = problem.N_kv;
  const auto N = static_cast<double>(N_);
  const auto N_kv = static_cast<double>(N_kv_);
  draw::zoom_by_wheel(frame.grid, &cols_, &rows_, {kLeastElements / N_kv}, {kLeastElements / N});
  if (step_ != frame.snapshot.step && frame.current_i >= 0 && frame.current_j >= 0) {
    const auto row = static_cast<double>(frame.current_i * frame.run().tiling().Br);
    const auto col = static_cast<double>(frame.current_j * frame.run().tiling().Bc);
    rows_.show(row / N, (row + 1.0) / N);
    cols_.show(col / N_kv, (col + 1.0) / N_kv);
  }
  step_ = frame.snapshot.step;
  frame.rows = rows_;
  frame.cols = cols_;
}

void ScoresPanel::update_cells(const ScoresFrame& frame) {
  const Area part = frame.visible();
  const bool same_tensor = cells_of_.lock() == frame.snapshot.run && cells_.tensor == frame.shown;
  if (same_tensor && cells_part_ == part) return;
  const ScoreCells before = std::exchange(cells_, ScoreCells(frame.run(), frame.shown, part));
  const bool keeps = same_tensor && before.size == cells_.size;
  cells_.scale = keeps ? before.scale : score_scale(frame.run(), cells_);
  cells_of_ = frame.snapshot.run;
  cells_part_ = part;
}

void ScoresPanel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  const RunInfo& run = *snapshot.run;
  const float tabs_left = draw_tensor_tabs(run, view, context);
  const Tensor shown = shown_scores(snapshot, view.scores_tab);
  auto [below, beside] = draw_headline(snapshot, shown, context, tabs_left);
  const Rect rest = draw_head_strip(run, view, context, below);

  // Leave room for the axes on the left and above, the legend on the right
  const Fonts& fonts = context.fonts;
  const float left =
      fonts.small.size * 1.4f + fonts.mono_small.measure("0000").x + context.px(6.0f);
  const float above = draw::line_height(fonts.small) + index_line_height(context);
  float legend = fonts.small.measure("done, discarded").x + fonts.small.size * 2.2f;
  const bool beside_legend =
      rest.width() - left - legend - context.px(12.0f) >= 0.6f * (rest.height() - above);
  if (!beside_legend) legend = 0.0f;  // in a narrow panel, the grid needs the room
  const ImVec2 room{rest.width() - left - legend - context.px(12.0f), rest.height() - above};
  if (room.x < context.px(40.0f) || room.y < context.px(40.0f)) return;

  // Draw to scale, unless one axis would be too thin to read
  const auto rows = static_cast<float>(run.problem().N);
  const auto cols = static_cast<float>(run.problem().N_kv);
  const float unit = std::min(room.x / cols, room.y / rows);
  const ImVec2 size{std::max(cols * unit, context.px(40.0f)),
                    std::max(rows * unit, context.px(40.0f))};
  const ImVec2 corner{std::round(rest.min.x + left), std::round(rest.min.y + above)};
  ScoresFrame frame{snapshot, context, {corner, {corner.x + size.x, corner.y + size.y}}};
  frame.pointed = pointed_highlight(snapshot, view);
  if (snapshot.effect != nullptr && !view.hides_effect) {
    wrong_.update(snapshot);
    frame.wrong = &wrong_;
  }
  frame.head = shown_head(run.resolved(), view.head);
  frame.shown = shown;
  frame.draws_all_slots = view.scores_tab == ScoresTab::latest;
  const bool zoomed = !(rows_.is_whole() && cols_.is_whole());
  Rect note = rest;
  if (zoomed) {
    const TextButton fit = draw_text_button(context, "scores.fit", "fit", {rest.max.x, rest.min.y},
                                            /*lit=*/true);
    if (fit.pressed) rows_ = cols_ = {};
    note.max.x = fit.left - context.px(8.0f);
  }
  frame.name_end = beside.empty() ? draw_tiles_note(snapshot, context, note, zoomed)
                                  : std::min(frame.grid.max.x, note.max.x);
  if (!beside.empty()) beside.push_back(tiles_text(run, zoomed));
  choose_row_and_tile(frame, view);
  zoom(frame);
  update_cells(frame);
  context.named_rects.add("scores.grid", frame.grid);

  draw_score_grid(frame, cells_);
  Rect side{{frame.grid.max.x + context.px(14.0f), frame.grid.min.y}, rest.max};
  if (!beside.empty()) side.min.y = rest.min.y;
  for (const std::string& formula : beside) {
    if (!draw::text_if_fits(context, fonts.small, side.min, context.theme.text_dim, formula,
                            side.width())) {
      continue;
    }
    side.min.y += draw::line_height(fonts.small) + context.px(2.0f);
  }
  if (beside_legend) {
    side.min.y += draw_score_legend(frame, cells_, side);
    draw_score_inset(frame, cells_, side);
  }
  point_at(frame, view);
}

}  // namespace

Panel make_scores_panel() {
  const auto state = std::make_shared<ScoresPanel>();
  return {"scores", "SCORES", Slot::scores, std::bind_front(&ScoresPanel::draw, state)};
}

}  // namespace attnscope::app
