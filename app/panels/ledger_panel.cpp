#include "app/panels/ledger_panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/draw/format.h"
#include "app/draw/shapes.h"
#include "app/draw/text.h"
#include "app/panels/ledger_layout.h"
#include "app/panels/panel_tabs.h"
#include "app/panels/snapshot_view.h"
#include "app/report/compare.h"
#include "app/shown_head.h"

namespace attnscope::app {

namespace {

/// Work that takes longer than this is told of.
constexpr double kPatienceSeconds = 0.1;

std::string number_text(const LedgerRow& row, double value, bool unit) {
  return row.unit == "s" ? draw::format_seconds(value) : draw::format_bytes(value, unit);
}

/// A number as exact as `room` has place for: digits give way to a prefix, and are never cut.
std::string number_that_fits(const LedgerRow& row, double value, const FontRef& font, float room) {
  std::string exact = number_text(row, value, false);
  if (row.unit == "s" || font.measure(exact).x <= room) return exact;
  return draw::format_si(value, "B");
}

/// Everything about a row, for its hover.
std::string in_words(const LedgerRow& row, bool so_far) {
  const bool partial = so_far && row.modelled && *row.modelled != row.whole;
  std::string lines = row.label + ":";
  if (row.modelled) {
    lines += fmt::format(" {} modelled{}", number_text(row, *row.modelled, true),
                         partial ? " so far" : "");
  }
  if (partial) lines += fmt::format(", {} in the whole pass", number_text(row, row.whole, true));
  if (row.formula) {
    lines +=
        fmt::format("\nclosed form: {} = {}", row.formula_text, draw::format_bytes(*row.formula));
  } else if (!row.formula_text.empty()) {
    lines += fmt::format("\n{}", row.formula_text);
  }
  if (row.seen.value) {
    lines += fmt::format("\n{} {}", number_text(row, *row.seen.value, true), row.seen.about);
  } else if (!row.seen.about.empty()) {
    lines += fmt::format("\n{}", row.seen.about);
  }
  if (row.gap_percent) {
    lines += fmt::format("\ngap {}: {}", draw::format_percent(*row.gap_percent), row.gap_reason);
  } else if (!row.gap_reason.empty()) {
    lines += "\n" + row.gap_reason;
  }
  return lines;
}

/// What stands in place of a gap: in full, then in fewer and fewer words.
std::vector<std::string> brief_wordings(const LedgerRow& row) {
  const std::string& words = row.in_place_of_gap;
  return {row.gap_reason, words, words.substr(words.find(' ') + 1),
          words.substr(words.find_last_of(' ') + 1)};
}

/// All notes in a line, then in fewer words, then fewer of them with a mark, never a part of one.
std::vector<std::string> note_wordings(const std::vector<std::string>& notes) {
  std::vector<std::string> wordings = {fmt::format("{}", fmt::join(notes, " · "))};
  constexpr std::string_view kLong = "whole pass, all heads";
  for (const std::string_view brief : {"whole of all heads", "all heads"}) {
    const std::size_t at = wordings.front().find(kLong);
    if (at == std::string::npos) break;
    wordings.push_back(std::string(wordings.front()).replace(at, kLong.size(), brief));
  }
  for (std::size_t kept = notes.size(); kept-- > 1;) {
    const auto end = notes.begin() + static_cast<std::ptrdiff_t>(kept);
    wordings.push_back(fmt::format("{} · …", fmt::join(notes.begin(), end, " · ")));
  }
  return wordings;
}

}  // namespace

/// Right edges of the columns of numbers; the labels stand at the left.
struct LedgerPanel::Columns {
  float label = 0.0f, modelled = 0.0f, formula = 0.0f, seen = 0.0f, gap = 0.0f;

  static Columns of_all(const Rect& rect) {
    const auto at = [&](float share) { return rect.min.x + rect.width() * share; };
    return {rect.min.x, at(0.45f), at(0.645f), at(0.855f), rect.max.x};
  }
  /// Tensors alone, two side by side: no GPU tells them apart. `number` is the least width of the
  /// right column.
  static Columns of_half(const Rect& rect, bool right, float gap, float number) {
    const float middle = rect.center().x;
    const float left = right ? middle + gap : rect.min.x;
    const float end = right ? rect.max.x : middle - gap;
    const float modelled = end - std::max((end - left) * 0.3f, number);
    return {left, modelled, end, end, end};
  }
};

/// What the parts of the table share in one frame.
struct LedgerPanel::Table {
  const PanelContext& context;
  Rect rect;
  bool so_far = false;
  LedgerLayout layout = {};

