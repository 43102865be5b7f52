#include "kernels/compile/kernel_sources.h"

#include <algorithm>

#include "reference/check.h"

namespace attnscope::kernels {

static void add_with_includes(std::string_view path, std::vector<SourceFile>& found) {
  if (std::ranges::find(found, path, &SourceFile::path) != found.end()) return;
  const SourceFile* const file = kernel_source(path);
  ATTNSCOPE_CHECK(file != nullptr, ==, true);
  found.push_back(*file);
  // Files begin with a comment; lines with <...> name no embedded file
  constexpr std::string_view kInclude = "\n#include \"";
  std::string_view rest = file->text;
  for (std::size_t at = rest.find(kInclude); at != rest.npos; at = rest.find(kInclude)) {
    rest.remove_prefix(at + kInclude.size());
    add_with_includes(rest.substr(0, rest.find('"')), found);
  }
}

const SourceFile* kernel_source(std::string_view path) {
  const auto files = embedded_sources();
  const auto file = std::ranges::find(files, path, &SourceFile::path);
  return file != files.end() ? &*file : nullptr;
}

std::vector<int> lines_of_step(std::string_view path, Step step) {
  std::vector<int> numbers;
  for (const MarkedLine& line : marked_lines()) {
    if (line.path == path && line.step == step) numbers.push_back(line.number);
  }
  return numbers;
}

std::vector<SourceFile> include_closure(std::string_view path) {
  std::vector<SourceFile> found;
  if (!path.empty()) add_with_includes(path, found);
  return found;
}

}  // namespace attnscope::kernels
