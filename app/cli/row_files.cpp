#include "app/cli/row_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

namespace attnscope::cli {

namespace {

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  return (std::ostringstream() << std::quoted(text, '"', '"')).str();
}

/// Calls `add` with the column and the text of every cell of the value, which is at `path`.
template <typename Add>
void flatten(const ordered_json& value, const std::string& path, const Add& add) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      flatten(member, path.empty() ? key : fmt::format("{}.{}", path, key), add);
    }
  } else if (value.is_string()) {
    add(path, value.get<std::string>());
  } else if (!value.is_array()) {
    add(path, value.is_null() ? "" : value.dump());
  }
}

}  // namespace

bool CsvTable::add(const ordered_json& row) {
  Cells& cells = rows_.emplace_back();
  const std::size_t known = columns_.size();
  flatten(row, "", [&](const std::string& column, const std::string& text) {
    cells.emplace(column, text);
    if (std::ranges::find(columns_, column) == columns_.end()) columns_.push_back(column);
  });
  return columns_.size() > known;
}

std::string CsvTable::line_of(const Cells& cells) const {
  std::string line;
  for (const std::string& column : columns_) {
    if (&column != &columns_.front()) line += ',';
    const auto cell = cells.find(column);
    if (cell != cells.end()) line += csv_cell(cell->second);
  }
  return line + "\n";
}

std::string CsvTable::text() const {
  Cells names;
  for (const std::string& column : columns_) names[column] = column;
  std::string text = line_of(names);
  for (const Cells& cells : rows_) text += line_of(cells);
  return text;
}

std::string csv_text(const ordered_json& rows) {
  CsvTable table;
  for (const ordered_json& row : rows) table.add(row);
  return table.text();
}

std::optional<Error> RowFiles::add(const ordered_json& row) {
  constexpr std::string_view kEnd = "\n]\n";
  std::string text = json_text(ordered_json::array({row}));
  const bool is_first = json_.size() == 0;
  if (!is_first) text.front() = ',';  // replaces the list's bracket
  if (auto error = json_.write(is_first ? 0 : json_.size() - kEnd.size(), text)) return error;
  if (table_.add(row)) return csv_.write(0, table_.text());
  return csv_.write(csv_.size(), table_.last_line());
}

std::optional<Error> RowFiles::finish() {
  auto error = json_.finish();
  auto csv_error = csv_.finish();
  return error ? error : csv_error;
}

}  // namespace attnscope::cli
