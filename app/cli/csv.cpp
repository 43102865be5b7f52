#include "app/cli/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace attnscope::cli {

using nlohmann::ordered_json;

namespace {

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted(1, '"');
  for (char c : text) {
    if (c == '"') quoted.push_back('"');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  return quoted;
}

}  // namespace

void CsvTable::flatten(const ordered_json& value, const std::string& path, Cells& cells) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      flatten(member, path.empty() ? key : fmt::format("{}.{}", path, key), cells);
    }
  } else if (value.is_string()) {
    cells.emplace_back(path, value.get<std::string>());
  } else if (!value.is_array()) {
    cells.emplace_back(path, value.is_null() ? "" : value.dump());
  }
}

bool CsvTable::add(const ordered_json& row) {
  Cells& cells = rows_.emplace_back();
  flatten(row, "", cells);
  const std::size_t known = columns_.size();
  for (const auto& [column, text] : cells) {
    if (std::find(columns_.begin(), columns_.end(), column) == columns_.end()) {
      columns_.push_back(column);
    }
  }
  return columns_.size() > known;
}

std::string CsvTable::line_of(const Cells& cells) const {
  std::string line;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const auto cell = std::find_if(cells.begin(), cells.end(),
                                   [&](const auto& entry) { return entry.first == columns_[c]; });
    if (c > 0) line.push_back(',');
    if (cell != cells.end()) line.append(csv_cell(cell->second));
  }
  return line + "\n";
}

std::string CsvTable::text() const {
  std::string text;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (c > 0) text.push_back(',');
    text.append(csv_cell(columns_[c]));
  }
  text += "\n";
  for (const Cells& cells : rows_) text += line_of(cells);
  return text;
}

std::string CsvTable::last_line() const {
  return rows_.empty() ? "" : line_of(rows_.back());
}

std::string csv_text(const std::vector<ordered_json>& rows) {
  CsvTable table;
  for (const ordered_json& row : rows) table.add(row);
  return table.text();
}

}  // namespace attnscope::cli
