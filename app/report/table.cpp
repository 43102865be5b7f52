#include "app/report/table.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/report/report_text.h"
#include "reference/message_text.h"

namespace attnscope {

namespace {

std::string number_text(double value, Unit unit) {
  switch (unit) {
    case Unit::words:
      return fmt::format("{}", value);
    case Unit::count:
      return fmt::format("{:.4g}", value);
    case Unit::error:
      return fmt::format("{:.3g}", value);
    case Unit::share:
      return fmt::format("{:.1f} %", 100 * value);
    case Unit::percent:
      return fmt::format("{:.2f} %", value);
    case Unit::bytes:
      return bytes_text(value);
    case Unit::flops:
      return flops_text(value);
    case Unit::seconds:
      return seconds_text(value);
  }
  return "";
}

/// The columns that text shows: those with a heading and any text below it.
struct Shown {
  Lines lines;  ///< the headings, then the rows
  std::vector<Align> align;
};

Shown shown_columns(const Table& table) {
  Shown shown{.lines = Lines(1 + table.rows.size()), .align = {}};
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    std::vector<std::string> texts;
    for (const auto& row : table.rows) texts.push_back(row.at(c).text(column.unit));
    const bool is_empty = std::ranges::all_of(texts, &std::string::empty);
    if (column.heading.empty() || is_empty) continue;
    shown.align.push_back(column.unit == Unit::words ? Align::left : Align::right);
    shown.lines[0].push_back(column.heading);
    for (std::size_t r = 0; r < texts.size(); ++r) shown.lines[r + 1].push_back(texts[r]);
  }
  return shown;
}

Lines transposed(const Lines& lines) {
  Lines columns(lines.front().size());
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c) columns[c].push_back(line[c]);
  }
  return columns;
}

std::vector<const Table*> tables_within(const Table& table) {
  std::vector<const Table*> within;
  for (const auto& row : table.rows) {
    for (const Cell& cell : row) {
      const auto* const list = std::get_if<Cell::List>(&cell.value());
      if (list != nullptr) within.push_back(list->get());
    }
  }
  return within;
}

/// The tables within rows, separated by empty lines.
std::string lists_text(const Table& table) {
  std::string text;
  for (const Table* list : tables_within(table)) {
    const std::string list_text = to_text(*list);
    if (!text.empty() && !list_text.empty()) text += "\n";
    text += list_text;
  }
  return text;
}

/// The text "mark: text" of each note that has text. In Markdown they form a list; a note that is
/// itself an item belongs to the note before it.
std::string footnotes_text(const std::vector<Footnote>& footnotes, bool is_markdown) {
  std::string text;
  for (const Footnote& note : footnotes) {
    if (note.text.empty()) continue;
    if (is_markdown) text += note.text.starts_with("- ") ? "  " : "- ";
    text += fmt::format("{}{}{}\n", note.mark, note.mark.empty() ? "" : ": ", note.text);
  }
  return text.empty() ? "" : fmt::format("\n{}", text);
}

/// A cell of Markdown, with bars escaped, because a bar would end the cell.
std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : one_line(text)) cell += c == '|' ? "\\|" : std::string(1, c);
  return cell;
}

/// The title, the table and the tables within its rows, each after an empty line.
std::string titled_markdown(const Table& table) {
  std::string text;
  for (const std::string& part : {table.title, to_markdown(table)}) {
    if (part.empty()) continue;
    text += fmt::format("\n{}{}", part, part.back() == '\n' ? "" : "\n");
  }
  for (const Table* list : tables_within(table)) text += titled_markdown(*list);
  return text;
}

}  // namespace

std::string Cell::text(Unit unit) const {
  if (text_) return *text_;
  if (const auto* const words = std::get_if<std::string>(&value_)) return *words;
  if (const auto* const answer = std::get_if<bool>(&value_)) return *answer ? "yes" : "no";
  if (const auto* const number = std::get_if<double>(&value_)) return number_text(*number, unit);
  const auto* const whole = std::get_if<Index>(&value_);
  if (whole == nullptr) return "";
  const bool plain = unit == Unit::words || unit == Unit::count;
  return plain ? fmt::format("{}", *whole) : number_text(static_cast<double>(*whole), unit);
}

std::string to_text(const Table& table) {
  std::string text = table.title.empty() ? "" : table.title + "\n";
  auto [lines, align] = shown_columns(table);
  if (!lines[0].empty()) {
    for (auto& line : lines) line[0].insert(0, table.indent);
    text += table.columns_as_lines ? table_text(transposed(lines)) : table_text(lines, align);
  }
  return text + lists_text(table);
}

std::string to_text(const Study& study) {
  std::string text = study.title + "\n";
  for (const Table& table : study.tables) {
    const std::string table_text = to_text(table);
    if (!table_text.empty()) text += "\n" + table_text;
  }
  return text + footnotes_text(study.footnotes, false);
}

std::string to_markdown(const Table& table) {
  auto [lines, align] = shown_columns(table);
  if (lines[0].empty()) return "";
  if (table.columns_as_lines) {
    lines = transposed(lines);
    align.assign(lines[0].size(), Align::right);
    align[0] = Align::left;
  }
  std::vector<std::string> rule;
  for (const Align each : align) rule.push_back(each == Align::left ? "---" : "---:");
  for (auto& line : lines) std::ranges::transform(line, line.begin(), markdown_cell);
  lines.insert(lines.begin() + 1, rule);
  std::string text;
  for (const auto& line : lines) {
    for (const std::string& cell : line) text += fmt::format("| {} ", cell);
    text += "|\n";
  }
  return text;
}

std::string to_markdown(const Study& study) {
  std::string text = study.title + "\n";
  for (const Table& table : study.tables) text += titled_markdown(table);
  return text + footnotes_text(study.footnotes, true);
}

}  // namespace attnscope
