/// The repository's sources for the layer tests: files by root-relative path, with the includes and
/// the text of each.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope::test {

struct SourceFile {
  std::string text;
  std::vector<std::string> quoted_includes;  ///< "reference/check.h", as written
  std::vector<std::string> angled_includes;  ///< <vector> gives "vector"
};

/// The files by their root-relative paths, with '/' between folders.
using SourceTree = std::map<std::string, SourceFile>;

/// Splits the #include lines of a file into the two kinds.
SourceFile parse_source(std::string text);

/// Reads every source and text file of the project's own folders under `root`; build outputs and
/// hidden folders are left out.
SourceTree read_source_tree(const std::filesystem::path& root);

bool is_header(std::string_view path);
bool is_code(std::string_view path);  ///< a file of C++ or CUDA, header or not

/// Whether the path is `folder` itself or below it.
bool lies_in(std::string_view path, std::string_view folder);

/// Every file of the tree that `path` includes, directly or not, and `path` itself.
std::set<std::string> include_closure(const SourceTree& tree, const std::string& path);

}  // namespace attnscope::test
