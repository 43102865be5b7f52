/// Recorded invocations: each command line of tests/golden/invocations/*.txt prints, byte for byte,
/// the output recorded under the same name in tests/golden/invocations/expected/.
/// ATTNSCOPE_UPDATE_GOLDEN=1 records them again. refusals.txt records messages, whose wording may
/// change.
#include <fcntl.h>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <utility>

#include "app/cli/commands.h"
#include "reference/npy.h"
#include "sim/device/assets.h"
#include "tests/app/cli/cli_process.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(ATTNSCOPE_GOLDEN_DIR) / "invocations";
constexpr int kShownDifferences = 10;
constexpr std::string_view kRefusals = "refusals";
/// Lists with values from the C library's exp and log, whose last bits differ from CPU to CPU:
/// their numbers are recorded with eight digits.
constexpr std::array<std::string_view, 3> kRounded = {"accuracy", "break", "numbers"};

/// The names of the lists: "masks", "refusals", ...
std::vector<std::string> list_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// The command lines of a list, one per line; comments and empty lines are skipped.
std::vector<std::string> command_lines(const std::string& list) {
  std::vector<std::string> lines;
  std::ifstream file(kFolder / (list + ".txt"));
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.front() != '#') lines.push_back(line);
  }
  return lines;
}

/// Redirects a stream of this process to a file during its lifetime.
class Redirected {
 public:
  Redirected(std::FILE* stream, const std::string& path) : stream_(stream), path_(path) {
    std::fflush(stream_);
    saved_ = ::dup(::fileno(stream_));
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (saved_ < 0 || file < 0 || ::dup2(file, ::fileno(stream_)) < 0) {
      throw std::runtime_error("cannot redirect a stream to " + path);
    }
    ::close(file);
  }
  ~Redirected() { restore(); }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

  /// Ends the redirection; returns what was written.
  std::string text() {
    restore();
    return read_text(path_);
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    std::fflush(stream_);
    ::dup2(saved_, ::fileno(stream_));
    ::close(std::exchange(saved_, -1));
  }

  std::FILE* stream_;
  std::string path_;
  int saved_ = -1;
};

/// Writes a tensor of values from -1 to 1 that are the same on every machine.
void write_tensor(const std::string& name, const std::vector<Index>& shape, Index factor) {
  Index count = 1;
  for (const Index size : shape) count *= size;
  std::vector<double> values;
  for (Index k = 0; k < count; ++k) {
    values.push_back(static_cast<double>(k * factor % 129 - 64) / 64.0);
  }
  ASSERT_FALSE(write_npy(name, shape, values));
}

/// Writes the files that command lines name: tensors, a block mask and the description of a GPU.
void write_inputs() {
  write_tensor("q.npy", {1, 4, 24, 16}, 37);
  write_tensor("do.npy", {1, 4, 24, 16}, 101);
  write_tensor("k.npy", {1, 2, 40, 16}, 53);
  write_tensor("v.npy", {1, 2, 40, 16}, 71);
  std::vector<double> tiles;
  for (Index tile = 0; tile < 64; ++tile) tiles.push_back(tile * 5 % 7 < 3 ? 1.0 : 0.0);
  const Index sides[] = {8, 8};
  ASSERT_FALSE(write_npy("mask.npy", sides, tiles));

  const fs::path described = find_assets_dir().value() / "gpus" / "a100-40gb.json";
  std::ofstream("my-gpu.json") << read_text(described);
}

/// The text with every decimal number rounded to eight significant digits.
std::string with_rounded_numbers(const std::string& text) {
  static const std::regex kDecimal("[0-9]+\\.[0-9]+(e[-+]?[0-9]+)?");
  std::string rounded;
  auto last = text.begin();
  for (std::sregex_iterator found(text.begin(), text.end(), kDecimal), end; found != end; ++found) {
    rounded.append(last, text.begin() + found->position());
    rounded += fmt::format("{:.8g}", std::stod(found->str()));
    last = text.begin() + found->position() + found->length();
  }
  return rounded.append(last, text.end());
}

/// The block of an expected file: the command line, its output and, if there are any, its line on
/// standard error and an exit status other than 0.
std::string invocation_text(const std::string& command_line) {
  std::istringstream words(command_line);
  std::vector<std::string> arguments(std::istream_iterator<std::string>(words), {});
  Redirected out(stdout, "(out)");
  Redirected err(stderr, "(err)");
  const int status = cli::run_program(std::move(arguments));
  std::string text = fmt::format("$ {}\n{}", command_line, out.text());
  if (text.back() != '\n') text += "\n\\ no line break at the end\n";
  std::istringstream errors(err.text());
  for (std::string line; std::getline(errors, line);) text += fmt::format("! {}\n", line);
  if (status != 0) text += fmt::format("exit status {}\n", status);
  return text;
}

