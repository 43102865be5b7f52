#include "kernels/compile/kernel_sources.h"

#include <algorithm>

#include "reference/check.h"

namespace attnscope::kernels {

namespace {

constexpr std::string_view kInclude = "#include \"";

/// The paths that a source includes; lines with <...> name no embedded file.
std::vector<std::string_view> included_by(std::string_view text) {
  std::vector<std::string_view> paths;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(kInclude)) {
      const std::string_view rest = line.substr(kInclude.size());
      paths.push_back(rest.substr(0, rest.find('"')));
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return paths;
}

void add_with_includes(std::string_view path, std::vector<SourceFile>& found) {
  if (std::ranges::find(found, path, &SourceFile::path) != found.end()) return;
  const auto files = embedded_sources();
  const auto file = std::ranges::find(files, path, &SourceFile::path);
  ATTNSCOPE_CHECK(file != files.end(), ==, true);
  found.push_back(*file);
  for (const std::string_view included : included_by(file->text)) {
    add_with_includes(included, found);
  }
}

}  // namespace

std::optional<std::string_view> kernel_source(std::string_view path) {
  const auto files = embedded_sources();
  const auto file = std::ranges::find(files, path, &SourceFile::path);
  return file != files.end() ? std::optional(file->text) : std::nullopt;
}

std::vector<int> lines_of_step(std::string_view path, Step step) {
  std::vector<int> numbers;
  for (const MarkedLine& line : marked_lines()) {
    if (line.path == path && line.step == step) numbers.push_back(line.number);
  }
  return numbers;
}

std::vector<SourceFile> include_closure(std::span<const std::string_view> paths) {
  std::vector<SourceFile> found;
  for (const std::string_view path : paths) add_with_includes(path, found);
  return found;
}

}  // namespace attnscope::kernels