  Columns half(bool right) const {
    const float number = context.fonts.mono_small.measure("99.9 MB").x + context.px(6.0f);
    return Columns::of_half(rect, right, context.px(8.0f), number);
  }
};

void LedgerPanel::refresh(const Snapshot& snapshot, LedgerScope scope,
                          const Measurements& measurements) {
  const BasisKey key{snapshot.run, measurements.recorded.size() + measurements.measured.size()};
  if (basis_.wants(key)) {
    basis_.start(key, [make = make_basis_, run = snapshot.run,
                       seen = find_seen_run(*snapshot.run, measurements)](WorkControl&) {
      return Result<LedgerBasis>(make(*run, seen));
    });
  }
  const LedgerBasis* basis = basis_.latest();
  if (basis == nullptr || basis_.latest_key()->run != snapshot.run) return;
  ledger_ = make_ledger(snapshot, scope, *basis);
  so_far_ = scope == LedgerScope::so_far;
}

void LedgerPanel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  if (!has_run(snapshot, context, "LEDGER")) return;
  refresh(snapshot, view.ledger_scope, context.measurements);
  const Index heads = snapshot.run->problem().batch * snapshot.run->problem().heads;
  const ShownHead head = shown_head(snapshot.run->problem(), view);
  std::string scope = head.packed > 1 ? fmt::format("bytes at the SM, {} heads as one", head.packed)
                                      : "bytes at the SM, this head";
  if (ledger_ && ledger_->all_heads) scope = fmt::format("bytes at the SM, all {} heads", heads);
  const bool stale = ledger_ && basis_.latest_key()->run != snapshot.run;
  if (stale && basis_.busy_for_s() > kPatienceSeconds) scope = "of the last settings; comparing…";
  if (stale && basis_.error())
    scope = "of the last settings: " + words(*basis_.error(), Reader::screen);
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
  const Ledger& ledger = *ledger_;

  // Heading, tensors, totals and the footer share the height; many tensors stand side by side
  Table table{context, rest};
  table.so_far = so_far_;
  table.layout = lay_out_ledger(
      {ledger.tensors.size(), ledger.totals.size() + ledger.apart.size(), !ledger.apart.empty()},
      rest.height() - table.context.px(10.0f), context.fonts.small.size);
  float y = rest.min.y;
  draw_headings(table, ledger, y);
  y += table.layout.pitch;
  draw_tensors(table, ledger, y);
  draw_totals(table, ledger, y);
  const float bottom = rest.max.y - table.layout.pitch + table.context.px(4.0f);
  draw_footer(context, ledger, {{rest.min.x, bottom}, {rest.max.x, bottom + table.layout.pitch}});
}

void LedgerPanel::draw_headings(const Table& table, const Ledger& ledger, float y) const {
  const FontRef& font = table.context.fonts.small;
  const auto heading = [&](float x, std::string_view text, draw::Align align, float room) {
    draw::text(table.context, font, {x, y}, table.context.theme.text_faint,
               draw::fitted(font, text, room), align);
  };
  const auto of_tensors = [&](const Columns& columns, std::string_view modelled,
                              std::string_view formula) {
    const float room = columns.formula - columns.modelled - table.context.px(6.0f);
    heading(columns.label, "tensor", draw::Align::left, columns.modelled - columns.label);
    heading(columns.modelled, modelled, draw::Align::right, 2 * room);
    heading(columns.formula, formula, draw::Align::right, room);
  };
  if (table.layout.two_columns) {
    for (const bool right : {false, true}) {
      of_tensors(table.half(right), table.so_far ? "so far" : "modelled", "formula");
    }
    return;
  }
  const Columns columns = Columns::of_all(table.rect);
  of_tensors(columns, table.so_far ? "modelled so far" : "modelled",
             table.so_far ? "formula, whole" : "formula");
  draw_seen_headings(table, ledger, y);
}

void LedgerPanel::draw_seen_headings(const Table& table, const Ledger& ledger, float y) const {
  const FontRef& font = table.context.fonts.small;
  const Columns columns = Columns::of_all(table.rect);
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
    draw::text(table.context, font, {columns.gap, y}, table.context.theme.text_faint,
               draw::fitted(font, "gap", columns.gap - columns.seen), draw::Align::right);
  }
  if (hovered({{columns.formula, y}, {columns.seen, y + table.layout.pitch}})) {
    tooltip(table.context, ledger.seen_about);
  }
}

