#include "app/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <vector>

#include "app/draw/canvas.h"
#include "app/draw/format.h"
#include "app/draw/heat_map.h"
#include "app/draw/wordings.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/panels/parts/softmax_terms.h"
#include "app/panels/scores/scores_frame.h"
#include "app/scene/shown_head.h"

namespace attnscope::app {

namespace {

/// If the playhead has left the row's tile: the operation that last changed the row.
std::string since(const Snapshot& snapshot) {
  if (snapshot.row_step < 0) return ", not reached yet";
  if (snapshot.row_step == snapshot.step) return "";
  return fmt::format(", after operation {}", snapshot.row_step);
}

std::string note_of(const SoftmaxRow& row, const ShownHead& head, Index chosen, bool combining) {
  std::string query = row_in_words(head, chosen);
  if (!row.known || row.j < 0) return query;
  return fmt::format("{} (tile i = {}), {} {}", query, row.i, combining ? "split" : "j =", row.j);
}

/// "query row 37 (i = 2), j = 1, key 21".
std::string note_of(const GradientRow& row, const ShownHead& head, Index chosen) {
  if (!row.known) return row_in_words(head, chosen);
  std::string note = fmt::format("{} (i = {})", row_in_words(head, row.query), row.i);
  if (row.j >= 0) note += fmt::format(", j = {}", row.j);
  if (row.S.empty() && row.P.empty() && row.dP.empty()) return note;
  return note + fmt::format(", key {}", row.key_begin + static_cast<Index>(shown_key(row)));
}

/// The thread blocks that have added to this row tile of dQ, and the number that will.
std::string adders_line(const Snapshot& snapshot) {
  constexpr std::size_t kMostNamed = 6;
  if (snapshot.adders_whole == 0) return "";
  const GradientRow& row = snapshot.gradient_row;
  std::string text =
      fmt::format("dQ tile {}: {} of {} thread blocks have added", row.known ? row.i : snapshot.i,
                  snapshot.adders.size(), snapshot.adders_whole);
  if (!snapshot.adders.empty()) {
    const std::size_t first =
        snapshot.adders.size() > kMostNamed ? snapshot.adders.size() - kMostNamed : 0;
    text += first > 0 ? ": …" : ": j = ";
    for (std::size_t k = first; k < snapshot.adders.size(); ++k) {
      text += fmt::format("{}{}", k > first || first > 0 ? ", " : "", snapshot.adders[k]);
    }
  }
  return text + "; in parallel, so atomically";
}

/// Removes from the terms what a lesson hides.
void hide_parts(std::vector<SoftmaxTerm>& terms, const std::set<PanelPart>& hidden) {
  if (hidden.contains(PanelPart::alpha)) {
    std::erase_if(terms, [](const SoftmaxTerm& term) { return term.symbol == "alpha"; });
  }
  if (!hidden.contains(PanelPart::formulas)) return;
  for (SoftmaxTerm& term : terms) {
    term.formula.clear();
    term.numbers.clear();
  }
}

/// The panel's content for the row in this launch.
struct RowView {
  std::string note;
  std::vector<SoftmaxTerm> terms;
  std::string footer;
};

RowView row_view(const Snapshot& snapshot, const ViewState& view) {
  const RunInfo& run = *snapshot.run;
  const ShownHead head = shown_head(run.resolved(), view.head);
  if (snapshot.in_backward()) {
    return {note_of(snapshot.gradient_row, head, view.query_row) + since(snapshot),
            gradient_terms(snapshot.gradient_row, run), adders_line(snapshot)};
  }
  std::vector<SoftmaxTerm> terms =
      softmax_terms(snapshot.softmax_row, run.algorithm->softmax,
                    folds_splits(snapshot) ? SplitRole::folded : SplitRole::none,
                    run.problem().score.has_dropout());
  mark_replaced(terms, run.resolved().asked.variant.broken.replaced);
  hide_parts(terms, view.hidden);
  return {
      note_of(snapshot.softmax_row, head, view.query_row, folds_splits(snapshot)) + since(snapshot),
      std::move(terms), check_line(snapshot, view.query_row)};
}

/// "= exp(m_prev - m)"; empty if the formula is hidden.
std::string formula_text(const SoftmaxTerm& term) {
  return term.formula.empty() ? "" : "= " + term.formula;
}

/// The term, in the words of its tooltip.
std::string about(const SoftmaxTerm& term) {
  std::string words = term.symbol;
  if (!term.formula.empty()) words += fmt::format(" = {}\n= {}", term.formula, term.numbers);
  words += term.result ? fmt::format("\n= {:.17g}", *term.result)
                       : std::string("\nnot computed yet in this tile");
  return words + "\nmodelled, with the values on chip";
}

/// The positions of the columns: symbol, formula, the row's values, numbers, result.
struct Columns {
  float formula = 0.0f, strip = 0.0f, strip_end = 0.0f, numbers = 0.0f, result = 0.0f;
  bool formulas = true;  ///< whether there is room for all formulas
};

Columns place_columns(const std::vector<SoftmaxTerm>& terms, const draw::Canvas& canvas,
                      const Rect& rect) {
  float symbol = 0.0f;
  float formula = 0.0f;
  float numbers = 0.0f;
  bool strips = false;
  for (const SoftmaxTerm& term : terms) {
    symbol = std::max(symbol, canvas.fonts.ui_bold.measure(term.symbol).x);
    formula = std::max(formula, canvas.fonts.mono_small.measure(formula_text(term)).x);
    numbers = std::max(numbers, canvas.fonts.mono_small.measure(term.numbers).x);
    strips = strips || !term.strip.empty();
  }
  // Numbers are near their formula, in a place that is the same at every operation
  const float gap = canvas.px(10.0f);
  Columns columns;
  columns.formula = rect.min.x + symbol + gap;
  const FontRef& mono = canvas.fonts.mono_small;
  const float numbers_room = std::max(numbers, mono.measure("-0.0000·-0.0000 + -0.0000").x);
  columns.result = std::min(rect.max.x, columns.formula + formula + numbers_room +
                                            canvas.fonts.mono.measure("-0.0000").x + 6.0f * gap +
                                            (strips ? canvas.px(150.0f) : 0.0f));
  columns.numbers = columns.result - canvas.fonts.mono.measure("-0.0000").x - gap;
  columns.formulas = columns.formula + formula + gap + numbers <= columns.numbers;
  columns.strip = columns.formula + (columns.formulas ? formula + gap : 0.0f);
  columns.strip_end = std::min(columns.numbers - numbers - gap, columns.strip + canvas.px(150.0f));
  if (!strips || columns.strip_end - columns.strip < canvas.px(48.0f)) {
    columns.strip_end = columns.strip;  // no room for the row's values
  }
  return columns;
}

/// Draws the values of the row in this tile, with the displayed key marked.
void draw_strip(const draw::Canvas& canvas, const SoftmaxTerm& term, const Rect& box,
                std::size_t key) {
  const ValueTile row{1, static_cast<Index>(term.strip.size()), term.strip};
  const ValueTile cells = draw::aggregated(row, 1, static_cast<Index>(box.width() / 3.0f));
  const draw::ValueRange range = draw::range_of(cells);
  draw::heat_map(canvas, box, cells,
                 [&](double value) { return score_color(canvas.theme, range, value); });
  const float width = box.width() / static_cast<float>(term.strip.size());
  const float x = box.min.x + width * static_cast<float>(key);
  draw::outline(canvas, {{x, box.min.y - 1.0f}, {x + std::max(width, 3.0f), box.max.y + 1.0f}},
                canvas.theme.highlight, canvas.px(1.5f));
}

void draw_term(const PanelContext& context, const SoftmaxTerm& term, const Columns& columns,
               const Rect& line, std::size_t key) {
  const Theme& theme = context.theme;
  const Fonts& fonts = context.fonts;
  const auto top = [&](const FontRef& font) { return line.center().y - font.size * 0.5f; };
  const bool known = term.result.has_value();
  const ImU32 color = known ? tensor_text_color(theme, term.tensor) : theme.text_faint;
  draw::text(context, fonts.ui_bold, {line.min.x, top(fonts.ui_bold)}, color, term.symbol);
  if (columns.formulas) {
    draw::text(context, fonts.mono_small, {columns.formula, top(fonts.mono_small)},
               known ? theme.text_dim : theme.text_faint, formula_text(term));
  }
  if (!term.strip.empty() && columns.strip_end > columns.strip) {
    const float half = std::min(line.height() * 0.36f, context.px(9.0f));
    draw_strip(
        context, term,
        {{columns.strip, line.center().y - half}, {columns.strip_end, line.center().y + half}},
        key);
  }
  draw::fitted_text(context, fonts.mono_small, {columns.numbers, top(fonts.mono_small)},
                    known ? theme.text : theme.text_faint, term.numbers,
                    columns.numbers - columns.formula, draw::Align::right);
  draw::text(context, fonts.mono, {columns.result, top(fonts.mono)}, color,
             known ? draw::format_value(*term.result) : "–", draw::Align::right);
  if (hovered(line)) {
    tooltip(context, about(term), line);
  }
}

void draw_online_softmax(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  const Fonts& fonts = context.fonts;
  const RowView row = row_view(snapshot, view);
  const Rect rest = draw_softmax_tabs(context, view, softmax_title(snapshot), row.note);
  if (!snapshot.run->has_values && !snapshot.run->has_tile_values) {
    draw::wrapped_text(context, fonts.small, rest.min, context.theme.text_faint,
                       "Values are left out: the problem is too large to show them.", rest.width(),
                       2);
    return;
  }

  // One row per term, spaced as widely as the room allows; a sentence below
  const float footer = draw::line_height(fonts.small);
  const float room = (rest.height() - footer) / static_cast<float>(row.terms.size());
  const float pitch = std::clamp(room, fonts.mono.size * 1.02f, fonts.mono.size * 2.0f);
  const Columns columns = place_columns(row.terms, context, rest);
  const std::size_t key = snapshot.in_backward() ? shown_key(snapshot.gradient_row) : 0;
  float y = rest.min.y;
  for (const SoftmaxTerm& term : row.terms) {
    if (y + pitch > rest.max.y + context.px(4.0f)) break;
    draw_term(context, term, columns, {{rest.min.x, y}, {rest.max.x, y + pitch}}, key);
    y += pitch;
  }
  if (y + footer <= rest.max.y + context.px(6.0f)) {
    constexpr std::string_view kSeparators[] = {"; ", ", ", " against"};
    draw::draw_wording(context, fonts.small, {rest.min.x, y + context.px(1.0f)},
                       context.theme.text_faint, draw::wordings_of(row.footer, kSeparators),
                       rest.width());
  }
}

}  // namespace

Panel make_online_softmax_panel() {
  Panel panel{"online_softmax", "ONLINE SOFTMAX", Slot::online_softmax, draw_online_softmax};
  panel.shown = [](const ViewState& view) { return view.softmax_tab == SoftmaxTab::row; };
  return panel;
}

}  // namespace attnscope::app
