/// The commands that the README and the pages of the user guide show.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope::test {

/// Root-relative paths of the pages of the guide, sorted. `root`: of the repository.
std::vector<std::string> guide_pages(const std::filesystem::path& root);
/// Those of every document that shows commands, the README first.
std::vector<std::string> documents_with_commands(const std::filesystem::path& root);

/// The lines of the text, without trailing spaces.
std::vector<std::string> lines_of(const std::string& text);

/// A command of a document, without the program's name, and the output shown below it.
struct DocumentedCommand {
  std::string words;
  std::vector<std::string> output;
};

/// The indented lines of the document that begin with the program's name, "attnscope-cli", with or
/// without its folder and "$" before it. The lines below are its output only if "$" precedes it.
std::vector<DocumentedCommand> commands_of(const std::filesystem::path& document,
                                           std::string_view program);

}  // namespace attnscope::test
