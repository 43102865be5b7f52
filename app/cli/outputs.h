/// Results of commands: documents, lines of CSV and tensors, written to files or standard output.
#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/cli/command_line.h"
#include "app/report/table.h"
#include "reference/files/file_writer.h"
#include "reference/head_tensor.h"
#include "reference/result.h"

namespace attnscope::cli {

using nlohmann::ordered_json;  ///< used for every document: keeps the order of fields

/// The files of --json and --csv, as returned by parse_output().
struct OutputFiles {
  std::string json;
  std::string csv;
};

/// The files of --json and --csv; errors as in parse_output().
Result<OutputFiles> parse_outputs(const GivenOptions& given);

/// Whether output to this path cannot be replaced later: standard output, a device, a pipe.
bool is_stream(const std::string& path);

/// The option's file; "-" for standard output under any name, empty if the option is not given.
/// invalid_request if the file cannot be written, which is checked without leaving a file behind.
Result<std::string> parse_output(const GivenOptions& given, std::string_view option);

/// invalid_request, naming what would be `accepted`, unless the option is not given, is "-", or
/// names a place where a file can be created or replaced.
std::optional<Error> check_writable(
    const GivenOptions& given, std::string_view option,
    std::string_view accepted = "a file in a writable folder, or - for standard output");

/// invalid_request unless the option is not given, or names a folder that can be created or in
/// which every tensor's file can be written; "-" is not a folder.
std::optional<Error> check_folder(const GivenOptions& given, std::string_view option);

/// Writes the text to standard output; errors as in FileWriter.
std::optional<Error> print_output(std::string_view text);

/// A document that a command writes.
struct Document {
  std::string path;  ///< path of its file, as returned by parse_output()
  /// Writes it. invalid_request, before anything is written, if there is no such document.
  std::function<std::optional<Error>(FileWriter&)> write;
  bool is_text = true;
};
Document text_document(std::string path, std::string text);

/// Writes every document, and the text to standard output unless a document goes there. The first
/// text document that cannot be saved is printed instead of the text. Returns all errors, with
/// `failure` first.
std::optional<Error> write_documents(const std::vector<Document>& documents,
                                     const std::function<std::string()>& text,
                                     std::optional<Error> failure = std::nullopt);

/// The document as the text of a JSON file.
std::string json_text(const ordered_json& document);

/// The results of a command.
struct Answer {
  std::string json;                   ///< json_text() of its document
  std::string csv;                    ///< csv_text() of its rows
  std::string text;                   ///< the results as text for the terminal
  std::optional<Error> failure;       ///< an error in the results, reported after they are written
  std::vector<Document> others = {};  ///< documents other than JSON and CSV
};

/// The study as text, and as JSON and CSV if these are to be written.
Answer answer_of(const Study& study, const GivenOptions& given);

/// The option --markdown, which writes a study.
OptionSpec markdown_option();

/// Writes the answer with its JSON and CSV to these files, as write_documents() does.
std::optional<Error> write_outputs(const OutputFiles& files, const Answer& answer);

/// The options --json and --csv.
std::vector<OptionSpec> output_options();

/// The command with --json and --csv, which writes the results of `answer`.
CommandSpec answering(CommandSpec command, Result<Answer> (*answer)(const GivenOptions&));
/// The same for a command that returns a study, with --markdown as well.
CommandSpec answering(CommandSpec command, Result<Study> (*study)(const GivenOptions&));

// Whole tensors: a check that they fit in this machine's memory, and results as .npy files in fp64,
// one file per tensor.

/// invalid_request unless inputs, outputs and reference of the problem fit in the machine's memory
/// as fp64. Counting needs no values, so it is not limited.
std::optional<Error> check_host_memory(const AttentionProblem& problem);

/// Creates the folder and writes NAME.npy for every tensor, [B, H, N, d]; "lse" is [B, H, N].
std::optional<Error> write_tensor_files(
    const std::filesystem::path& folder,
    std::initializer_list<std::pair<std::string_view, const HeadTensor&>> tensors);

/// A table with one document per line, whose keys are joined by dots into column names. Columns are
/// in the order of their first occurrence; a missing key is an empty cell. Arrays are left out.
class CsvTable {
 public:
  /// Adds a row; returns whether it has columns that earlier rows lack.
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
  /// Adds the row to both; failed if a file cannot be written.
  std::optional<Error> add(const ordered_json& row);
  /// Waits until the rows are on disk.
  std::optional<Error> finish();

 private:
  GrowingFile json_, csv_;
  CsvTable table_;
};

}  // namespace attnscope::cli
