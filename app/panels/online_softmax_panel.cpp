#include "app/panels/online_softmax_panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/draw/format.h"
#include "app/draw/shapes.h"
#include "app/draw/text.h"
#include "app/panels/snapshot_view.h"
#include "app/panels/softmax_terms.h"

namespace attnscope::app {

namespace {

std::string note_of(const SoftmaxRow& row, Index chosen) {
  if (!row.known) return fmt::format("query row {}", chosen);
  if (row.j < 0) return fmt::format("query row {}", row.query);
  return fmt::format("query row {} (row {} of tile i = {}), j = {}", row.query, row.row_in_tile,
                     row.i, row.j);
}

std::string error_line(const Snapshot& snapshot) {
  const SoftmaxRow& row = snapshot.softmax_row;
  const bool standard = snapshot.run->algorithm->name == "standard";
  if (!row.error && standard) return "checked against the reference when O is complete";
  if (!row.error) return "checked against the reference when this tile is folded in";
  const bool normalized = snapshot.run->algorithm->name != "flash2";
  return fmt::format("{} against the reference of the {} keys seen so far: error {}",
                     normalized ? "O" : "O / l", row.keys_seen, draw::format_error(*row.error));
}

/// Widths of the four columns: symbol, formula, numbers, result.
struct Columns {
  float symbol = 0.0f, numbers = 0.0f, result = 0.0f;
};

Columns measure(const std::vector<SoftmaxTerm>& terms, const Fonts& fonts) {
  Columns columns;
  for (const SoftmaxTerm& term : terms) {
    columns.symbol = std::max(columns.symbol, fonts.ui_bold.measure(term.symbol).x);
    columns.numbers = std::max(columns.numbers, fonts.mono_small.measure(term.numbers).x);
  }
  columns.result = fonts.mono.measure("-0.0000").x;
  return columns;
}

}  // namespace

void OnlineSoftmaxPanel::draw(const Snapshot& snapshot, ViewState& view,
                              const PanelContext& context) {
  if (!has_run(snapshot, context, "ONLINE SOFTMAX")) return;
  const Theme& theme = context.theme;
  const Fonts& fonts = context.fonts;
  const draw::Canvas canvas = canvas_of(context);
  const bool standard = snapshot.run->algorithm->name == "standard";
  const Rect rest = draw_panel_header(context, standard ? "SOFTMAX" : "ONLINE SOFTMAX", {},
                                      note_of(snapshot.softmax_row, view.query_row));
  if (!snapshot.run->has_values) {
    draw::wrapped_text(canvas, fonts.small, rest.min, theme.text_faint,
                       "Values are left out: the problem is too large to show them.", rest.width(),
                       2);
    return;
  }

  // One row a term, as far apart as the room allows; the error below
  const auto terms = softmax_terms(snapshot.softmax_row, snapshot.run->algorithm->name);
  const float footer = draw::line_height(fonts.small);
  const float room = (rest.height() - footer) / static_cast<float>(terms.size());
  const float pitch = std::clamp(room, fonts.mono.size * 1.02f, fonts.mono.size * 2.0f);
  const Columns columns = measure(terms, fonts);
  const float gap = canvas.px(10.0f);
  const float formula_x = rest.min.x + columns.symbol + gap;
  const float result_x = rest.max.x;
  const float numbers_x = result_x - columns.result - gap;
  float y = rest.min.y;
  for (const SoftmaxTerm& term : terms) {
    if (y + pitch > rest.max.y + canvas.px(4.0f)) break;
    const float middle = y + pitch * 0.5f;
    const auto top = [&](const FontRef& font) { return middle - font.size * 0.5f; };
    const bool known = term.result.has_value();
    const ImU32 color = known ? tensor_text_color(theme, term.tensor) : theme.text_faint;
    draw::text(canvas, fonts.ui_bold, {rest.min.x, top(fonts.ui_bold)}, color, term.symbol);
    const float numbers_width = fonts.mono_small.measure(term.numbers).x;
    const float formula_room = numbers_x - numbers_width - gap - formula_x;
    draw::text(canvas, fonts.mono_small, {formula_x, top(fonts.mono_small)},
               known ? theme.text_dim : theme.text_faint,
               draw::fitted(fonts.mono_small, "= " + term.formula, formula_room));
    draw::text(canvas, fonts.mono_small, {numbers_x, top(fonts.mono_small)},
               known ? theme.text : theme.text_faint,
               draw::fitted(fonts.mono_small, term.numbers, numbers_x - formula_x),
               draw::Align::right);
    draw::text(canvas, fonts.mono, {result_x, top(fonts.mono)}, color,
               known ? draw::format_value(*term.result) : "–", draw::Align::right);
    const Rect line{{rest.min.x, y}, {rest.max.x, y + pitch}};
    if (hovered(line)) {
      tooltip(context, fmt::format("{} = {}\n= {}{}\nmodelled, with the values on chip",
                                   term.symbol, term.formula, term.numbers,
                                   known ? fmt::format("\n= {:.17g}", *term.result)
                                         : std::string("\nnot computed yet in this tile")));
    }
    y += pitch;
  }
  if (y + footer <= rest.max.y + canvas.px(6.0f)) {
    draw::text(canvas, fonts.small, {rest.min.x, y + canvas.px(1.0f)}, theme.text_faint,
               draw::fitted(fonts.small, error_line(snapshot), rest.width()));
  }
}

}  // namespace attnscope::app
