#include "app/cli/outputs.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/cli/csv.h"
#include "reference/json/json_document.h"
#include "reference/nearest_name.h"
#include "reference/one_line.h"

namespace attnscope::cli {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

/// Where a link leads, so that replacing the file does not replace the link.
fs::path resolved(const fs::path& path) {
  std::error_code error;
  const fs::path target = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? path : target;
}

/// A device, a pipe: written in place, never replaced.
bool is_special(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_regular_file(path, error);
}

}  // namespace

bool is_stream(const std::string& path) {
  return path == "-" || (!path.empty() && is_special(resolved(path)));
}

std::optional<Error> check_writable(std::string_view option, const fs::path& path,
                                    std::string_view accepted) {
  std::error_code error;
  const auto refuse = [&](std::string_view reason) {
    return invalid_request(fmt::format("--{} '{}' cannot be written: {}; give {}", option,
                                       printable(path.string()), reason, accepted));
  };
  if (path.empty()) return refuse("the name is empty");
  if (fs::is_directory(path, error)) return refuse("it is a folder");
  const fs::path target = resolved(path);
  const fs::path folder = target.parent_path().empty() ? fs::path(".") : target.parent_path();
  if (!fs::is_directory(folder, error)) {
    return refuse("its folder does not exist");
  }

  // Ask the file system itself: permissions, read-only mounts and name lengths all answer here
  if (is_special(target)) {
    if (::access(target.c_str(), W_OK) != 0) return refuse(std::strerror(errno));
    return std::nullopt;
  }
  const fs::path probe = fmt::format("{}.probe-{}", target.string(), ::getpid());
  errno = 0;
  const bool created = std::ofstream(probe, std::ios::app).is_open();
  const int reason = errno;
  fs::remove(probe, error);
  if (!created) return refuse(std::strerror(reason));
  if (fs::exists(target, error) && ::access(target.c_str(), W_OK) != 0) {
    return refuse(std::strerror(errno));
  }
  return std::nullopt;
}

std::optional<Error> check_folder(std::string_view option, const fs::path& path) {
  std::error_code error;
  const auto refuse = [&](std::string_view reason) {
    return invalid_request(fmt::format("--{} '{}' cannot be written: {}; give a writable folder",
                                       option, printable(path.string()), reason));
  };
  if (path.empty()) return refuse("the name is empty");
  if (path == "-") return refuse("several files do not go to standard output");
  fs::path ancestor = resolved(path);
  if (fs::exists(ancestor, error) && !fs::is_directory(ancestor, error)) {
    return refuse("it is not a folder");
  }
  while (!fs::exists(ancestor, error) && ancestor != ancestor.parent_path()) {
    ancestor = ancestor.parent_path();
  }
  if (!fs::is_directory(ancestor, error)) return refuse("a part of its path is not a folder");
  const fs::path probe = ancestor / fmt::format(".attnscope-probe-{}", ::getpid());
  if (!fs::create_directory(probe, error)) return refuse(error.message());
  fs::remove(probe, error);
  return std::nullopt;
}

Result<OutputFiles> parse_outputs(const GivenOptions& given) {
  OutputFiles files;
  for (const auto& [option, path] : {std::pair{"json", &files.json}, {"csv", &files.csv}}) {
    const auto text = given.text(option);
    if (!text) continue;
    *path = *text;
    if (*text == "-") continue;
    if (auto error = check_writable(option, *text)) return *error;
  }
  if (auto error = check_apart(given)) return *error;
  return files;
}

std::optional<Error> check_apart(const GivenOptions& given) {
  constexpr std::string_view kRead[] = {"recording", "gpu", "q", "k", "v", "do", "block-mask"};
  constexpr std::string_view kWritten[] = {"json", "csv", "report", "save", "out"};
  std::vector<std::pair<std::string_view, std::string>> written;
  for (const std::string_view option : kWritten) {
    const auto path = given.text(option);
    if (!path) continue;
    for (const std::string_view source : kRead) {
      std::error_code error;
      if (!fs::equivalent(*path, given.text(source).value_or(""), error)) continue;
      return invalid_request(
          fmt::format("--{} would replace '{}', which --{} reads; give another file", option,
                      printable(*path), source));
    }
    for (const auto& [other, its_path] : written) {
      if (*path == "-" && its_path == "-") {
        return invalid_request(fmt::format(
            "--{} - and --{} - both want standard output; give one of them a file", other, option));
      }
      if (*path != "-" && its_path != "-" && resolved(*path) == resolved(its_path)) {
        return invalid_request(fmt::format("--{} and --{} both name '{}'; give two files", other,
                                           option, printable(*path)));
      }
    }
    written.emplace_back(option, *path);
  }
  return std::nullopt;
}

std::optional<Error> write_text(const std::string& path, std::string_view text) {
  const bool to_standard_output = path == "-";
  const fs::path target = resolved(path);
  if (!to_standard_output && !is_special(target)) return write_file_atomically(target, text);

  errno = 0;
  std::FILE* file = to_standard_output ? stdout : std::fopen(target.c_str(), "wb");
  bool written = file != nullptr;
  if (written) {
    written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    written = std::fflush(file) == 0 && written;
    if (!to_standard_output) written = std::fclose(file) == 0 && written;
  }
  if (written) return std::nullopt;
  return failed(fmt::format("cannot write {}: {}",
                            to_standard_output ? "standard output" : printable(path),
                            std::strerror(errno)));
}

std::string json_text(const ordered_json& document) {
  // Names that the user gave may be in any encoding
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::optional<Error> write_outputs(const OutputFiles& files, const ordered_json& document,
                                   const std::vector<ordered_json>& rows, std::string_view text) {
  if (!files.json.empty()) {
    if (auto error = write_text(files.json, json_text(document))) return error;
  }
  if (!files.csv.empty()) {
    if (auto error = write_text(files.csv, csv_text(rows))) return error;
  }
  return files.owns_standard_output() || text.empty() ? std::nullopt : write_text("-", text);
}

void show_progress(std::string_view line) {
  if (::isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r\033[K{}", one_line(line.substr(0, 100)));
  std::fflush(stderr);
}

void clear_progress() {
  show_progress("");
}

}  // namespace attnscope::cli
