/// Results of commands: documents, lines of CSV and tensors, written to files or standard output.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "reference/files/file_writer.h"
#include "reference/files/growing_file.h"
#include "reference/head_tensor.h"
#include "reference/result.h"

namespace attnscope::cli {

using nlohmann::ordered_json;  ///< used for every document: keeps the order of fields

/// --json and --csv; empty when not given, "-" is standard output.
struct OutputFiles {
  std::string json;
  std::string csv;
};

/// The choice, or invalid_request when one cannot be written. Checked before the work starts;
/// leaves no file behind.
Result<OutputFiles> parse_outputs(const GivenOptions& given);

/// Whether the path is "-", or names the file, pipe or terminal that standard output goes to.
bool is_standard_output(const std::filesystem::path& path);

/// Whether output to this path cannot be replaced later: standard output, a device, a pipe.
bool is_stream(const std::string& path);

/// Nothing when the option is not given, is - or names a place where a file can be created or
/// replaced, else invalid_request, which names what would be `accepted`.
std::optional<Error> check_writable(
    const GivenOptions& given, std::string_view option,
    std::string_view accepted = "a file in a writable folder, or - for standard output");

/// Nothing when the option is not given, or names a folder that is writable or can be created, else
/// invalid_request; "-" is not a folder.
std::optional<Error> check_folder(const GivenOptions& given, std::string_view option);

/// The writer of the file, or of standard output ("-").
Result<FileWriter> open_output(const std::string& path);

/// Writes the text to the file or to standard output; errors as of FileWriter.
std::optional<Error> write_output(const std::string& path, std::string_view text);

/// The document as the text of a JSON file.
std::string json_text(const ordered_json& document);

/// The results of a command.
struct Answer {
  std::string json;              ///< json_text() of its document
  std::string csv;               ///< csv_text() of its rows
  std::string text;              ///< as text for the terminal
  std::optional<Error> failure;  ///< an error in the results, reported after they are written
};

/// Writes the requested JSON and CSV, and the text to standard output unless JSON or CSV go there.
/// A document that cannot be saved is printed in place of the text, and the error is returned,
/// together with the answer's failure.
std::optional<Error> write_outputs(const OutputFiles& files, const Answer& answer);

/// --json, --csv.
std::vector<OptionSpec> output_options();

/// The command with --json and --csv, which writes the results of `answer`.
CommandSpec answering(CommandSpec command, Result<Answer> (*answer)(const GivenOptions&));

// Whole tensors: whether this machine can hold them, and results as .npy files, fp64, one file per
// tensor.

/// Nothing when inputs, outputs and reference of the problem fit in the machine's memory as fp64,
/// else invalid_request. Counting needs no numbers and is not limited.
std::optional<Error> check_host_memory(const AttentionProblem& problem);

/// The tensors that a command may write, and the file of each.
inline constexpr std::string_view kTensorNames[] = {"o", "lse", "dq", "dk", "dv"};
std::filesystem::path tensor_file(const std::filesystem::path& folder, std::string_view name);

/// Creates the folder and writes NAME.npy of every tensor, [B, H, N, d]; of "lse" [B, H, N].
std::optional<Error> write_tensor_files(
    const std::filesystem::path& folder,
    std::initializer_list<std::pair<std::string_view, const HeadTensor&>> tensors);

/// A document per line, its keys joined by dots into column names. Columns are in the order of
/// their first occurrence; a missing key is an empty cell. Arrays are left out.
class CsvTable {
 public:
  /// True if the row has columns that the rows before it lack.
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
