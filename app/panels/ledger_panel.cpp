#include "app/panels/ledger_panel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/draw/format.h"
#include "app/draw/shapes.h"
#include "app/draw/text.h"
#include "app/panels/panel_tabs.h"
#include "app/panels/snapshot_view.h"
#include "app/report/compare.h"

namespace attnscope::app {

namespace {

/// Everything about a row, for its hover.
std::string in_words(const LedgerRow& row, bool so_far) {
  const bool partial = so_far && row.modelled != row.whole;
  std::string lines = fmt::format("{}: {} modelled{}", row.label, draw::format_bytes(row.modelled),
                                  partial ? " so far" : "");
  if (partial) lines += fmt::format(", {} in the whole pass", draw::format_bytes(row.whole));
  if (row.formula) {
    lines +=
        fmt::format("\nclosed form: {} = {}", row.formula_text, draw::format_bytes(*row.formula));
  } else if (!row.formula_text.empty()) {
    lines += fmt::format("\n{}", row.formula_text);
  }
  if (row.seen.bytes) {
    lines += fmt::format("\n{} {}", draw::format_bytes(*row.seen.bytes), row.seen.about);
  } else if (!row.seen.about.empty()) {
    lines += fmt::format("\n{}", row.seen.about);
  }
  if (row.gap_percent) lines += fmt::format("\ngap {}", draw::format_percent(*row.gap_percent));
  if (!row.gap_reason.empty()) lines += fmt::format(": {}", row.gap_reason);
  return lines;
}

}  // namespace

/// Right edges of the columns of numbers; the labels stand at the left.
struct LedgerPanel::Columns {
  float label = 0.0f, modelled = 0.0f, formula = 0.0f, seen = 0.0f, gap = 0.0f;

  explicit Columns(const Rect& rect)
      : label(rect.min.x),
        modelled(rect.min.x + rect.width() * 0.45f),
        formula(rect.min.x + rect.width() * 0.645f),
        seen(rect.min.x + rect.width() * 0.855f),
        gap(rect.max.x) {}
};

void LedgerPanel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  if (!has_run(snapshot, context, "LEDGER")) return;
  const bool so_far = view.ledger_scope == LedgerScope::so_far;
  const Ledger ledger = make_ledger(snapshot, view.ledger_scope, context.measurements);
  const Index heads = snapshot.run->problem.batch * snapshot.run->problem.heads;
  const std::string scope = ledger.all_heads ? fmt::format("bytes at the SM, all {} heads", heads)
                                             : std::string("bytes at the SM, this head");
  const Rect rest = draw_panel_header(context, "LEDGER", scope, {});
  view.ledger_scope = static_cast<LedgerScope>(draw_header_tabs(
      context, "ledger", {"so far", "whole pass"}, static_cast<int>(view.ledger_scope)));

  // Heading, tensors, totals and the footer share the height
  const Fonts& fonts = context.fonts;
  const draw::Canvas canvas = canvas_of(context);
  const auto lines = static_cast<float>(ledger.tensors.size() + ledger.totals.size() + 2);
  const float pitch = std::clamp((rest.height() - canvas.px(8.0f)) / lines, fonts.small.size * 0.9f,
                                 fonts.small.size * 1.6f);
  const Columns columns(rest);
  float y = rest.min.y;
  const auto heading = [&](float x, std::string_view text, draw::Align align, float room) {
    draw::text(canvas, fonts.small, {x, y}, context.theme.text_faint,
               draw::fitted(fonts.small, text, room), align);
  };
  const float room = columns.formula - columns.modelled - canvas.px(6.0f);
  heading(columns.label, "tensor", draw::Align::left, columns.modelled - columns.label);
  heading(columns.modelled, so_far ? "modelled so far" : "modelled", draw::Align::right, 2 * room);
  heading(columns.formula, so_far ? "formula, whole" : "formula", draw::Align::right, room);
  const bool partial = so_far && ledger.seen_kind != NumberKind::unavailable;
  heading(columns.seen,
          partial ? fmt::format("{}, whole", to_string(ledger.seen_kind)) : ledger.seen_heading,
          draw::Align::right, columns.seen - columns.formula);
  heading(columns.gap, "gap", draw::Align::right, columns.gap - columns.seen);
  if (hovered({{columns.formula, y}, {columns.seen, y + pitch}})) {
    tooltip(context, ledger.seen_about);
  }
  y += pitch;

  const float bottom = rest.max.y - pitch + canvas.px(4.0f);
  for (const LedgerRow& row : ledger.tensors) {
    if (y + pitch > bottom) break;
    draw_row(context, columns, row, ledger, y, pitch, so_far);
    y += pitch;
  }
  y += canvas.px(2.0f);
  canvas.list->AddLine({rest.min.x, y}, {rest.max.x, y}, context.theme.grid);
  y += canvas.px(3.0f);
  for (const LedgerRow& row : ledger.totals) {
    if (y + pitch > bottom) break;
    draw_row(context, columns, row, ledger, y, pitch, so_far);
    y += pitch;
  }
  draw_footer(context, ledger, {{rest.min.x, bottom}, {rest.max.x, bottom + pitch}});
}

