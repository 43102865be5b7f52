#include "app/panels/ledger/ledger_panel.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "app/draw/canvas.h"
#include "app/draw/format.h"
#include "app/jobs/background_job.h"
#include "app/panels/ledger/ledger_layout.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/report/compare.h"
#include "app/scene/shown_head.h"

namespace attnscope::app {

namespace {

/// A number with as many digits as fit in `room`: a unit prefix replaces digits, none is cut off.
std::string number_that_fits(const LedgerRow& row, double value, const FontRef& font, float room) {
  std::string exact = number_text(row, value, false);
  if (row.unit == "s" || font.measure(exact).x <= room) return exact;
  return draw::format_si(value, "B");
}

/// Right edges of the columns of numbers; the labels are at the left.
struct Columns {
  float label = 0.0f, modelled = 0.0f, formula = 0.0f, seen = 0.0f, gap = 0.0f;
};

/// What the parts of the table share in one frame.
struct Table {
  const PanelContext& context;
  const Ledger& ledger;
  Rect rect;
  bool so_far = false;
  LedgerLayout layout = {};

  Columns columns() const {
    const auto at = [&](float share) { return rect.min.x + rect.width() * share; };
    return {rect.min.x, at(0.45f), at(0.645f), at(0.855f), rect.max.x};
  }
  /// The columns of the k-th tensor. Two tensors side by side have no columns for a GPU, which does
  /// not count single tensors.
  Columns columns_of(std::size_t k) const {
    if (!layout.two_columns) return columns();
    const bool right = k >= layout.tensor_lines;
    const float gap = context.px(8.0f);
    const float left = right ? rect.center().x + gap : rect.min.x;
    const float end = right ? rect.max.x : rect.center().x - gap;
    const float number = context.fonts.mono_small.measure("99.9 MB").x + context.px(6.0f);
    return {left, end - std::max((end - left) * 0.3f, number), end, end, end};
  }
};

/// Over the columns of what a GPU showed.
void draw_seen_headings(const Table& table, float y) {
  const Ledger& ledger = table.ledger;
  const FontRef& font = table.context.fonts.small;
  const Columns columns = table.columns();
  std::vector<std::string> seen = {ledger.seen_heading};
  if (!ledger.seen_gpu.empty()) {
    if (table.so_far) {
      seen = {fmt::format("{}, whole", ledger.seen_heading),
              fmt::format("{}, whole", ledger.seen_gpu)};
    }
    seen.push_back(ledger.seen_gpu);
  }
  draw::text(table.context, font, {columns.seen, y}, table.context.theme.text_faint,
             draw::label_that_fits(font, seen, columns.seen - columns.formula), draw::Align::right);
  if (!ledger.stands_alone) {
    draw::fitted_text(table.context, font, {columns.gap, y}, table.context.theme.text_faint, "gap",
                      columns.gap - columns.seen, draw::Align::right);
  }
  const Rect heading{{columns.formula, y}, {columns.seen, y + table.layout.pitch}};
  if (hovered(heading)) {
    tooltip(table.context, ledger.seen_about, heading);
  }
}

void draw_headings(const Table& table, float y) {
  const auto heading = [&](float x, std::string_view text, draw::Align align, float room) {
    draw::fitted_text(table.context, table.context.fonts.small, {x, y},
                      table.context.theme.text_faint, text, room, align);
  };
  const auto of_tensors = [&](const Columns& columns, std::string_view modelled,
                              std::string_view formula) {
    const float room = columns.formula - columns.modelled - table.context.px(6.0f);
    heading(columns.label, "tensor", draw::Align::left, columns.modelled - columns.label);
    heading(columns.modelled, modelled, draw::Align::right, 2 * room);
    heading(columns.formula, formula, draw::Align::right, room);
  };
  if (table.layout.two_columns) {
    for (const std::size_t k : {std::size_t{0}, table.layout.tensor_lines}) {
      of_tensors(table.columns_of(k), table.so_far ? "so far" : "modelled", "formula");
    }
    return;
  }
  of_tensors(table.columns(), table.so_far ? "modelled so far" : "modelled",
             table.so_far ? "formula, whole" : "formula");
  draw_seen_headings(table, y);
}

void draw_row(const Table& table, const Columns& columns, const LedgerRow& row, float y) {
  const PanelContext& context = table.context;
  const Theme& theme = context.theme;
  const FontRef& small = context.fonts.small;
  const FontRef& mono = context.fonts.mono_small;
  const float middle = y + table.layout.pitch * 0.5f;
  float x = columns.label;
  if (row.tensor) {
    const float half = small.size * 0.36f;
    draw_swatch(context, {{x, middle - half}, {x + 2 * half, middle + half}}, *row.tensor);
    x += small.size * 1.2f;
  }

  // The label and the modelled number share the first column
  const float margin = context.px(4.0f);
  const float label_room = columns.modelled - x - margin;
  const std::string modelled =
      row.modelled
          ? number_that_fits(row, *row.modelled, mono, label_room - small.measure(row.label).x)
          : row.in_place_of_modelled;
  const FontRef& modelled_font = row.modelled ? mono : small;
  draw::fitted_text(context, small, {x, middle - small.size * 0.5f},
                    row.tensor ? theme.text_dim : theme.text, row.label,
                    label_room - modelled_font.measure(modelled).x);
  const auto put = [&](const FontRef& font, ImU32 color, std::string_view text, float left,
                       float right) {
    draw::fitted_text(context, font, {right, middle - font.size * 0.5f}, color, text, right - left,
                      draw::Align::right);
  };
  put(modelled_font, row.modelled ? theme.text : theme.text_faint, modelled, columns.label,
      columns.modelled);
  const auto put_number = [&](double value, ImU32 color, float left, float right) {
    put(mono, color, number_that_fits(row, value, mono, right - left), left, right);
  };

  const float formula_left = columns.modelled + margin;
  if (row.formula) {
    const bool agrees = row.is_compulsory || *row.formula == row.whole;
    put_number(*row.formula, agrees ? theme.text_faint : theme.error, formula_left,
               columns.formula);
  } else if (row.tensor) {
    put(small, theme.text_faint, "none", formula_left, columns.formula);
  }
  const float seen_left = columns.formula + margin;
  if (row.seen.value) {
    put_number(*row.seen.value, number_color(theme, table.ledger.seen_kind), seen_left,
               columns.seen);
  } else if (!row.tensor && !row.seen.about.empty()) {
    put(small, theme.text_faint, "unavailable", seen_left, columns.seen);
  }
  const float gap_left = columns.seen + margin;
  if (row.gap_percent) {
    const bool agrees = std::abs(*row.gap_percent) <= kAgreementPercent;
    put(mono, agrees ? theme.text_dim : theme.warning, draw::format_percent(*row.gap_percent),
        gap_left, columns.gap);
  } else if (!row.in_place_of_gap.empty()) {
    const std::vector<std::string> wordings = brief_wordings(row);
    put(small, theme.text_dim, draw::widest_that_fits(small, wordings, columns.gap - gap_left),
        gap_left, columns.gap);
  }
  const Rect line{{columns.label, y}, {columns.gap, y + table.layout.pitch}};
  if (row.tensor) context.named_rects.add("ledger.row." + row.label, line);
  if (hovered(line)) {
    tooltip(context, in_words(row, table.so_far), line);
  }
}

/// Draws a line in place of the tensors that do not fit.
void draw_hidden(const Table& table, const Columns& columns, float y) {
  const Ledger& ledger = table.ledger;
  const FontRef& font = table.context.fonts.small;
  const float top = y + (table.layout.pitch - font.size) * 0.5f;
  draw::fitted_text(table.context, font, {columns.label, top}, table.context.theme.accent,
                    fmt::format("and {} more: hover", table.layout.hidden),
                    columns.gap - columns.label);
  const Rect line{{columns.label, y}, {columns.gap, y + table.layout.pitch}};
  if (!hovered(line)) return;
  std::string lines;
  for (std::size_t k = table.layout.shown; k < ledger.tensors.size(); ++k) {
    const LedgerRow& row = ledger.tensors[k];
    lines += fmt::format("{}{}: {} modelled", lines.empty() ? "" : "\n", row.label,
                         number_text(row, *row.modelled, true));
    if (row.formula) lines += fmt::format(", {} by formula", draw::format_bytes(*row.formula));
  }
  tooltip(table.context, lines, line);
}

void draw_rows(const Table& table, const std::vector<LedgerRow>& rows, float& y) {
  for (const LedgerRow& row : rows) {
    draw_row(table, table.columns(), row, y);
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
    draw_row(table, table.columns_of(k), table.ledger.tensors[k], y_of(k));
  }
  if (layout.hidden > 0) {
    draw_hidden(table, table.columns_of(layout.shown), y_of(layout.shown));
  }
  y += layout.pitch * static_cast<float>(layout.tensor_lines);
}

void draw_totals(const Table& table, float& y) {
  const Ledger& ledger = table.ledger;
  const Columns columns = table.columns();
  const draw::Canvas& canvas = table.context;
  const FontRef& font = table.context.fonts.small;
  const auto rule = [&] {
    y += canvas.px(2.0f);
    canvas.list->AddLine({table.rect.min.x, y}, {table.rect.max.x, y}, table.context.theme.grid);
    y += canvas.px(3.0f);
  };
  const auto title = [&](const std::vector<std::string>& wordings, std::string_view about) {
    const float top = y + (table.layout.pitch - font.size) * 0.5f;
    const Rect line{{table.rect.min.x, y}, {columns.formula, y + table.layout.pitch}};
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
  draw::text(context, fonts.small, {rect.min.x, rect.center().y - fonts.small.size * 0.5f},
             context.theme.text_faint,
             draw::widest_that_fits(fonts.small, wordings, left - rect.min.x - context.px(6.0f)));
  const Rect note{rect.min, {left, rect.max.y}};
  if (hovered(note)) {
    tooltip(
        context,
        fmt::format("{}\nmodelled, whole pass, all heads: \"paper\" counts every load and store of "
                    "the algorithm, and each operand of standard attention's products once; "
                    "operations on floating-point numbers; peak memory: inputs, outputs and "
                    "workspace",
                    wordings.front()),
        note);
  }
}

/// Presenter mode's ledger: the bytes requested so far as a number and as a bar.
void draw_counter(const Snapshot& snapshot, const PanelContext& context) {
  const FontRef& font = context.fonts.ui_bold;
  const Bytes so_far = sum(snapshot.bytes_so_far);
  const Bytes whole = sum(snapshot.run->head_bytes);
  const std::string count =
      fmt::format("{} of {} requested, this head, modelled", draw::format_bytes(so_far.total()),
                  draw::format_bytes(whole.total()));
  const Rect inner = context.rect.shrunk(context.px(14.0f), 0.0f);
  draw::text(context, font, {inner.min.x, inner.center().y - font.size * 0.5f}, context.theme.text,
             draw::fitted(font, count, inner.width() * 0.75f));

  // The bar begins where the widest text ends, so that it keeps its place
  const float left = inner.min.x + inner.width() * 0.75f + context.px(12.0f);
  const float half = context.px(7.0f);
  const Rect bar{{left, inner.center().y - half}, {inner.max.x, inner.center().y + half}};
  draw::fill(context, bar, context.theme.track, half);
  const auto share =
      static_cast<float>(so_far.total()) / static_cast<float>(std::max<Index>(whole.total(), 1));
  const Rect done{bar.min, {bar.min.x + bar.width() * share, bar.max.y}};
  if (done.width() > 2.0f * half) draw::fill(context, done, context.theme.accent, half);
  context.named_rects.add("ledger.counter", bar);
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
  void refresh(const Snapshot& snapshot, LedgerScope scope, const Measurements& measurements);

  MakeLedgerBasis make_basis_;
  BackgroundJob<BasisKey, LedgerBasis> basis_;
  std::optional<Ledger> ledger_;  ///< of the newest run with a basis
  bool so_far_ = true;            ///< its scope
};

void LedgerPanel::refresh(const Snapshot& snapshot, LedgerScope scope,
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
  ledger_ = make_ledger(snapshot, scope, *basis);
  so_far_ = scope == LedgerScope::so_far;
}

void LedgerPanel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  const bool is_line = context.rect.height() < 4.0f * context.fonts.ui.size;
  if (context.presenter && is_line) {
    basis_.latest();  // takes the result of work begun at another size: the app rests afterwards
    return draw_counter(snapshot, context);
  }
  refresh(snapshot, view.ledger_scope, context.measurements);
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
  Table table{context, ledger, rest, so_far_, lay_out_ledger(lines_of(ledger), room, size)};
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
