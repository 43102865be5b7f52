#include "app/panels/ledger/ledger_columns.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "app/draw/canvas.h"
#include "app/draw/format.h"

namespace attnscope::app {

namespace {

constexpr double kLargestExact = 1e6;  ///< bytes

std::size_t index_of(LedgerColumn column) {
  return static_cast<std::size_t>(column);
}

std::string cell_text(const LedgerRow& row, double value, bool exact) {
  if (row.unit == "s") return draw::format_seconds(value);
  return exact ? draw::format_count(std::llround(value)) + " B" : draw::format_si(value, "B");
}

/// The text of the gap's cell with its cause, if that is known.
std::string gap_with_cause(const LedgerRow& row) {
  std::string gap = cells_of(row, false).at(LedgerColumn::gap);
  return row.gap_percent && !row.gap_cause.empty() ? gap + ", " + row.gap_cause : gap;
}

/// The rows of all parts of the ledger.
std::vector<const LedgerRow*> all_rows(const Ledger& ledger) {
  std::vector<const LedgerRow*> rows;
  for (const auto* part : {&ledger.tensors, &ledger.totals, &ledger.apart}) {
    for (const LedgerRow& row : *part) rows.push_back(&row);
  }
  return rows;
}

bool has_small_numbers(const Ledger& ledger) {
  return std::ranges::none_of(all_rows(ledger), [](const LedgerRow* row) {
    return row->unit != "s" &&
           std::max({row->whole, row->modelled.value_or(0.0), row->formula.value_or(0.0),
                     row->seen.value.value_or(0.0)}) >= kLargestExact;
  });
}

/// The widths that the label and the columns need; 0 for a column without content.
struct Widths {
  float label = 0.0f;
  std::array<float, kLedgerColumns> columns{};

