/// The files of a sweep, which grow with it: a row is in them when add() returns, so that an
/// interrupted sweep keeps its rows.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "app/cli/csv.h"
#include "app/cli/outputs.h"

namespace attnscope::cli {

/// A file whose end changes: what stands before it is written once.
class GrowingFile {
 public:
  /// An empty path: nothing is written.
  explicit GrowingFile(std::string path) : path_(std::move(path)) {}
  /// Replaces what stands from `begin` on. `begin` is 0, or at most the size.
  std::optional<Error> write(std::size_t begin, std::string_view text);
  bool empty() const { return text_.empty(); }
  std::size_t size() const { return text_.size(); }

 private:
  std::string path_;
  std::string text_;
};

/// A JSON list and a CSV table, as asked for.
class RowFiles {
 public:
  /// What --json and --csv name, but for standard output and devices: those get everything at the
  /// end, from write_outputs().
  explicit RowFiles(const OutputFiles& files) : json_(files.json), csv_(files.csv) {}
  /// Failed when a file cannot be written.
  std::optional<Error> add(const nlohmann::ordered_json& row);

 private:
  std::optional<Error> add_to_json(const nlohmann::ordered_json& row);
  std::optional<Error> add_to_csv(const nlohmann::ordered_json& row);

  GrowingFile json_, csv_;
  CsvTable table_;
};

}  // namespace attnscope::cli