void LedgerPanel::draw_tensors(const Table& table, const Ledger& ledger, float& y) const {
  const LedgerLayout& layout = table.layout;
  if (!layout.two_columns) {
    const Columns columns = Columns::of_all(table.rect);
    for (const LedgerRow& row : ledger.tensors) {
      draw_row(table, columns, row, ledger, y);
      y += layout.pitch;
    }
    return;
  }
  const auto columns_of = [&](std::size_t k) { return table.half(k >= layout.tensor_lines); };
  const auto y_of = [&](std::size_t k) {
    return y + layout.pitch * static_cast<float>(k % layout.tensor_lines);
  };
  for (std::size_t k = 0; k < layout.shown; ++k) {
    draw_row(table, columns_of(k), ledger.tensors[k], ledger, y_of(k));
  }
  if (layout.hidden > 0) {
    draw_hidden(table, columns_of(layout.shown), ledger, y_of(layout.shown));
  }
  y += layout.pitch * static_cast<float>(layout.tensor_lines);
}

void LedgerPanel::draw_hidden(const Table& table, const Columns& columns, const Ledger& ledger,
                              float y) const {
  const FontRef& font = table.context.fonts.small;
  const float top = y + (table.layout.pitch - font.size) * 0.5f;
  draw::text(table.context, font, {columns.label, top}, table.context.theme.accent,
             draw::fitted(font, fmt::format("and {} more: hover", table.layout.hidden),
                          columns.gap - columns.label));
  if (!hovered({{columns.label, y}, {columns.gap, y + table.layout.pitch}})) return;
  std::string lines;
  for (std::size_t k = table.layout.shown; k < ledger.tensors.size(); ++k) {
    const LedgerRow& row = ledger.tensors[k];
    lines += fmt::format("{}{}: {} modelled", lines.empty() ? "" : "\n", row.label,
                         number_text(row, *row.modelled, true));
    if (row.formula) lines += fmt::format(", {} by formula", draw::format_bytes(*row.formula));
  }
  tooltip(table.context, lines);
}

void LedgerPanel::draw_totals(const Table& table, const Ledger& ledger, float& y) const {
  const Columns columns = Columns::of_all(table.rect);
  const draw::Canvas& canvas = table.context;
  const FontRef& font = table.context.fonts.small;
  const auto rule = [&] {
    y += canvas.px(2.0f);
    canvas.list->AddLine({table.rect.min.x, y}, {table.rect.max.x, y}, table.context.theme.grid);
    y += canvas.px(3.0f);
  };
  const auto rows = [&](const std::vector<LedgerRow>& all) {
    for (const LedgerRow& row : all) {
      draw_row(table, columns, row, ledger, y);
      y += table.layout.pitch;
    }
  };
  const auto title = [&](const std::vector<std::string>& wordings, std::string_view about) {
    const float top = y + (table.layout.pitch - font.size) * 0.5f;
    const Rect line{{table.rect.min.x, y}, {columns.formula, y + table.layout.pitch}};
    draw::text(canvas, font, {line.min.x, top}, table.context.theme.text_dim,
               draw::label_that_fits(font, wordings, line.width()));
    draw_seen_headings(table, ledger, top);
    if (!about.empty() && hovered(line)) tooltip(table.context, about);
    y += table.layout.pitch;
  };
  rule();
  const bool apart = !ledger.apart.empty();
  if (table.layout.two_columns && !apart) title({"all tensors"}, {});
  rows(ledger.totals);
  if (!apart) return;
  title(ledger.apart_titles, ledger.apart_about);
  rows(ledger.apart);
}

