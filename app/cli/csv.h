/// Documents as lines of CSV.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace attnscope::cli {

/// A document per line, its keys joined by dots into column names. Columns stand in the order in
/// which they first occur; a key that a row lacks is an empty cell. Arrays are left out.
class CsvTable {
 public:
  /// True when the row brought columns that the lines before it lack.
  bool add(const nlohmann::ordered_json& row);
  /// The columns' names and all rows.
  std::string text() const;
  /// The row that was added last.
  std::string last_line() const;

 private:
  using Cells = std::vector<std::pair<std::string, std::string>>;
  static void flatten(const nlohmann::ordered_json& value, const std::string& path, Cells& cells);
  std::string line_of(const Cells& cells) const;

  std::vector<std::string> columns_;
  std::vector<Cells> rows_;
};

/// The table of these rows.
std::string csv_text(const std::vector<nlohmann::ordered_json>& rows);

}  // namespace attnscope::cli
