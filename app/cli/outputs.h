/// Where results go: JSON and CSV files, standard output, and messages on standard error.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/command_line.h"
#include "reference/result.h"

namespace attnscope::cli {

/// --json and --csv; empty when not asked for, "-" is standard output.
struct OutputFiles {
  std::string json;
  std::string csv;
  /// Standard output belongs to JSON or CSV: no table.
  bool owns_standard_output() const { return json == "-" || csv == "-"; }
};

/// The choice, or invalid_request when it cannot work: not apart, a place that cannot be written.
/// Asked before the work starts; leaves nothing behind.
Result<OutputFiles> parse_outputs(const GivenOptions& given);

/// Nothing when the options that name what is written (--json, --csv, --report, --save, --out) name
/// different files, none of them one that is read, and standard output at most once.
std::optional<Error> check_apart(const GivenOptions& given);

/// Whether what is written there is gone with it: standard output, a device, a pipe.
bool is_stream(const std::string& path);

/// Nothing when a file can be created or replaced there, else invalid_request, which says what
/// would be `accepted`.
std::optional<Error> check_writable(
    std::string_view option, const std::filesystem::path& path,
    std::string_view accepted = "a file in a writable folder, or - for standard output");

/// Nothing when the folder exists and is writable or can be created, else invalid_request; "-" is
/// no folder.
std::optional<Error> check_folder(std::string_view option, const std::filesystem::path& path);

/// Writes text to a file (replaced as a whole) or to standard output. Failed when that went wrong.
std::optional<Error> write_text(const std::string& path, std::string_view text);

/// The document as a JSON file has it.
std::string json_text(const nlohmann::ordered_json& document);

/// Writes the document as JSON and the flattened rows as CSV, as asked for, and the text to
/// standard output where nothing else goes there.
std::optional<Error> write_outputs(const OutputFiles& files, const nlohmann::ordered_json& document,
                                   const std::vector<nlohmann::ordered_json>& rows,
                                   std::string_view text);

/// One line on standard error that the next one replaces; nothing unless that is a terminal.
void show_progress(std::string_view line);
void clear_progress();

}  // namespace attnscope::cli
