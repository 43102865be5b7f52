#include "app/panels/ledger/ledger_panel.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "app/draw/canvas.h"
#include "app/draw/format.h"
#include "app/jobs/background_job.h"
#include "app/panels/ledger/ledger_columns.h"
#include "app/panels/ledger/ledger_layout.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/report/compare.h"
#include "app/scene/shown_head.h"

namespace attnscope::app {

namespace {

/// The data that the parts of the table share in one frame.
struct Table {
  const PanelContext& context;
  const Ledger& ledger;
  Rect rect;
  bool so_far = false;
  LedgerLayout layout = {};

  LedgerHeadings headings = {};
  LedgerColumns columns = {};
  std::vector<std::size_t> shown = {};  ///< indices of the tensors with a row

  /// The columns of the k-th tensor.
  LedgerColumns columns_of(std::size_t k) const {
    if (!layout.two_columns) return columns;
    const bool right = k >= layout.tensor_lines;
    const float gap = context.px(8.0f);
    return lay_out_half(ledger, context.fonts, right ? rect.center().x + gap : rect.min.x,
                        right ? rect.max.x : rect.center().x - gap, 1.2f * context.fonts.small.size,
                        context.px(6.0f), columns.exact);
  }
};

void draw_heading(const Table& table, const LedgerColumns& columns, LedgerColumn column, float y,
                  std::string_view about = {}) {
  const auto end = columns.end(column);
  const auto& wordings = table.headings[static_cast<std::size_t>(column)];
  if (!end || wordings.empty()) return;
  const FontRef& font = table.context.fonts.small;
  const float begin = columns.begin(column);
  draw::text(table.context, font, {*end, y}, table.context.theme.text_faint,
             draw::label_that_fits(font, wordings, *end - begin - table.context.px(6.0f)),
             draw::Align::right);
  const Rect area{{begin, y}, {*end, y + table.layout.pitch}};
  if (!about.empty() && hovered(area)) tooltip(table.context, about, area);
}

/// Draws the headings of the columns with a GPU's numbers.
void draw_seen_headings(const Table& table, float y) {
  draw_heading(table, table.columns, LedgerColumn::seen, y, table.ledger.seen_about);
  draw_heading(table, table.columns, LedgerColumn::gap, y);
}

void draw_headings(const Table& table, float y) {
  const auto of_tensors = [&](const LedgerColumns& columns) {
    const FontRef& font = table.context.fonts.small;
    const std::string& modelled = table.headings[0].front();
    draw::text_if_fits(
        table.context, font, {columns.left, y}, table.context.theme.text_faint, "tensor",
        *columns.ends[0] - columns.left - font.measure(modelled).x - table.context.px(12.0f));
    draw_heading(table, columns, LedgerColumn::modelled, y);
    draw_heading(
        table, columns, LedgerColumn::formula, y,
        "closed forms of the tensors' bytes; for DRAM, the fewest bytes that any kernel must move");
    draw_heading(table, columns, LedgerColumn::size, y,
                 "requested bytes of the whole pass, divided by the size of the tensor");
  };
  of_tensors(table.columns_of(0));
  if (table.layout.two_columns) return of_tensors(table.columns_of(table.layout.tensor_lines));
  draw_seen_headings(table, y);
}

/// The colour of a cell.
ImU32 cell_color(const Table& table, const LedgerRow& row, LedgerColumn column, bool is_number) {
  const Theme& theme = table.context.theme;
  const bool is_note = column == LedgerColumn::gap || column == LedgerColumn::size;
  if (!is_number) return is_note ? theme.text_dim : theme.text_faint;
  switch (column) {
    case LedgerColumn::modelled:
      return theme.text;
    case LedgerColumn::formula:
      return row.is_compulsory || *row.formula == row.whole ? theme.text_faint : theme.error;
    case LedgerColumn::size:
      return theme.text_dim;
    case LedgerColumn::seen:
      return number_color(theme, table.ledger.seen_kind);
    case LedgerColumn::gap:
      break;
  }
  const bool agrees = std::abs(*row.gap_percent) <= kAgreementPercent;
  return agrees ? theme.text_dim : theme.warning;
}

void draw_row(const Table& table, const LedgerColumns& columns, const LedgerRow& row, float y) {
  const PanelContext& context = table.context;
  const FontRef& small = context.fonts.small;
  const FontRef& mono = context.fonts.mono_small;
  const float middle = y + table.layout.pitch * 0.5f;
  const float margin = context.px(4.0f);
  float x = columns.left;
  if (row.tensor) {
    const float half = small.size * 0.36f;
    draw_swatch(context, {{x, middle - half}, {x + 2 * half, middle + half}}, *row.tensor);
    x += small.size * 1.2f;
  }
  const LedgerCells cells = cells_of(row, columns.exact);
  float label_end = columns.right;
  for (std::size_t k = 0; k < kLedgerColumns; ++k) {
    const auto column = static_cast<LedgerColumn>(k);
    const auto end = columns.end(column);
    if (!end) continue;
    const bool number = cells.has_number(column, row);
    std::string text = cells.at(column);
    const FontRef& font = number ? mono : small;
    float begin = columns.begin(column) + (column == LedgerColumn::gap ? 2.0f : 1.0f) * margin;
    if (column == LedgerColumn::modelled) {
      // The label and the modelled number share the first column
      begin = columns.left;
      label_end = *end - font.measure(text).x - (text.empty() ? 0.0f : margin);
    }
    if (column == LedgerColumn::size && !number && !text.empty()) {
      text = draw::widest_that_fits(small, row.in_place_of_size, *end - begin);
    }
    if (column == LedgerColumn::seen && !number && !text.empty()) {
      text = in_place_of_seen(table.ledger, row);
    }
    if (column == LedgerColumn::gap && !number && !text.empty()) {
      text = draw::widest_that_fits(small, brief_wordings(row), *end - begin);
    }
    if (column == LedgerColumn::gap && number) text = gap_that_fits(row, font, *end - begin);
    draw::fitted_text(context, font, {*end, middle - font.size * 0.5f},
                      cell_color(table, row, column, number), text, *end - begin,
                      draw::Align::right);
  }
  draw::fitted_text(context, small, {x, middle - small.size * 0.5f},
                    row.tensor ? context.theme.text_dim : context.theme.text, row.label,
                    label_end - x);
  const Rect line{{columns.left, y}, {columns.right, y + table.layout.pitch}};
  context.named_rects.add("ledger.row." + row.label, line);
  if (hovered(line)) tooltip(context, in_words(row, table.so_far), line);
}

/// Draws a line instead of the tensors that do not fit.
void draw_hidden(const Table& table, const LedgerColumns& columns, float y) {
  const FontRef& font = table.context.fonts.small;
  const float top = y + (table.layout.pitch - font.size) * 0.5f;
  draw::fitted_text(table.context, font, {columns.left, top}, table.context.theme.accent,
                    fmt::format("and {} more: hover", table.layout.hidden),
                    columns.right - columns.left);
  const Rect line{{columns.left, y}, {columns.right, y + table.layout.pitch}};
  if (!hovered(line)) return;
  std::string lines;
  for (std::size_t k = 0; k < table.ledger.tensors.size(); ++k) {
    if (std::ranges::binary_search(table.shown, k)) continue;
    const LedgerRow& row = table.ledger.tensors[k];
    lines += fmt::format("{}{}: {} modelled", lines.empty() ? "" : "\n", row.label,
                         number_text(row, *row.modelled));
    if (row.formula) lines += fmt::format(", {} by formula", draw::format_bytes(*row.formula));
  }
  tooltip(table.context, lines, line);
}

void draw_rows(const Table& table, const std::vector<LedgerRow>& rows, float& y) {
  for (const LedgerRow& row : rows) {
    draw_row(table, table.columns, row, y);
    y += table.layout.pitch;
  }
}

void draw_tensors(const Table& table, float& y) {
  const LedgerLayout& layout = table.layout;
  if (!layout.two_columns) return draw_rows(table, table.ledger.tensors, y);
  const auto y_of = [&](std::size_t k) {
    return y + layout.pitch * static_cast<float>(k % layout.tensor_lines);
  };
  for (std::size_t k = 0; k < layout.shown; ++k) {
    draw_row(table, table.columns_of(k), table.ledger.tensors[table.shown[k]], y_of(k));
  }
  if (layout.hidden > 0) {
    draw_hidden(table, table.columns_of(layout.shown), y_of(layout.shown));
  }
  y += layout.pitch * static_cast<float>(layout.tensor_lines);
}

void draw_totals(const Table& table, float& y) {
  const Ledger& ledger = table.ledger;
  const LedgerColumns& columns = table.columns;
  const draw::Canvas& canvas = table.context;
  const FontRef& font = table.context.fonts.small;
  const auto rule = [&] {
    y += canvas.px(2.0f);
    canvas.list->AddLine({table.rect.min.x, y}, {table.rect.max.x, y}, table.context.theme.grid);
    y += canvas.px(3.0f);
  };
  const auto title = [&](const std::vector<std::string>& wordings, std::string_view about) {
    const float top = y + (table.layout.pitch - font.size) * 0.5f;
    const Rect line{{table.rect.min.x, y},
                    {columns.begin(LedgerColumn::seen), y + table.layout.pitch}};
    draw::text(canvas, font, {line.min.x, top}, table.context.theme.text_dim,
               draw::label_that_fits(font, wordings, line.width()));
    draw_seen_headings(table, top);
    if (!about.empty() && hovered(line)) tooltip(table.context, about, line);
    y += table.layout.pitch;
  };
  rule();
  const bool apart = !ledger.apart.empty();
  if (table.layout.two_columns && !apart) title({"all tensors"}, {});
  draw_rows(table, ledger.totals, y);
  if (!apart) return;
  rule();
  title(ledger.apart_titles, ledger.apart_about);
  draw_rows(table, ledger.apart, y);
}

void draw_footer(const Table& table, const Rect& rect) {
  const PanelContext& context = table.context;
  const Fonts& fonts = context.fonts;
  const Measurements& measurements = context.measurements;
  ImVec2 at{rect.max.x + context.px(6.0f), rect.center().y - fonts.small.size * 0.5f};
  const TextButton copy = draw_text_button(context, "ledger.copy", "copy CSV", at, false);
  if (copy.pressed) context.commands.push(CopyText{ledger_csv(table.ledger), "the ledger as CSV"});
  float left = copy.left;
  if (!measurements.live_gpu.empty()) {
    at.x = copy.left - context.px(4.0f);
    const TextButton run =
        draw_text_button(context, "ledger.run", "Run on GPU", at, !measurements.running);
    if (run.pressed) context.commands.push(RunOnGpu{});
    const Rect button{{run.left, rect.min.y}, {at.x, rect.max.y}};
    if (hovered(button)) {
      tooltip(context,
              "runs this problem's kernel on " + measurements.live_gpu +
                  ", checks it against the reference and fills this column; waits for earlier runs",
              button);
    }
    left = run.left;
  }

  const std::vector<std::string>& wordings = table.ledger.notes;
  const std::string shown =
      draw::widest_that_fits(fonts.small, wordings, left - rect.min.x - context.px(6.0f));
  draw::text(context, fonts.small, {rect.min.x, rect.center().y - fonts.small.size * 0.5f},
             context.theme.text_faint, shown);
  const Rect note{rect.min, {left, rect.max.y}};
  if (!wordings.front().empty() && hovered(note)) {
    tooltip(
        context,
        fmt::format("{}\nmodelled, whole pass, all heads: \"paper\" counts every load and store of "
                    "the algorithm, and each operand of standard attention's products once; "
                    "operations: floating-point operations; peak memory: inputs, outputs and "
                    "workspace",
                    wordings.front()),
        note);
  }
}

class LedgerPanel {
 public:
  explicit LedgerPanel(MakeLedgerBasis make_basis) : make_basis_(std::move(make_basis)) {}

  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context);
  bool busy() const { return basis_.busy(); }

