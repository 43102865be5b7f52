/// Documents as lines of CSV, and the files of a sweep, which grow with it: a row is written when
/// add() returns, so that an interrupted sweep keeps its rows.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/outputs.h"
#include "reference/files/growing_file.h"

namespace attnscope::cli {

/// A document per line, its keys joined by dots into column names. Columns are in the order of
/// their first occurrence; a missing key is an empty cell. Arrays are left out.
class CsvTable {
 public:
  /// True when the row brought columns that the lines before it lack.
  bool add(const ordered_json& row);
  /// The columns' names and all rows.
  std::string text() const;
  /// The row that was added last.
  std::string last_line() const { return line_of(rows_.back()); }

 private:
  using Cells = std::map<std::string, std::string>;
  std::string line_of(const Cells& cells) const;

  std::vector<std::string> columns_;
  std::vector<Cells> rows_;
};

/// The table of a list's documents.
std::string csv_text(const ordered_json& rows);

/// A JSON list and a CSV table, as requested.
class RowFiles {
 public:
  /// The files of --json and --csv, except standard output and devices: write_outputs() writes
  /// those at the end.
  explicit RowFiles(const OutputFiles& files) : json_(files.json), csv_(files.csv) {}
  /// Failed when a file cannot be written.
  std::optional<Error> add(const ordered_json& row);
  /// Waits until the rows are on the disk.
  std::optional<Error> finish();

 private:
  GrowingFile json_, csv_;
  CsvTable table_;
};

}  // namespace attnscope::cli