  /// The width of the label and the columns, with gaps between them.
  float total(float gap) const {
    float sum = label;
    for (const float width : columns) sum += width > 0.0f ? width + gap : 0.0f;
    return sum;
  }
};

Widths widths_of(const Ledger& ledger, const LedgerHeadings& headings, const Fonts& fonts,
                 float swatch, bool exact, bool causes) {
  Widths widths;
  for (const LedgerRow* row : all_rows(ledger)) {
    widths.label =
        std::max(widths.label, fonts.small.measure(row->label).x + (row->tensor ? swatch : 0.0f));
    LedgerRow at_end = *row;  // a growing count is widest at the end
    if (row->modelled) at_end.modelled = std::max(*row->modelled, row->whole);
    LedgerCells cells = cells_of(at_end, exact);
    if (causes) cells.texts[index_of(LedgerColumn::gap)] = gap_with_cause(*row);
    for (std::size_t k = 0; k < kLedgerColumns; ++k) {
      const bool number = cells.has_number(static_cast<LedgerColumn>(k), *row);
      const FontRef& font = number ? fonts.mono_small : fonts.small;
      widths.columns[k] = std::max(widths.columns[k], font.measure(cells.texts[k]).x);
    }
  }
  for (std::size_t k = 0; k < kLedgerColumns; ++k) {
    if (widths.columns[k] == 0.0f || headings[k].empty()) continue;
    widths.columns[k] = std::max(widths.columns[k], fonts.small.measure(headings[k].back()).x);
  }
  return widths;
}

}  // namespace

bool LedgerCells::has_number(LedgerColumn column, const LedgerRow& row) const {
  switch (column) {
    case LedgerColumn::modelled:
      return row.modelled.has_value();
    case LedgerColumn::formula:
      return row.formula.has_value();
    case LedgerColumn::size:
      return row.size_bytes.has_value();
    case LedgerColumn::seen:
      return row.seen.value.has_value();
    case LedgerColumn::gap:
      return row.gap_percent.has_value();
  }
  return false;
}

LedgerCells cells_of(const LedgerRow& row, bool exact) {
  LedgerCells cells;
  const auto set = [&](LedgerColumn column, std::string text) {
    cells.texts[index_of(column)] = std::move(text);
  };
  set(LedgerColumn::modelled,
      row.modelled ? cell_text(row, *row.modelled, exact) : row.in_place_of_modelled);
  if (row.formula) {
    set(LedgerColumn::formula, cell_text(row, *row.formula, exact));
  } else if (row.tensor) {
    set(LedgerColumn::formula, "none");
  }
  if (row.size_bytes) {
    set(LedgerColumn::size, draw::format_factor(row.whole / *row.size_bytes, 3));
  } else if (!row.in_place_of_size.empty()) {
    set(LedgerColumn::size, row.in_place_of_size.back());
  }
  if (row.seen.value) {
    set(LedgerColumn::seen, cell_text(row, *row.seen.value, exact));
  } else if (!row.tensor && !row.seen.about.empty()) {
    set(LedgerColumn::seen, "unavailable");
  }
  if (row.gap_percent) {
    set(LedgerColumn::gap, draw::format_percent(*row.gap_percent));
  } else if (!row.in_place_of_gap.empty()) {
    set(LedgerColumn::gap, brief_wordings(row).back());
  }
  return cells;
}

std::string gap_that_fits(const LedgerRow& row, const FontRef& font, float width) {
  if (!row.gap_percent || row.gap_cause.empty()) return cells_of(row, false).at(LedgerColumn::gap);
  const std::string wordings[] = {gap_with_cause(row), row.gap_cause,
                                  cells_of(row, false).at(LedgerColumn::gap)};
  return draw::label_that_fits(font, wordings, width);
}

float LedgerColumns::begin(LedgerColumn column) const {
  float begin = left;
  for (std::size_t k = 0; k < index_of(column); ++k) {
    if (ends[k]) begin = *ends[k];
  }
  return begin;
}

LedgerColumns lay_out_columns(const Ledger& ledger, const LedgerHeadings& headings,
                              const Fonts& fonts, float left, float right, float swatch,
                              float gap) {
  LedgerColumns columns{.left = left, .right = right};
  const float room = right - left;
  columns.exact = has_small_numbers(ledger);
  Widths widths = widths_of(ledger, headings, fonts, swatch, columns.exact, true);
  if (widths.total(gap) > room) {
    widths = widths_of(ledger, headings, fonts, swatch, columns.exact, false);
  }
  if (columns.exact && widths.total(gap) > room) {
    columns.exact = false;
    widths = widths_of(ledger, headings, fonts, swatch, false, false);
  }
  // Leave out the GPU's column first if it has no numbers, then columns that follow from others
  const bool has_seen = std::ranges::any_of(
      all_rows(ledger), [](const LedgerRow* row) { return row->seen.value.has_value(); });
  std::vector<LedgerColumn> order = {LedgerColumn::size, LedgerColumn::formula, LedgerColumn::gap,
                                     LedgerColumn::seen};
  if (!has_seen) order.insert(order.begin(), LedgerColumn::seen);
  for (const LedgerColumn column : order) {
    if (widths.total(gap) > room) widths.columns[index_of(column)] = 0.0f;
  }

  // The columns share the width that is left; in a table that is too narrow, they share the
  // shortage
  const auto count = static_cast<float>(
      std::ranges::count_if(widths.columns, [](float width) { return width > 0.0f; }));
  const float more = (room - widths.total(gap)) / std::max(count, 1.0f);
  float x = left + widths.label;
  for (std::size_t k = 0; k < kLedgerColumns; ++k) {
    if (widths.columns[k] == 0.0f) continue;
    x += widths.columns[k] + gap + more;
    columns.ends[k] = x;
  }
  return columns;
}

LedgerColumns lay_out_half(const Ledger& ledger, const Fonts& fonts, float left, float right,
                           float swatch, float gap, bool exact) {
  LedgerColumns half{.exact = exact, .left = left, .right = right};
  const float number = fonts.mono_small.measure(exact ? "999,999 B" : "99.9 MB").x + gap;
  half.ends[0] = right - std::max((right - left) * 0.3f, number);
  half.ends[1] = right;

  // The formula gives way if a label and its number at the end of the run do not fit
  float widest = 0.0f;
  for (LedgerRow row : ledger.tensors) {
    if (row.modelled) row.modelled = std::max(*row.modelled, row.whole);
    const std::string modelled = cells_of(row, exact).at(LedgerColumn::modelled);
    widest = std::max(widest, swatch + fonts.small.measure(row.label).x + gap +
                                  fonts.mono_small.measure(modelled).x);
  }
  if (left + widest > *half.ends[0]) half.ends = {right};
  return half;
}

LedgerHeadings headings_of(const Ledger& ledger, bool so_far) {
  std::vector<std::string> seen = {ledger.seen_heading};
  if (!ledger.seen_gpu.empty()) {
    if (so_far) {
      seen = {fmt::format("{}, whole", ledger.seen_heading),
              fmt::format("{}, whole", ledger.seen_gpu)};
    }
    seen.push_back(ledger.seen_gpu);
  }
  using Wordings = std::vector<std::string>;
  return {so_far ? Wordings{"modelled so far", "so far"} : Wordings{"modelled"},
          so_far ? Wordings{"by formula, whole", "by formula", "formula"}
                 : Wordings{"by formula", "formula"},
          Wordings{"times its size", "× size"}, seen,
          ledger.stands_alone ? Wordings{} : Wordings{"gap"}};
}

std::string in_place_of_seen(const Ledger& ledger, const LedgerRow& row) {
  for (const auto* rows : {&ledger.totals, &ledger.apart}) {
    const auto first = std::ranges::find_if(
        *rows, [](const LedgerRow& each) { return !each.seen.value && !each.seen.about.empty(); });
    if (first != rows->end() && &*first == &row) return "unavailable";
  }
  const auto has_number = [](const LedgerRow* each) { return each->seen.value.has_value(); };
  return std::ranges::any_of(all_rows(ledger), has_number) ? "–" : "";
}

}  // namespace attnscope::app
