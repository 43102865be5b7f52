/// Checks commands in the README and the user guide, the output below them, and links.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/commands.h"
#include "kernels/catalog.h"
#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = ATTNSCOPE_SOURCE_DIR;
constexpr std::string_view kIndent = "    ";
constexpr std::string_view kProgram = "attnscope-cli ";
constexpr std::ptrdiff_t kMostReadmeLines = 220, kMostKernelsReadmeLines = 120;

std::vector<std::string> pages() {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(kRoot / "assets/guide")) {
    paths.push_back(fs::relative(entry.path(), kRoot).generic_string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> readme_and_pages() {
  std::vector<std::string> paths = pages();
  paths.insert(paths.begin(), "README.md");
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

/// A command of a document, without the program's name, and the output shown below it.
struct Documented {
  std::string words;
  std::vector<std::string> output;
};

/// The indented lines that begin with the program's name, or with "$" before it.
std::vector<Documented> commands_of(const std::string& document) {
  std::vector<Documented> commands;
  bool shows_output = false;
  for (const std::string& line : lines_of(read_text(kRoot / document))) {
    if (line.empty()) continue;
    std::string_view text = line;
    if (!text.starts_with(kIndent)) {
      shows_output = false;
      continue;
    }
    text.remove_prefix(kIndent.size());
    const bool is_prompt = text.starts_with("$ ");
    if (is_prompt) text.remove_prefix(2);
    if (text.starts_with(kProgram)) {
      const std::string_view words = text.substr(kProgram.size());
      commands.push_back({std::string(words.substr(0, words.find('#'))), {}});
      shows_output = is_prompt;
    } else if (shows_output) {
      commands.back().output.emplace_back(text);
    }
  }
  return commands;
}

/// The text without its numbers and their alignment: the last digits of computed values depend on
/// the C library's exp and log.
std::string without_numbers(const std::string& text) {
  static const std::regex kNumber(" *[0-9]+(\\.[0-9]+)?(e[-+]?[0-9]+)?");
  return std::regex_replace(text, kNumber, " #");
}

/// True where values are computed, not only counted.
bool computes_values(const std::string& words) {
  return words.starts_with("accuracy ") || words.find("--check") != words.npos;
}

/// Nothing, or why the words are not a valid command line.
std::optional<std::string> misunderstood(const std::string& words) {
  std::istringstream stream(words);
  std::vector<std::string> arguments{std::istream_iterator<std::string>(stream), {}};
  const auto& commands = cli::all_commands();
  const auto command = std::ranges::find(commands, arguments.at(0), &cli::CommandSpec::name);
  if (command == commands.end()) return "unknown command";
  arguments.erase(arguments.begin());
  const auto swept = std::ranges::find(arguments, "--");
  if (command->takes_command && swept != arguments.end()) {
    std::string inner;
    for (auto word = swept + 1; word != arguments.end(); ++word) inner += *word + " ";
    if (inner.find("--algorithm ") == inner.npos) inner += "--algorithm flash2";  // swept
    if (auto reason = misunderstood(inner)) return reason;
  }
  const auto given = cli::parse_arguments(*command, commands, arguments);
  if (!given) return given.error().message;
  return std::nullopt;
}

class Document : public testing::TestWithParam<std::string> {};

TEST_P(Document, ShowsCommandsThatTheProgramTakes) {
  for (const Documented& command : commands_of(GetParam())) {
    EXPECT_EQ(misunderstood(command.words).value_or(""), "") << command.words;
  }
}

TEST_P(Document, ShowsTheOutputOfItsCommands) {
  for (const auto& [words, output] : commands_of(GetParam())) {
    if (output.empty()) continue;
    const CliOutcome outcome = run_cli(words);
    ASSERT_EQ(outcome.status, 0) << words << "\n" << outcome.err;
    const auto compared = [&words = words](const std::string& line) {
      return computes_values(words) ? without_numbers(line) : line;
    };
    std::set<std::string> printed;
    for (const std::string& line : lines_of(outcome.out)) printed.insert(compared(line));
    for (const std::string& line : output) {
      EXPECT_TRUE(printed.contains(compared(line))) << words << "\ndoes not print\n" << line;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Documents, Document, testing::ValuesIn(readme_and_pages()),
                         [](const auto& document) {
                           return fs::path(document.param).stem().string();
                         });

/// The names by which links refer to a document's headings.
std::set<std::string> anchors_of(const fs::path& document) {
  std::set<std::string> anchors;
  for (const std::string& line : lines_of(read_text(document))) {
    if (!line.starts_with('#')) continue;
    std::string anchor;
    for (const char c : line.substr(line.find(' ') + 1)) {
      if (c == ' ') anchor += '-';
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-') {
        anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
    }
    anchors.insert(anchor);
  }
  return anchors;
}

TEST(Documents, EveryLinkLeadsToAFileAndAHeading) {
  static const std::regex kLink(R"(\]\(([^)#]*)#?([^)]*)\))");
  std::vector<std::string> documents = readme_and_pages();
  documents.insert(documents.end(), {"ARCHITECTURE.md", "CONTRIBUTING.md", "kernels/README.md"});
  int links = 0;
  for (const std::string& document : documents) {
    const std::string text = read_text(kRoot / document);
    for (std::sregex_iterator link(text.begin(), text.end(), kLink), end; link != end; ++link) {
      const std::string path = (*link)[1];
      const std::string anchor = (*link)[2];
      if (path.starts_with("https://")) continue;
      ++links;
      const fs::path target =
          path.empty() ? kRoot / document : (kRoot / document).parent_path() / path;
      ASSERT_TRUE(fs::exists(target)) << document << ": " << path;
      if (anchor.empty()) continue;
      EXPECT_TRUE(anchors_of(target).contains(anchor)) << document << ": " << path << "#" << anchor;
    }
  }
  EXPECT_GT(links, 10);
}

TEST(Documents, TheReadmeIsShortAndLinksEveryPage) {
  const std::string readme = read_text(kRoot / "README.md");
  EXPECT_LE(std::count(readme.begin(), readme.end(), '\n'), kMostReadmeLines);
  EXPECT_GE(pages().size(), 6u);
  for (const std::string& page : pages()) {
    EXPECT_NE(readme.find("](" + page + ")"), readme.npos) << page;
  }
}

TEST(Documents, TheKernelsReadmeIsShortAndHasTheLadder) {
  const std::string readme = read_text(kRoot / "kernels/README.md");
  EXPECT_LE(std::count(readme.begin(), readme.end(), '\n'), kMostKernelsReadmeLines);
  for (const kernels::KernelInfo& kernel : kernels::catalog()) {
    EXPECT_NE(readme.find(fmt::format("\n| `{}` |", kernel.name)), readme.npos) << kernel.name;
  }
  for (const char* page : {"support", "hopper", "speed", "tracing", "kernels"}) {
    EXPECT_NE(readme.find(fmt::format("](../assets/guide/{}.md)", page)), readme.npos) << page;
  }
}

}  // namespace
}  // namespace attnscope
