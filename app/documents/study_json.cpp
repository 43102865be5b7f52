#include "app/documents/study_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace attnscope {

using nlohmann::ordered_json;

namespace {

ordered_json cell_json(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> ordered_json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::same_as<T, std::monostate>)
          return nullptr;
        else if constexpr (std::same_as<T, Cell::Document>)
          return *value;
        else if constexpr (std::same_as<T, Cell::List>)
          return rows_json(*value);
        else
          return value;
      },
      cell.value());
}

/// Stores the value under its key, whose parts are members of members.
void store(ordered_json& row, std::string_view key, ordered_json value) {
  ordered_json* place = &row;
  for (auto dot = key.find('.'); dot != key.npos; dot = key.find('.')) {
    place = &(*place)[std::string(key.substr(0, dot))];
    key.remove_prefix(dot + 1);
  }
  (*place)[std::string(key)] = std::move(value);
}

ordered_json row_json(const Table& table, const std::vector<Cell>& cells) {
  ordered_json row = ordered_json::object();
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const std::string& key = table.columns[c].key;
    if (!cells[c].has_value()) continue;
    if (!key.empty()) {
      store(row, key, cell_json(cells[c]));
    } else if (std::holds_alternative<Cell::Document>(cells[c].value())) {
      row.update(cell_json(cells[c]));
    }
  }
  return row;
}

/// The lines of CSV of a row.
ordered_json lines_json(const Table& table, const std::vector<Cell>& cells) {
  const ordered_json row = row_json(table, cells);
  ordered_json lines = ordered_json::array();
  for (const Cell& cell : cells) {
    if (table.csv != Table::Csv::listed_rows) break;
    const auto* const list = std::get_if<Cell::List>(&cell.value());
    if (list == nullptr) continue;
    for (const ordered_json& inner : rows_json(**list)) {
      lines.push_back(row);
      lines.back().update(inner);
    }
  }
  if (lines.empty()) lines.push_back(row);
  return lines;
}

}  // namespace

ordered_json rows_json(const Table& table) {
  ordered_json rows = ordered_json::array();
  for (const auto& cells : table.rows) rows.push_back(row_json(table, cells));
  return rows;
}

ordered_json study_json(const Study& study) {
  ordered_json document = ordered_json::object();
  for (const auto& [key, fact] : study.facts) document[key] = cell_json(fact);
  for (const Footnote& note : study.footnotes) {
    if (!note.key.empty() && !note.text.empty()) document[note.key] = note.text;
  }
  for (const Table& table : study.tables) {
    if (!table.key.empty()) document[table.key] = rows_json(table);
  }
  return document;
}

ordered_json csv_rows(const Study& study) {
  const auto is_in = [](const Table& table) {
    return table.csv != Table::Csv::none && !table.key.empty();
  };
  const bool is_named = std::ranges::count_if(study.tables, is_in) > 1;
  ordered_json rows = ordered_json::array();
  for (const Table& table : study.tables) {
    if (!is_in(table)) continue;
    for (const auto& cells : table.rows) {
      for (const ordered_json& line : lines_json(table, cells)) {
        ordered_json& row = rows.emplace_back(ordered_json::object());
        if (is_named) row["table"] = table.key;
        row.update(line);
      }
    }
  }
  return rows;
}

}  // namespace attnscope
