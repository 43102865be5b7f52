#include "app/cli/option_files.h"

#include <set>
#include <tuple>

#include "app/cli/outputs.h"
#include "reference/files/file_identity.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"

namespace attnscope::cli {

namespace fs = std::filesystem;

namespace {

OptionFiles reads_asset(const char* folder) {
  return {OptionFiles::Use::read, [folder](const std::string& value) -> std::vector<fs::path> {
            const auto path = find_asset(folder, value);
            if (!path) return {};
            return {path.value()};
          }};
}

/// A file that an option names.
struct NamedFile {
  std::string option;
  std::string value;
  fs::path path;
  bool is_stdout = false;
  FileIdentity identity;
  std::string_view may_replace;  ///< as OptionFiles
};

std::vector<NamedFile> named_files(const std::vector<GivenCommand>& commands,
                                   OptionFiles::Use use) {
  std::vector<NamedFile> files;
  std::set<std::tuple<const CommandSpec*, std::string, std::string>> done;
  for (const auto& [command, given] : commands) {
    for (const OptionSpec& option : command->options) {
      if (option.files.use != use) continue;
      for (const std::string& value : given->all(option.name)) {
        if (!done.emplace(command, option.name, value).second) continue;
        for (const fs::path& path : option.files.named_by(value)) {
          const bool is_stdout = use == OptionFiles::Use::written && is_standard_output(path);
          files.push_back({option.name, value, path, is_stdout,
                           is_stdout ? FileIdentity{} : identity_of(path),
                           option.files.may_replace});
        }
      }
    }
  }
  return files;
}

/// Nothing when the outputs `a` and `b` are apart.
std::optional<Error> check_outputs(const NamedFile& a, const NamedFile& b) {
  if (a.is_stdout && b.is_stdout) {
    return invalid_request("--{} and --{} both write to standard output; give one of them a file",
                           a.option, b.option);
  }
  if (a.is_stdout || b.is_stdout || a.identity != b.identity) return std::nullopt;
  return invalid_request("--{} and --{} both name '{}'; give two files", a.option, b.option,
                         printable(b.path.string()));
}

/// Nothing unless the output would replace a shipped file. Commands read those files without naming
/// them: the GPU that is present or recorded, everything that `list` shows.
std::optional<Error> check_shipped(const NamedFile& output) {
  if (output.is_stdout) return std::nullopt;
  const auto shipped = shipped_as(output.path);
  if (!shipped || *shipped == output.may_replace) return std::nullopt;
  return invalid_request("--{} would replace '{}', which is {}; give another file", output.option,
                         printable(output.path.string()), *shipped);
}

}  // namespace

OptionFiles files_of(const RunField& field) {
  if (field.file == FieldFile::none) return {};
  return {OptionFiles::Use::read, [&field](const std::string& value) -> std::vector<fs::path> {
            const auto path = file_named_by(field, value);
            if (!path) return {};
            return {*path};
          }};
}
OptionFiles reads_recording() {
  return reads_asset("recordings");
}
OptionFiles reads_trace() {
  return reads_asset("recordings/traces");
}
OptionFiles writes_file(std::string_view may_replace) {
  return {OptionFiles::Use::written,
          [](const std::string& value) { return std::vector<fs::path>{value}; }, may_replace};
}
OptionFiles writes_tensors() {
  return {OptionFiles::Use::written, [](const std::string& folder) {
            std::vector<fs::path> files;
            for (const std::string_view name : kTensorNames) {
              files.push_back(tensor_file(folder, name));
            }
            return files;
          }};
}

std::optional<Error> check_apart(const std::vector<GivenCommand>& commands) {
  const auto read = named_files(commands, OptionFiles::Use::read);
  const auto written = named_files(commands, OptionFiles::Use::written);
  for (std::size_t w = 0; w < written.size(); ++w) {
    const NamedFile& output = written[w];
    for (const NamedFile& input : read) {
      if (output.is_stdout || output.identity != input.identity) continue;
      return invalid_request("--{} would replace '{}', which --{} reads; give another {}",
                             output.option, printable(output.path.string()), input.option,
                             output.path == output.value ? "file" : "folder");
    }
    if (auto error = check_shipped(output)) return error;
    for (std::size_t other = 0; other < w; ++other) {
      if (auto error = check_outputs(written[other], output)) return error;
    }
  }
  return std::nullopt;
}

std::optional<Error> check_masks_stay(const GivenOptions& given,
                                      std::initializer_list<const char*> outputs,
                                      const Recording& recording) {
  for (const char* option : outputs) {
    const auto output = given.text(option);
    if (!output || is_standard_output(*output)) continue;
    const FileIdentity identity = identity_of(*output);
    for (const RecordingRow& row : recording.rows) {
      const auto& mask = row.run.asked.block_mask;
      const bool is_file = mask && mask->kind == BlockPattern::Kind::file;
      if (!is_file || identity_of(mask->path) != identity) continue;
      return invalid_request(
          "--{} would replace '{}', which a row of the recording reads; give another file", option,
          printable(*output));
    }
  }
  return std::nullopt;
}

}  // namespace attnscope::cli
