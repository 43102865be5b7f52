/// Destinations of results: JSON and CSV files, standard output, and messages on standard error.
#pragma once

#include <cstdio>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/command_line.h"

namespace attnscope::cli {

using nlohmann::ordered_json;  ///< used for every document: keeps the order of fields

/// --json and --csv; empty when not given, "-" is standard output.
struct OutputFiles {
  std::string json;
  std::string csv;
};

/// The choice, or invalid_request when two outputs coincide or one cannot be written. Checked
/// before the work starts; leaves no file behind.
Result<OutputFiles> parse_outputs(const GivenOptions& given);

/// Nothing when the options that name outputs (--json, --csv, --report, --save, --out) name
/// different files, none of them an input, and standard output at most once.
std::optional<Error> check_apart(const GivenOptions& given);

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

/// A file, or standard output, that is written piece by piece.
///
/// The file appears under its name when finish() succeeds, whole or not at all; standard output
/// ("-") and devices are written piece by piece.
class TextStream {
 public:
  /// Failed when the path cannot be written.
  static Result<TextStream> open(const std::string& path);

  TextStream(TextStream&& other) noexcept;
  TextStream(const TextStream&) = delete;
  TextStream& operator=(TextStream&&) = delete;
  TextStream& operator=(const TextStream&) = delete;
  /// Leaves nothing behind unless finish() succeeded.
  ~TextStream();

  /// False when this piece, or one before it, could not be written.
  bool write(std::string_view piece);
  /// Nothing on success.
  std::optional<Error> finish();

 private:
  TextStream() = default;

  std::FILE* file_ = nullptr;
  std::filesystem::path target_;     ///< empty when pieces are written directly
  std::filesystem::path temporary_;  ///< beside the target
  std::string name_;
  int error_ = 0;
};

/// Writes text to a file (replaced as a whole) or to standard output. Failed on a write error.
std::optional<Error> write_text(const std::string& path, std::string_view text);

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
/// Returns the answer's failure if everything could be written.
std::optional<Error> write_outputs(const OutputFiles& files, const Answer& answer);

/// --json, --csv.
std::vector<OptionSpec> output_options();

/// The command with --json and --csv, which writes the results of `answer`.
CommandSpec answering(CommandSpec command, Result<Answer> (*answer)(const GivenOptions&));

/// One line on standard error that the next one replaces; nothing unless that is a terminal.
void show_progress(std::string_view line);
void clear_progress();

}  // namespace attnscope::cli
