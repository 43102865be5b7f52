/// Where results go: JSON and CSV files, standard output, and messages on standard error.
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

using nlohmann::ordered_json;  ///< of every document: its fields keep their order

/// --json and --csv; empty when not asked for, "-" is standard output.
struct OutputFiles {
  std::string json;
  std::string csv;
};

/// The choice, or invalid_request when it cannot work: not apart, a place that cannot be written.
/// Asked before the work starts; leaves nothing behind.
Result<OutputFiles> parse_outputs(const GivenOptions& given);

/// Nothing when the options that name what is written (--json, --csv, --report, --save, --out) name
/// different files, none of them one that is read, and standard output at most once.
std::optional<Error> check_apart(const GivenOptions& given);

/// Whether what is written there is gone with it: standard output, a device, a pipe.
bool is_stream(const std::string& path);

/// Nothing when the option is not given, is - or names a place where a file can be created or
/// replaced, else invalid_request, which says what would be `accepted`.
std::optional<Error> check_writable(
    const GivenOptions& given, std::string_view option,
    std::string_view accepted = "a file in a writable folder, or - for standard output");

/// Nothing when the option is not given, or names a folder that is writable or can be created, else
/// invalid_request; "-" is no folder.
std::optional<Error> check_folder(const GivenOptions& given, std::string_view option);

/// A file, or standard output, that is written piece by piece.
///
/// The file appears under its name when finish() succeeds, whole or not at all; standard output
/// ("-") and devices are written as the pieces come.
class TextStream {
 public:
  /// Failed when nothing can be written there.
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
  std::filesystem::path target_;     ///< empty where pieces go straight to their place
  std::filesystem::path temporary_;  ///< beside the target
  std::string name_;
  int error_ = 0;
};

/// Writes text to a file (replaced as a whole) or to standard output. Failed when that went wrong.
std::optional<Error> write_text(const std::string& path, std::string_view text);

/// The document as a JSON file has it.
std::string json_text(const ordered_json& document);

/// What a command answers.
struct Answer {
  std::string json;              ///< json_text() of its document
  std::string csv;               ///< csv_text() of its rows
  std::string text;              ///< for people
  std::optional<Error> failure;  ///< what is wrong with the results, which are written first
};

/// Writes JSON and CSV as asked for, and the text to standard output where nothing else goes there.
/// The answer's failure where everything could be written.
std::optional<Error> write_outputs(const OutputFiles& files, const Answer& answer);

/// --json, --csv.
std::vector<OptionSpec> output_options();

/// The command with --json and --csv, which does nothing but write what `answer` gives.
CommandSpec answering(CommandSpec command, Result<Answer> (*answer)(const GivenOptions&));

/// One line on standard error that the next one replaces; nothing unless that is a terminal.
void show_progress(std::string_view line);
void clear_progress();

}  // namespace attnscope::cli
