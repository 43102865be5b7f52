#include "tests/support/documents.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace attnscope::test {

namespace fs = std::filesystem;

std::vector<std::string> guide_pages(const fs::path& root) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(root / "assets/guide")) {
    paths.push_back(fs::relative(entry.path(), root).generic_string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> documents_with_commands(const fs::path& root) {
  std::vector<std::string> paths = {"README.md", "kernels/README.md"};
  const std::vector<std::string> pages = guide_pages(root);
  paths.insert(paths.end(), pages.begin(), pages.end());
  return paths;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(line);
  }
  return lines;
}

std::vector<DocumentedCommand> commands_of(const fs::path& document, std::string_view program) {
  constexpr std::string_view kIndent = "    ", kFolder = "build/release/";
  std::ifstream file(document, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<DocumentedCommand> commands;
  bool shows_output = false;
  for (const std::string& line : lines_of(text)) {
    if (line.empty()) continue;
    std::string_view rest = line;
    if (!rest.starts_with(kIndent)) {
      shows_output = false;
      continue;
    }
    rest.remove_prefix(kIndent.size());
    const bool is_prompt = rest.starts_with("$ ");
    if (is_prompt) rest.remove_prefix(2);
    if (rest.starts_with(kFolder)) rest.remove_prefix(kFolder.size());
    if (rest.starts_with(program) && rest.substr(program.size()).starts_with(' ')) {
      const std::string_view words = rest.substr(program.size() + 1);
      commands.push_back({std::string(words.substr(0, words.find('#'))), {}});
      shows_output = is_prompt;
    } else if (shows_output) {
      commands.back().output.emplace_back(rest);
    }
  }
  return commands;
}

}  // namespace attnscope::test