/// The blocks of a list, as they are now.
std::vector<std::string> run_list(const std::string& list) {
  std::vector<std::string> blocks;
  const bool rounded = std::ranges::find(kRounded, list) != kRounded.end();
  for (const std::string& line : command_lines(list)) {
    const std::string text = invocation_text(line);
    blocks.push_back(rounded ? with_rounded_numbers(text) : text);
  }
  return blocks;
}

/// The blocks of an expected file by their command lines.
std::map<std::string, std::string> read_expected(const fs::path& path) {
  std::map<std::string, std::string> blocks;
  std::ifstream file(path, std::ios::binary);
  std::string* block = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("$ ")) block = &blocks[line.substr(2)];
    if (block != nullptr) *block += line + "\n";
  }
  return blocks;
}

/// The first difference between two strings: the line's number and both lines.
std::string first_difference(const std::string& expected, const std::string& actual) {
  std::istringstream left(expected);
  std::istringstream right(actual);
  for (int number = 1;; ++number) {
    std::string expected_line = "(end)";
    std::string actual_line = "(end)";
    const bool has_left = static_cast<bool>(std::getline(left, expected_line));
    const bool has_right = static_cast<bool>(std::getline(right, actual_line));
    if (!has_left) expected_line = "(end)";
    if (!has_right) actual_line = "(end)";
    if (expected_line == actual_line && (has_left || has_right)) continue;
    return fmt::format("line {} was\n  {}\nand is\n  {}", number, expected_line, actual_line);
  }
}

/// Links the shipped assets into the folder, without the calibrations of GPUs: their numbers change
/// whenever one is measured again, and with them every predicted time.
void link_assets(const fs::path& folder) {
  const fs::path shipped = find_assets_dir().value();
  fs::create_directories(folder / "gpus");
  for (const auto& entry : fs::directory_iterator(shipped)) {
    const fs::path name = entry.path().filename();
    if (name != "gpus") fs::create_symlink(entry.path(), folder / name);
  }
  for (const auto& entry : fs::directory_iterator(shipped / "gpus")) {
    const std::string name = entry.path().filename().string();
    if (name.find(".calibration.") == name.npos) {
      fs::create_symlink(entry.path(), folder / "gpus" / name);
    }
  }
}

/// Tests that run in a separate folder, as on a machine without a GPU.
class Invocations : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const auto& [name, value] : without_gpu()) ::setenv(name.c_str(), value.c_str(), 1);
    started_in_ = fs::current_path();
    fs::current_path(scratch_.path());
    ASSERT_NO_FATAL_FAILURE(write_inputs());
    link_assets(assets_.path());
    ::setenv("ATTNSCOPE_ASSETS", assets_.path().c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("ATTNSCOPE_ASSETS");
    fs::current_path(started_in_);
    for (const auto& [name, value] : without_gpu()) ::unsetenv(name.c_str());
  }

 private:
  ScratchFolder scratch_, assets_;
  fs::path started_in_;
};

TEST_P(Invocations, PrintWhatIsRecorded) {
  const std::string& list = GetParam();
  const fs::path path = kFolder / "expected" / (list + ".txt");
  if (std::getenv("ATTNSCOPE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(path, std::ios::binary);
    for (const std::string& block : run_list(list)) file << block;
  }

  auto expected = read_expected(path);
  int differences = 0;
  for (const std::string& block : run_list(list)) {
    const std::string line = block.substr(2, block.find('\n') - 2);
    const auto recorded = expected.extract(line);
    if (!recorded.empty() && recorded.mapped() == block) continue;
    if (++differences > kShownDifferences) continue;
    ADD_FAILURE() << "attnscope-cli " << line << "\n"
                  << (recorded.empty() ? "is not recorded"
                                       : first_difference(recorded.mapped(), block));
  }
  for (const auto& [line, block] : expected) {
    ADD_FAILURE() << "recorded, but in no list: attnscope-cli " << line;
    ++differences;
  }
  if (differences > 0) {
    ADD_FAILURE() << differences << " differences. If they are meant, record the list anew and "
                  << "read what changed:\n  ATTNSCOPE_UPDATE_GOLDEN=1 "
                  << "build/release/attnscope_cli_tests --gtest_filter='*Invocations*/" << list
                  << "'\n  git diff tests/golden/invocations";
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, Invocations, testing::ValuesIn(list_names()),
                         [](const auto& list) { return list.param; });

TEST(RecordedInvocations, AreEnoughAndEachIsThereOnce) {
  std::map<std::string, int> seen;
  std::size_t results = 0;
  std::size_t refusals = 0;
  for (const std::string& list : list_names()) {
    const auto lines = command_lines(list);
    (list == kRefusals ? refusals : results) += lines.size();
    for (const std::string& line : lines) EXPECT_EQ(++seen[line], 1) << line;
  }
  EXPECT_GE(results, 260u);
  EXPECT_GE(refusals, 60u);
}

}  // namespace
}  // namespace attnscope
