#include "app/cli/option_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "app/report/measured_trace.h"
#include "reference/files/file_identity.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"

namespace attnscope::cli {

namespace fs = std::filesystem;

bool is_standard_output(const fs::path& path) {
  if (path == "-") return true;
  const FileIdentity standard_output = identity_of("/dev/fd/1");
  return identity_of(path) == standard_output && standard_output != identity_of("/dev/null");
}

std::filesystem::path tensor_file(const std::filesystem::path& folder, std::string_view name) {
  return folder / fmt::format("{}.npy", name);
}

namespace {

OptionFiles reads_asset(std::string_view folder) {
  return {OptionFiles::Use::read, [folder](const std::string& value) -> std::vector<fs::path> {
            const auto path = find_asset(folder, value);
            if (!path) return {};
            return {path.value()};
          }};
}

const fs::path kStandardOutput = "/dev/fd/1";

/// The identity of the regular file that standard output goes to; nothing if it goes elsewhere.
std::optional<FileIdentity> standard_output_file() {
  std::error_code ignored;
  if (!fs::is_regular_file(kStandardOutput, ignored)) return std::nullopt;
  return identity_of(kStandardOutput);
}

/// A file that an option names, or that standard output goes to.
struct NamedFile {
  std::string name;  ///< the option that names the file: "--json"
  std::string value;
  fs::path path;
  FileIdentity identity;  ///< empty if standard output is not a regular file
  bool is_stdout = false;
  std::string_view may_replace = {};  ///< see OptionFiles
};

NamedFile named_file(const OptionSpec& option, const std::string& value, const fs::path& path) {
  NamedFile file{.name = "--" + option.name,
                 .value = value,
                 .path = path,
                 .is_stdout = option.files.may_be_stdout && is_standard_output(path),
                 .may_replace = option.files.may_replace};
  file.identity =
      file.is_stdout ? standard_output_file().value_or(FileIdentity{}) : identity_of(path);
  return file;
}

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
          files.push_back(named_file(option, value, path));
        }
      }
    }
  }
  return files;
}

/// The outputs, followed by standard output if it goes to a file that is not one of them.
std::vector<NamedFile> with_standard_output(std::vector<NamedFile> outputs) {
  if (std::ranges::any_of(outputs, &NamedFile::is_stdout)) return outputs;
  if (const auto identity = standard_output_file()) {
    outputs.push_back({.name = "standard output",
                       .path = kStandardOutput,
                       .identity = *identity,
                       .is_stdout = true});
  }
  return outputs;
}

/// The output that a message suggests instead.
std::string_view another(const NamedFile& output) {
  if (output.is_stdout) return "send standard output to another file";
  return output.path == output.value ? "give another file" : "give another folder";
}

Error would_replace(const NamedFile& output, const fs::path& path, std::string_view which) {
  return invalid_request("{} would replace '{}', which {}; {}", output.name,
                         printable(path.string()), which, another(output));
}

/// An error if the outputs `a` and `b` are the same file.
std::optional<Error> check_outputs(const NamedFile& a, const NamedFile& b) {
  if (a.is_stdout && b.is_stdout) {
    return invalid_request("{} and {} both write to standard output; give one of them a file",
                           a.name, b.name);
  }
  const NamedFile& file = b.is_stdout ? a : b;
  if (a.identity == b.identity) {
    return invalid_request("{} and {} both name '{}'; give two files", a.name, b.name,
                           printable(file.path.string()));
  }
  for (const auto& [below, above] : {std::pair{a, b}, {b, a}}) {
    if (!below.identity.is_below(above.identity)) continue;
    return invalid_request("{} needs a folder where {} writes the file '{}'; {}", below.name,
                           above.name, printable(above.path.string()), another(above));
  }
  return std::nullopt;
}

/// An error if the output would replace a shipped file. Commands read those files even if no option
/// names them: the description of the GPU that is present or recorded, everything that `list`
/// shows.
std::optional<Error> check_shipped(const NamedFile& output) {
  if (!output.is_stdout) {
    const auto shipped = shipped_as(output.path);
    if (!shipped || *shipped == output.may_replace) return std::nullopt;
    return would_replace(output, output.path, fmt::format("is {}", *shipped));
  }
  // The shell has already emptied the file, or it is new: there is nothing left to protect
  std::error_code error;
  if (!standard_output_file() || fs::file_size(kStandardOutput, error) == 0) return std::nullopt;
  const auto shipped = shipped_as(kStandardOutput);
  if (!shipped) return std::nullopt;
  return would_replace(output, fs::read_symlink(kStandardOutput, error),
                       fmt::format("is {}", *shipped));
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
  return reads_asset(kTracesFolder);
}
OptionFiles writes_file(std::string_view may_replace) {
  return {.use = OptionFiles::Use::written,
          .named_by = [](const std::string& value) { return std::vector<fs::path>{value}; },
          .may_replace = may_replace,
          .may_be_stdout = true};
}
OptionFiles adds_to_recording() {
  OptionFiles file = writes_file("a recording");
  file.may_be_stdout = false;
  return file;
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
  const auto written = with_standard_output(named_files(commands, OptionFiles::Use::written));
  for (std::size_t w = 0; w < written.size(); ++w) {
    const NamedFile& output = written[w];
    for (const NamedFile& input : read) {
      if (output.identity != input.identity) continue;
      return would_replace(output, input.path, fmt::format("{} reads", input.name));
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
  std::vector<NamedFile> files;
  for (const char* option : outputs) {
    const auto path = given.text(option);
    if (path) files.push_back(named_file({.name = option, .files = writes_file()}, *path, *path));
  }
  for (const NamedFile& output : with_standard_output(std::move(files))) {
    for (const RecordingRow& row : recording.rows) {
      const auto& mask = row.run.asked.block_mask;
      const bool is_file = mask && mask->kind == BlockPattern::Kind::file;
      if (!is_file || identity_of(mask->path) != output.identity) continue;
      return would_replace(output, mask->path, "a row of the recording reads");
    }
  }
  return std::nullopt;
}

}  // namespace attnscope::cli