 private:
  /// The key of the basis: a different run or measurement needs a new one.
  struct BasisKey {
    RunOfWork run;
    std::size_t known_runs = 0;
    bool operator==(const BasisKey&) const = default;
  };

  /// Updates ledger_ to the snapshot if its basis exists.
  void refresh(const Snapshot& snapshot, const ViewState& view, const Measurements& measurements);

  MakeLedgerBasis make_basis_;
  BackgroundJob<BasisKey, LedgerBasis> basis_;
  std::optional<Ledger> ledger_;  ///< the ledger of the newest run with a basis
  bool so_far_ = true;            ///< its scope: true for the bytes so far
};

void LedgerPanel::refresh(const Snapshot& snapshot, const ViewState& view,
                          const Measurements& measurements) {
  const BasisKey key{{snapshot.run}, measurements.recorded.size() + measurements.measured.size()};
  if (basis_.wants(key)) {
    basis_.start(key,
                 [make = make_basis_, waiting = snapshot.run,
                  seen = find_seen_run(*snapshot.run, measurements)](WorkControl& control) mutable {
                   const auto run = std::move(waiting);  // released when the work is done
                   return make(*run, seen, &control.cancel_flag());
                 });
  }
  const LedgerBasis* basis = basis_.latest();
  if (basis == nullptr || !(basis_.latest_key()->run == RunOfWork{snapshot.run})) return;
  ledger_ = without(make_ledger(snapshot, view.ledger_scope, *basis), view.hidden);
  so_far_ = view.ledger_scope == LedgerScope::so_far;
}

void LedgerPanel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  const bool is_line = context.rect.height() < 4.0f * context.fonts.ui.size;
  if (context.presenter && is_line) {
    basis_.collect();  // so that the job does not remain busy
    return draw_byte_counter(snapshot, context);
  }
  refresh(snapshot, view, context.measurements);
  const Index heads = snapshot.run->problem().batch * snapshot.run->problem().heads;
  const ShownHead head = shown_head(snapshot.run->resolved(), view.head);
  std::string scope = head.packed > 1 ? fmt::format("bytes at the SM, {} heads as one", head.packed)
                                      : "bytes at the SM, this head";
  if (ledger_ && ledger_->all_heads) scope = fmt::format("bytes at the SM, all {} heads", heads);
  const bool stale = ledger_ && !(basis_.latest_key()->run == RunOfWork{snapshot.run});
  if (stale && basis_.busy_for_s() > kPatienceSeconds) scope = "previous settings; comparing…";
  if (stale && basis_.error())
    scope = "previous settings: " + words(*basis_.error(), Reader::screen);
  const auto [chosen, rest] =
      draw_tabbed_header(context, "ledger", "LEDGER", scope, {"so far", "whole pass"},
                         static_cast<int>(view.ledger_scope));
  view.ledger_scope = static_cast<LedgerScope>(chosen);
  if (!ledger_) {
    draw::text(context, context.fonts.small, rest.min, context.theme.text_faint,
               basis_.error() ? words(*basis_.error(), Reader::screen)
                              : "comparing with GPU measurements…");
    return;
  }
  // Heading, tensors, totals and the footer share the height; many tensors are placed side by side
  const float room = rest.height() - context.px(10.0f), size = context.fonts.small.size;
  const std::optional<Ledger> briefer = briefer_ledger(*ledger_, room, size);
  const Ledger& ledger = briefer ? *briefer : *ledger_;
  Table table{context,
              ledger,
              rest,
              so_far_,
              lay_out_ledger(lines_of(ledger), room, size),
              headings_of(ledger, so_far_)};
  table.shown = shown_tensors(ledger, table.layout.shown);
  table.columns = lay_out_columns(ledger, table.headings, context.fonts, rest.min.x, rest.max.x,
                                  1.2f * size, context.px(14.0f));
  float y = rest.min.y;
  draw_headings(table, y);
  y += table.layout.pitch;
  draw_tensors(table, y);
  draw_totals(table, y);
  if (const auto lines = static_cast<float>(table.layout.time_bar); lines > 0) {
    draw_time_bar(context, ledger.time,
                  {{rest.min.x, y}, {rest.max.x, y + lines * table.layout.pitch}},
                  table.layout.pitch);
  }
  const float bottom = rest.max.y - table.layout.pitch + table.context.px(4.0f);
  draw_footer(table, {{rest.min.x, bottom}, {rest.max.x, bottom + table.layout.pitch}});
}

}  // namespace

Panel make_ledger_panel(MakeLedgerBasis make_basis) {
  const auto state = std::make_shared<LedgerPanel>(std::move(make_basis));
  Panel panel{"ledger", "LEDGER", Slot::ledger, std::bind_front(&LedgerPanel::draw, state)};
  panel.busy = std::bind_front(&LedgerPanel::busy, state);
  return panel;
}

}  // namespace attnscope::app
