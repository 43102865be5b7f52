#include "tests/layers/source_tree.h"

#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace attnscope::test {

namespace {

/// The rest of a line after leading space and `word`, or nothing.
std::optional<std::string_view> after(std::string_view line, std::string_view word) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  line.remove_prefix(begin);
  if (!line.starts_with(word)) return std::nullopt;
  return line.substr(word.size());
}

}  // namespace

SourceFile parse_source(std::string text) {
  SourceFile file;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto directive = after(line, "#");
    const auto target = directive ? after(*directive, "include") : std::nullopt;
    if (!target) continue;
    if (const auto quoted = after(*target, "\"")) {
      file.quoted_includes.emplace_back(quoted->substr(0, quoted->find('"')));
    } else if (const auto angled = after(*target, "<")) {
      file.angled_includes.emplace_back(angled->substr(0, angled->find('>')));
    }
  }
  file.text = std::move(text);
  return file;
}

bool lies_in(std::string_view path, std::string_view folder) {
  return path == folder ||
         (path.starts_with(folder) && path.substr(folder.size()).starts_with('/'));
}

bool is_header(std::string_view path) {
  return path.ends_with(".h") || path.ends_with(".cuh") || path.ends_with(".hpp");
}

bool is_code(std::string_view path) {
  return is_header(path) || path.ends_with(".cpp") || path.ends_with(".cpp.in") ||
         path.ends_with(".h.in");
}

SourceTree read_source_tree(const std::filesystem::path& root) {
  const auto is_read = [](const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    return is_code(name) || name.ends_with(".c") || name.ends_with(".md") ||
           name.ends_with(".txt") || name.ends_with(".cmake") || name.ends_with(".sh") ||
           name == "Makefile";
  };
  const auto add = [&](SourceTree& tree, const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    tree[path.lexically_relative(root).generic_string()] = parse_source(std::move(text));
  };

  SourceTree tree;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && is_read(entry.path())) add(tree, entry.path());
    if (!entry.is_directory() || name.starts_with('.') || name.starts_with("build")) continue;
    for (const auto& inner : std::filesystem::recursive_directory_iterator(entry.path())) {
      if (inner.is_regular_file() && is_read(inner.path())) add(tree, inner.path());
    }
  }
  return tree;
}

std::set<std::string> include_closure(const SourceTree& tree, const std::string& path) {
  std::set<std::string> seen = {path};
  std::vector<std::string> open = {path};
  while (!open.empty()) {
    const auto file = tree.find(open.back());
    open.pop_back();
    if (file == tree.end()) continue;
    for (const std::string& included : file->second.quoted_includes) {
      if (seen.insert(included).second) open.push_back(included);
    }
  }
  return seen;
}

}  // namespace attnscope::test
