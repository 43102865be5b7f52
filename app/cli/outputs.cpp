#include "app/cli/outputs.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/report/standard_streams.h"
#include "reference/nearest_name.h"
#include "reference/one_line.h"

namespace attnscope::cli {

namespace fs = std::filesystem;

namespace {

/// The target of a link, so that replacing the file does not replace the link.
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

Error cannot_be_written(std::string_view option, const std::string& path, std::string_view reason,
                        std::string_view accepted) {
  return invalid_request(fmt::format("--{} '{}' cannot be written: {}; give {}", option,
                                     printable(path), reason, accepted));
}

}  // namespace

bool is_stream(const std::string& path) {
  return path == "-" || (!path.empty() && is_special(resolved(path)));
}

std::optional<Error> check_writable(const GivenOptions& given, std::string_view option,
                                    std::string_view accepted) {
  const auto given_path = given.text(option);
  if (!given_path || *given_path == "-") return std::nullopt;
  const auto refuse = [&](std::string_view reason) {
    return cannot_be_written(option, *given_path, reason, accepted);
  };
  if (given_path->empty()) return refuse("the name is empty");
  std::error_code error;
  if (fs::is_directory(*given_path, error)) return refuse("it is a folder");
  const fs::path target = resolved(*given_path);
  const fs::path folder = target.parent_path().empty() ? fs::path(".") : target.parent_path();
  if (!fs::is_directory(folder, error)) return refuse("its folder does not exist");

  // Let the file system check permissions, read-only mounts and name lengths
  if (!is_special(target)) {
    const fs::path probe = fmt::format("{}.probe-{}", target.string(), ::getpid());
    errno = 0;
    const bool created = std::ofstream(probe, std::ios::app).is_open();
    const int reason = errno;
    fs::remove(probe, error);
    if (!created) return refuse(std::strerror(reason));
  }
  if (fs::exists(target, error) && ::access(target.c_str(), W_OK) != 0) {
    return refuse(std::strerror(errno));
  }
  return std::nullopt;
}

std::optional<Error> check_folder(const GivenOptions& given, std::string_view option) {
  const auto given_path = given.text(option);
  if (!given_path) return std::nullopt;
  const auto refuse = [&](std::string_view reason) {
    return cannot_be_written(option, *given_path, reason, "a writable folder");
  };
  if (given_path->empty()) return refuse("the name is empty");
  if (*given_path == "-") return refuse("several files do not go to standard output");
  std::error_code error;
  fs::path ancestor = resolved(*given_path);
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
  for (const char* option : {"json", "csv"}) {
    if (auto error = check_writable(given, option)) return *error;
  }
  if (auto error = check_apart(given)) return *error;
  return OutputFiles{given.text("json").value_or(""), given.text("csv").value_or("")};
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

Result<TextStream> TextStream::open(const std::string& path) {
  TextStream stream;
  stream.name_ = path == "-" ? "standard output" : printable(path);
  if (path == "-") {
    stream.file_ = stdout;
    return stream;
  }
  const fs::path place = resolved(path);
  const bool special = is_special(place);
  if (!special) {
    stream.target_ = place;
    stream.temporary_ = fmt::format("{}.writing-{}", place.string(), ::getpid());
  }
  stream.file_ = std::fopen(special ? place.c_str() : stream.temporary_.c_str(), "wb");
  if (stream.file_ != nullptr) return stream;
  stream.temporary_.clear();
  return failed(fmt::format("cannot write {}: {}", stream.name_, std::strerror(errno)));
}

TextStream::TextStream(TextStream&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      name_(std::move(other.name_)),
      error_(other.error_) {}

TextStream::~TextStream() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  std::error_code error;
  if (!temporary_.empty()) fs::remove(temporary_, error);
}

bool TextStream::write(std::string_view piece) {
  if (error_ != 0) return false;
  errno = 0;
  if (std::fwrite(piece.data(), 1, piece.size(), file_) == piece.size()) return true;
  error_ = errno != 0 ? errno : EIO;
  return false;
}

std::optional<Error> TextStream::finish() {
  errno = 0;
  if (error_ == 0 && std::fflush(file_) != 0) error_ = errno;
  if (file_ != stdout && std::fclose(std::exchange(file_, nullptr)) != 0 && error_ == 0) {
    error_ = errno;
  }
  if (error_ == 0 && !temporary_.empty()) {
    std::error_code error;
    fs::rename(temporary_, target_, error);
    error_ = error.value();
    if (!error) temporary_.clear();
  }
  if (error_ == 0) return std::nullopt;
  return failed(fmt::format("cannot write {}: {}", name_, std::strerror(error_)));
}

std::optional<Error> write_text(const std::string& path, std::string_view text) {
  auto stream = TextStream::open(path);
  if (!stream) return stream.error();
  stream.value().write(text);
  return stream.value().finish();
}

std::string json_text(const ordered_json& document) {
  // Names from the user may be in any encoding
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::optional<Error> write_outputs(const OutputFiles& files, const Answer& answer) {
  if (!files.json.empty()) {
    if (auto error = write_text(files.json, answer.json)) return error;
  }
  if (!files.csv.empty()) {
    if (auto error = write_text(files.csv, answer.csv)) return error;
  }
  const bool has_room = files.json != "-" && files.csv != "-";
  if (has_room && !answer.text.empty()) {
    if (auto error = write_text("-", answer.text)) return error;
  }
  return answer.failure;
}

std::vector<OptionSpec> output_options() {
  return {
      {"json", "FILE", "write JSON; - is standard output, which then holds nothing else"},
      {"csv", "FILE", "write CSV; - is standard output, which then holds nothing else"},
  };
}

CommandSpec answering(CommandSpec command, Result<Answer> (*answer)(const GivenOptions&)) {
  for (OptionSpec& option : output_options()) command.options.push_back(std::move(option));
  command.run = [answer](const GivenOptions& given) -> std::optional<Error> {
    const auto outputs = parse_outputs(given);
    if (!outputs) return outputs.error();
    const auto result = answer(given);
    clear_progress();
    return result ? write_outputs(outputs.value(), result.value()) : result.error();
  };
  return command;
}

void show_progress(std::string_view line) {
  if (::isatty(STDERR_FILENO) == 0) return;
  print_to_stderr(fmt::format("\r\033[K{}", one_line(line.substr(0, 100))));
  std::fflush(stderr);
}

void clear_progress() {
  show_progress("");
}

}  // namespace attnscope::cli