void LedgerPanel::draw_row(const PanelContext& context, const Columns& columns,
                           const LedgerRow& row, const Ledger& ledger, float y, float pitch,
                           bool so_far) const {
  const Theme& theme = context.theme;
  const Fonts& fonts = context.fonts;
  const draw::Canvas canvas = canvas_of(context);
  const bool total = !row.tensor;
  const float middle = y + pitch * 0.5f;
  float x = columns.label;
  if (row.tensor) {
    const float half = fonts.small.size * 0.36f;
    draw::fill(canvas, {{x, middle - half}, {x + 2 * half, middle + half}},
               color_of(theme, *row.tensor), canvas.px(2.0f));
    x += fonts.small.size * 1.2f;
  }
  const auto put = [&](const FontRef& font, float at, ImU32 color, std::string_view text,
                       draw::Align align, float room) {
    draw::text(canvas, font, {at, middle - font.size * 0.5f}, color, draw::fitted(font, text, room),
               align);
  };
  const float number_room = columns.modelled - columns.label;
  const std::string modelled = draw::format_bytes(row.modelled, false);
  put(fonts.small, x, total ? theme.text : theme.text_dim, row.label, draw::Align::left,
      number_room - fonts.mono_small.measure(modelled).x - (x - columns.label) - canvas.px(4.0f));
  put(fonts.mono_small, columns.modelled, theme.text, modelled, draw::Align::right, number_room);
  const float room = columns.formula - columns.modelled - canvas.px(4.0f);
  if (row.formula) {
    const bool agrees = *row.formula == row.whole;
    put(fonts.mono_small, columns.formula, agrees ? theme.text_faint : theme.error,
        draw::format_bytes(*row.formula, false), draw::Align::right, room);
  }
  const float seen_room = columns.seen - columns.formula - canvas.px(4.0f);
  if (row.seen.bytes) {
    put(fonts.mono_small, columns.seen, number_color(theme, ledger.seen_kind),
        draw::format_bytes(*row.seen.bytes, false), draw::Align::right, seen_room);
  } else if (total) {
    put(fonts.small, columns.seen, theme.text_faint, "unavailable", draw::Align::right, seen_room);
  }
  if (row.gap_percent) {
    const std::string gap = draw::format_percent(*row.gap_percent);
    put(fonts.mono_small, columns.gap,
        std::abs(*row.gap_percent) <= kAgreementPercent ? theme.text_dim : theme.warning, gap,
        draw::Align::right, columns.gap - columns.seen - canvas.px(4.0f));
  }

  if (hovered({{columns.label, y}, {columns.gap, y + pitch}})) {
    tooltip(context, in_words(row, so_far));
  }
}

void LedgerPanel::draw_footer(const PanelContext& context, const Ledger& ledger,
                              const Rect& rect) const {
  const Fonts& fonts = context.fonts;
  const draw::Canvas canvas = canvas_of(context);
  const Measurements& measurements = context.measurements;
  const bool live = !measurements.live_gpu.empty();
  ImVec2 at{rect.max.x + canvas.px(6.0f), rect.center().y - fonts.small.size * 0.5f};
  const TextButton copy = draw_text_button(context, "ledger.copy", "copy CSV", at, false);
  if (copy.pressed) context.commands.push(CopyText{ledger_csv(ledger), "the ledger as CSV"});
  at.x = copy.left - canvas.px(4.0f);
  const bool running = measurements.running;
  const TextButton run = draw_text_button(
      context, "ledger.run", running ? "running…" : "Run on GPU", at, live && !running);
  if (run.pressed && !running) context.commands.push(RunOnGpu{});
  if (hovered({{run.left, rect.min.y}, {at.x, rect.max.y}})) {
    tooltip(context, live ? "runs the twin kernel on " + measurements.live_gpu +
                                ", checks it against the reference and fills this column"
                          : "unavailable: " + measurements.live_unavailable);
  }

  std::string notes;
  for (const std::string& note : ledger.notes) {
    if (!notes.empty()) notes += " · ";
    notes += note;
  }
  draw::text(canvas, fonts.small, {rect.min.x, rect.center().y - fonts.small.size * 0.5f},
             context.theme.text_faint,
             draw::fitted(fonts.small, notes, run.left - rect.min.x - canvas.px(6.0f)));
  if (hovered({rect.min, {run.left, rect.max.y}})) {
    tooltip(context,
            fmt::format("{}\nmodelled, whole pass, all heads: the paper counts each operand "
                        "of a launch once; operations on floating-point numbers; inputs, "
                        "outputs and workspace in HBM; the roofline's floor of the time",
                        notes));
  }
}

std::string ledger_csv(const Ledger& ledger) {
  std::string csv = fmt::format("quantity,modelled_bytes,whole_pass_bytes,formula_bytes,{}_bytes\n",
                                ledger.seen_heading);
  for (const auto* rows : {&ledger.tensors, &ledger.totals}) {
    for (const LedgerRow& row : *rows) {
      csv += fmt::format("{},{:.0f},{:.0f},{},{}\n", row.label, row.modelled, row.whole,
                         row.formula ? fmt::format("{:.0f}", *row.formula) : "",
                         row.seen.bytes ? fmt::format("{:.0f}", *row.seen.bytes) : "unavailable");
    }
  }
  return csv;
}

}  // namespace attnscope::app
