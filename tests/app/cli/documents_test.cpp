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
#include "tests/support/documents.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

using test::DocumentedCommand;
using test::lines_of;
const fs::path kDocumentsRoot = ATTNSCOPE_SOURCE_DIR;

constexpr std::string_view kProgram = "attnscope-cli";
constexpr std::ptrdiff_t kMostReadmeLines = 220, kMostKernelsReadmeLines = 120;

/// The text without its numbers and their alignment: the last digits of computed values depend on
/// the C library's exp and log.
std::string without_numbers(const std::string& text) {
  static const std::regex kNumber(" *[0-9]+(\\.[0-9]+)?(e[-+]?[0-9]+)?");
  return std::regex_replace(text, kNumber, " #");
}

/// Whether the command computes values, instead of only counting.
bool computes_values(const std::string& words) {
  return words.starts_with("accuracy ") || words.find("--check") != words.npos;
}

/// The reason why the words are not a valid command line; nothing if they are.
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

/// The commands that measure and therefore need a GPU, and an option of another command that does.
constexpr std::string_view kCommandsOnGpu[] = {"run", "measure", "calibrate"};
constexpr std::string_view kOptionOnGpu = "--measured";

bool needs_gpu(const std::string& words) {
  const std::size_t swept = words.find(" -- ");
  const std::string command = swept == words.npos ? words : words.substr(swept + 4);
  const std::string name = command.substr(0, command.find(' '));
  return std::ranges::find(kCommandsOnGpu, name) != std::end(kCommandsOnGpu) ||
         words.find(kOptionOnGpu) != words.npos;
}

/// Recordings that take minutes to model: a command that compares a whole one is run for only a
/// part of it.
std::string shortened(const std::string& words) {
  const bool is_long = words == "compare --recording h200" ||
                       words == "compare --recording h200 --report comparison.md";
  return is_long ? words + " --seq-len 512" : words;
}

/// The files that commands read and that a reader of the guide would have: a recording, and the
/// answers that the lesson of the same page writes.
void add_files_of_a_reader(const ScratchFolder& folder) {
  fs::copy_file(kDocumentsRoot / "tests/fuzz/seeds/recording/flash2.json",
                folder.path() / "mine.json");
  fs::create_directory(folder.path() / "answers");
  fs::create_symlink("../ann.jsonl", folder.path() / "answers/ann.jsonl");
  std::string input;
  for (int line = 0; line < 100; ++line) input += "show\n";
  folder.write("in", input);
}

/// Every file that the words tell the program to write.
std::vector<std::string> files_written_by(const std::string& words) {
  std::vector<std::string> files;
  std::istringstream stream(words);
  std::string option;
  for (std::string word; stream >> word; option = word) {
    for (const char* const writing : {"--out", "--csv", "--json", "--report", "--answers"}) {
      if (option == writing) files.push_back(word);
    }
  }
  return files;
}

class Document : public testing::TestWithParam<std::string> {
 protected:
  static std::vector<DocumentedCommand> commands() {
    return test::commands_of(kDocumentsRoot / GetParam(), kProgram);
  }
};

TEST_P(Document, ShowsCommandsThatTheProgramTakes) {
  for (const DocumentedCommand& command : commands()) {
    EXPECT_EQ(misunderstood(command.words).value_or(""), "") << command.words;
  }
}

TEST_P(Document, ShowsTheOutputOfItsCommands) {
  for (const auto& [words, output] : commands()) {
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

TEST_P(Document, ShowsCommandsThatEndWellWithoutAGpu) {
  const ScratchFolder folder;
  add_files_of_a_reader(folder);
  for (const auto& [words, output] : commands()) {
    if (!output.empty() || needs_gpu(words)) continue;
    const CliOutcome outcome =
        run_shell("CUDA_VISIBLE_DEVICES= CLI " + shortened(words) + " < in", folder);
    EXPECT_EQ(outcome.status, 0) << words << "\n" << outcome.err;
    EXPECT_NE(outcome.out, "") << words;
    for (const std::string& file : files_written_by(words)) {
      EXPECT_TRUE(fs::exists(folder.path() / file)) << words;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Documents, Document,
                         testing::ValuesIn(test::documents_with_commands(kDocumentsRoot)),
                         [](const auto& document) {
                           std::string name = fs::path(document.param).replace_extension();
                           std::ranges::replace(name, '/', '_');
                           return name;
                         });

TEST(Documents, NeedAGpuOnlyWhereTheCommandMeasures) {
  EXPECT_TRUE(needs_gpu("run --algorithm flash2"));
  EXPECT_TRUE(needs_gpu("trace --measured --algorithm flash2"));
  EXPECT_TRUE(needs_gpu("sweep --over knob.stages=1,2 -- measure --algorithm flash2"));
  EXPECT_FALSE(needs_gpu("sweep --over seq-len=1024 -- simulate"));
  EXPECT_FALSE(needs_gpu("trace --algorithm flash2 --out trace.json"));
}

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
  std::vector<std::string> documents = test::documents_with_commands(kDocumentsRoot);
  documents.insert(documents.end(), {"ARCHITECTURE.md", "CONTRIBUTING.md"});
  int links = 0;
  for (const std::string& document : documents) {
    const std::string text = read_text(kDocumentsRoot / document);
    for (std::sregex_iterator link(text.begin(), text.end(), kLink), end; link != end; ++link) {
      const std::string path = (*link)[1];
      const std::string anchor = (*link)[2];
      if (path.starts_with("https://")) continue;
      ++links;
      const fs::path target = path.empty() ? kDocumentsRoot / document
                                           : (kDocumentsRoot / document).parent_path() / path;
      ASSERT_TRUE(fs::exists(target)) << document << ": " << path;
      if (anchor.empty()) continue;
      EXPECT_TRUE(anchors_of(target).contains(anchor)) << document << ": " << path << "#" << anchor;
    }
  }
  EXPECT_GT(links, 10);
}

TEST(Documents, TheReadmeIsShortAndLinksEveryPage) {
  const std::string readme = read_text(kDocumentsRoot / "README.md");
  EXPECT_LE(std::count(readme.begin(), readme.end(), '\n'), kMostReadmeLines);
  const std::vector<std::string> pages = test::guide_pages(kDocumentsRoot);
  EXPECT_GE(pages.size(), 6u);
  for (const std::string& page : pages) {
    EXPECT_NE(readme.find("](" + page + ")"), readme.npos) << page;
  }
}

TEST(Documents, TheKernelsReadmeIsShortAndHasTheLadder) {
  const std::string readme = read_text(kDocumentsRoot / "kernels/README.md");
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