void LedgerPanel::draw_row(const Table& table, const Columns& columns, const LedgerRow& row,
                           const Ledger& ledger, float y) const {
  const Theme& theme = table.context.theme;
  const Fonts& fonts = table.context.fonts;
  const draw::Canvas& canvas = table.context;
  const bool total = !row.tensor;
  const float middle = y + table.layout.pitch * 0.5f;
  float x = columns.label;
  if (row.tensor) {
    const float half = fonts.small.size * 0.36f;
    draw_swatch(canvas, {{x, middle - half}, {x + 2 * half, middle + half}}, *row.tensor);
    x += fonts.small.size * 1.2f;
  }
  const auto put = [&](const FontRef& font, float at, ImU32 color, std::string_view text,
                       draw::Align align, float room) {
    draw::text(canvas, font, {at, middle - font.size * 0.5f}, color, draw::fitted(font, text, room),
               align);
  };
  const float number_room = columns.modelled - columns.label;
  const float own_room =
      number_room - (x - columns.label) - fonts.small.measure(row.label).x - canvas.px(4.0f);
  const std::string modelled =
      row.modelled ? number_that_fits(row, *row.modelled, fonts.mono_small, own_room) : "";
  put(fonts.small, x, total ? theme.text : theme.text_dim, row.label, draw::Align::left,
      number_room - fonts.mono_small.measure(modelled).x - (x - columns.label) - canvas.px(4.0f));
  put(fonts.mono_small, columns.modelled, theme.text, modelled, draw::Align::right, number_room);
  const float room = columns.formula - columns.modelled - canvas.px(4.0f);
  if (row.formula) {
    const bool agrees = *row.formula == row.whole;
    put(fonts.mono_small, columns.formula, agrees ? theme.text_faint : theme.error,
        number_that_fits(row, *row.formula, fonts.mono_small, room), draw::Align::right, room);
  } else if (row.tensor) {
    put(fonts.small, columns.formula, theme.text_faint, "none", draw::Align::right, room);
  }
  const float seen_room = columns.seen - columns.formula - canvas.px(4.0f);
  if (row.seen.value) {
    put(fonts.mono_small, columns.seen, number_color(theme, ledger.seen_kind),
        number_that_fits(row, *row.seen.value, fonts.mono_small, seen_room), draw::Align::right,
        seen_room);
  } else if (total && !row.seen.about.empty()) {
    put(fonts.small, columns.seen, theme.text_faint, "unavailable", draw::Align::right, seen_room);
  }
  if (row.gap_percent) {
    const std::string gap = draw::format_percent(*row.gap_percent);
    put(fonts.mono_small, columns.gap,
        std::abs(*row.gap_percent) <= kAgreementPercent ? theme.text_dim : theme.warning, gap,
        draw::Align::right, columns.gap - columns.seen - canvas.px(4.0f));
  } else if (!row.in_place_of_gap.empty()) {
    const std::vector<std::string> wordings = brief_wordings(row);
    const float gap_room = columns.gap - columns.seen - canvas.px(4.0f);
    put(fonts.small, columns.gap, theme.text_dim,
        draw::widest_that_fits(fonts.small, wordings, gap_room), draw::Align::right, gap_room);
  }

  if (hovered({{columns.label, y}, {columns.gap, y + table.layout.pitch}})) {
    tooltip(table.context, in_words(row, table.so_far));
  }
}

void LedgerPanel::draw_footer(const PanelContext& context, const Ledger& ledger,
                              const Rect& rect) const {
  const Fonts& fonts = context.fonts;
  const Measurements& measurements = context.measurements;
  ImVec2 at{rect.max.x + context.px(6.0f), rect.center().y - fonts.small.size * 0.5f};
  const TextButton copy = draw_text_button(context, "ledger.copy", "copy CSV", at, false);
  if (copy.pressed) context.commands.push(CopyText{ledger_csv(ledger), "the ledger as CSV"});
  float left = copy.left;
  if (!measurements.live_gpu.empty()) {
    const bool running = measurements.running;
    at.x = copy.left - context.px(4.0f);
    const TextButton run =
        draw_text_button(context, "ledger.run", running ? "running…" : "Run on GPU", at, !running);
    if (run.pressed && !running) context.commands.push(RunOnGpu{});
    if (hovered({{run.left, rect.min.y}, {at.x, rect.max.y}})) {
      tooltip(context, "runs this problem's kernel on " + measurements.live_gpu +
                           ", checks it against the reference and fills this column");
    }
    left = run.left;
  }

  const std::vector<std::string> wordings = note_wordings(ledger.notes);
  draw::text(context, fonts.small, {rect.min.x, rect.center().y - fonts.small.size * 0.5f},
             context.theme.text_faint,
             draw::widest_that_fits(fonts.small, wordings, left - rect.min.x - context.px(6.0f)));
  if (hovered({rect.min, {left, rect.max.y}})) {
    tooltip(
        context,
        fmt::format("{}\nmodelled, whole pass, all heads: \"paper\" counts every load and store of "
                    "the algorithm, and each operand of standard attention's products once; "
                    "operations on floating-point numbers; peak memory: inputs, outputs and "
                    "workspace",
                    wordings.front()));
  }
}

}  // namespace attnscope::app
