/// Whole commands of attnscope-cli in this process, in a scratch folder.
///
/// An input has one argument per line; after a line "@@" it may have the contents of
/// inputs/mine.json and inputs/mine.npy. Arguments reach no file outside the scratch folder.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "tests/fuzz/command_arguments.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch.h"

namespace attnscope::fuzz {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kFileMark = "@@";

/// Captures the output of a standard stream in memory during its lifetime.
class Captured {
 public:
  Captured(std::FILE* stream, int descriptor) : stream_(stream), descriptor_(descriptor) {
    std::fflush(stream_);
    saved_ = ::dup(descriptor_);
    memory_ = ::memfd_create("captured", MFD_CLOEXEC);
    ::dup2(memory_, descriptor_);
  }
  ~Captured() {
    restore();
    ::close(memory_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  /// Returns the output, at most the first `most` bytes; restores the stream.
  std::string text(std::size_t most) {
    restore();
    const auto size = static_cast<std::size_t>(::lseek(memory_, 0, SEEK_END));
    std::string text(std::min(size, most), '\0');
    const ssize_t got = ::pread(memory_, text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    std::fflush(stream_);
    ::dup2(saved_, descriptor_);
    ::close(saved_);
    saved_ = -1;
  }

  std::FILE* stream_;
  int descriptor_;
  int saved_ = -1;
  int memory_ = -1;
};

/// Makes the scratch folder the current one during its lifetime.
class InScratch {
 public:
  InScratch() : before_(fs::current_path()) { fs::current_path(scratch_folder()); }
  ~InScratch() {
    std::error_code ignored;
    fs::current_path(before_, ignored);
  }
  InScratch(const InScratch&) = delete;
  InScratch& operator=(const InScratch&) = delete;

 private:
  fs::path before_;
};

void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Leaves only the input files in the scratch folder, every 500th time.
void prepare_scratch() {
  const fs::path inputs = scratch_folder() / "inputs";
  static int runs = 0;
  if (runs++ % 500 != 0) return;
  for (const auto& entry : fs::directory_iterator(scratch_folder())) fs::remove_all(entry.path());
  fs::create_directories(inputs);
  for (const char* name : {"recording", "trace", "gpu"}) {
    write_file(inputs / fmt::format("{}.json", name), seeds_of(fuzz_target(name)).front());
  }
  write_file(inputs / "q.npy", seeds_of(fuzz_target("npy")).front());
}

bool contains_pair(const std::vector<std::string>& arguments, std::string_view option,
                   std::string_view value) {
  const auto found = std::ranges::find(arguments, option);
  return found != arguments.end() && found + 1 != arguments.end() && *(found + 1) == value;
}

void check_outcome(const std::vector<std::string>& arguments, int status, const std::string& out,
                   std::string err) {
  require(status >= 0 && status <= 2, fmt::format("exit status {}", status));
  if (status == 0) {
    require(out.size() >= (std::size_t{1} << 20) || !contains_pair(arguments, "--json", "-") ||
                contains_pair(arguments, "--csv", "-") || arguments[0] == "guide" ||
                arguments[0].starts_with("-") || arguments[0] == "help" ||
                std::ranges::find(arguments, "--help") != arguments.end() ||
                std::ranges::find(arguments, "-h") != arguments.end() ||
                nlohmann::json::accept(out),
            "the output is no JSON");
    return;
  }
  require(err.ends_with('\n'), "no message");
  err.pop_back();
  std::string last;
  for (const std::string& line : cli::split(err, '\n')) {
    const std::size_t kind = line.find(": ");
    require(kind != line.npos, line);
    require_good_message(std::string_view(line).substr(kind + 2));
    last = line.substr(0, kind);
  }
  require(last == "error" || last == "unavailable", err);
}

}  // namespace

void run_command(std::string_view input) {
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);     // no GPU
  ::setenv("XDG_CACHE_HOME", "/dev/null", 1);  // nothing is kept: same input, same result
  prepare_scratch();
  const std::string separator = fmt::format("\n{}\n", kFileMark);
  const std::size_t mark = input.find(separator);
  if (mark != input.npos) {
    for (const char* name : {"mine.json", "mine.npy"}) {
      write_file(scratch_folder() / "inputs" / name, input.substr(mark + separator.size()));
    }
  }
  const std::vector<std::string> arguments = command_arguments(input.substr(0, mark));
  int status = 0;
  std::string out, err;
  {
    const InScratch folder;
    Captured captured_out(stdout, STDOUT_FILENO);
    Captured captured_err(stderr, STDERR_FILENO);
    status = cli::run_program(arguments);
    out = captured_out.text(std::size_t{1} << 20);
    err = captured_err.text(std::size_t{1} << 16);
  }
  check_outcome(arguments, status, out, std::move(err));
}

namespace {

constexpr const char* kValues[] = {"0",
                                   "1",
                                   "2",
                                   "3",
                                   "4",
                                   "16",
                                   "17",
                                   "32",
                                   "64",
                                   "100",
                                   "128",
                                   "-1",
                                   "1024",
                                   "65536",
                                   "16777216",
                                   "134217728",
                                   "9223372036854775807",
                                   "9223372036854775808",
                                   "0.5",
                                   "0.1",
                                   "1e-300",
                                   "30",
                                   "nan",
                                   "none",
                                   "causal",
                                   "causal:top-left",
                                   "window:3",
                                   "window:2,-1",
                                   "window:-1,0:top-left",
                                   "fp16",
                                   "fp32",
                                   "bf16",
                                   "forward",
                                   "backward",
                                   "both",
                                   "flash1",
                                   "flash2",
                                   "standard",
                                   "block_sparse",
                                   "block_sparse2",
                                   "split_kv",
                                   "butterfly",
                                   "random:0.3",
                                   "random:1",
                                   "uniform:0.5,3",
                                   "local-global:1,1",
                                   "inputs/q.npy",
                                   "inputs/mine.npy",
                                   "inputs/mine.json",
                                   "inputs/recording.json",
                                   "inputs/trace.json",
                                   "inputs/gpu.json",
                                   "inputs",
                                   "none.npy",
                                   "h200",
                                   "a100",
                                   "l40s",
                                   "paper",
                                   "largest",
                                   "kernel",
                                   "problem",
                                   "split-q",
                                   "sliced-k",
                                   "separate",
                                   "rows",
                                   "figure2",
                                   "gaussian",
                                   "outlier",
                                   "needle",
                                   "3,5",
                                   "0,3,8",
                                   "0,64",
                                   "64,32",
                                   "1,2,4,8",
                                   "164KiB",
                                   "50MB",
                                   "out.json",
                                   "out.csv",
                                   "-",
                                   "training",
                                   "inference",
                                   "h200-sweeps",
                                   ""};

struct Lines {
  std::vector<std::string> words;
  std::string file;  ///< the file's part of the input, with its mark; may be empty
};

Lines split_input(std::string_view input) {
  Lines lines;
  const std::size_t mark = input.find("\n@@\n");
  lines.words = cli::split(input.substr(0, mark), '\n');
  if (mark != input.npos) lines.file = input.substr(mark + 4);
  return lines;
}

/// An option of the command with a value.
std::vector<std::string> any_option(const cli::CommandSpec& command, Random& random) {
  if (command.options.empty()) return {"--help"};
  const cli::OptionSpec& option = random.pick(command.options);
  std::vector<std::string> words = {"--" + option.name};
  if (option.name == "over") {
    words.push_back(fmt::format("{}={},{}", random.pick(cli::simulate_command().options).name,
                                random.pick(kValues), random.pick(kValues)));
  } else if (!option.value_name.empty()) {
    words.emplace_back(random.pick(kValues));
  }
  return words;
}

}  // namespace

std::string mutate_command(std::string_view input, Random& random) {
  const std::vector<cli::CommandSpec>& commands = cli::all_commands();
  Lines lines = split_input(input);
  const auto named = [&] {
    const auto found = std::ranges::find(commands, lines.words.front(), &cli::CommandSpec::name);
    return found == commands.end() ? &random.pick(commands) : &*found;
  };
  for (std::size_t changes = 1 + random.below(4); changes > 0; --changes) {
    if (lines.words.empty()) lines.words.push_back(random.pick(commands).name);
    const std::size_t at = random.below(lines.words.size());
    const auto place = lines.words.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random.below(10)) {
      case 0:
        lines.words.front() = random.pick(commands).name;
        break;
      case 1:
      case 2:
      case 3: {
        const auto words = any_option(*named(), random);
        lines.words.insert(lines.words.end(), words.begin(), words.end());
        break;
      }
      case 4:
      case 5:
        if (!place->starts_with("--")) *place = random.pick(kValues);
        break;
      case 6:
        lines.words.erase(place);
        break;
      case 7:
        *place = mutate_text(*place, random);
        std::ranges::replace(*place, '\n', ' ');
        break;
      case 8:
        if (random.one_in(8))
          lines.words.insert(place, {"--", "simulate", "--algorithm", "flash2"});
        break;
      default: {
        constexpr const char* kFiles[] = {"npy", "recording", "trace", "gpu"};
        const FuzzTarget& target = fuzz_target(random.pick(kFiles));
        if (lines.file.empty()) lines.file = seeds_of(target).front();
        lines.file = target.mutate(lines.file, random);
        break;
      }
    }
  }
  std::string text = fmt::format("{}", fmt::join(lines.words, "\n"));
  if (!lines.file.empty()) text += "\n@@\n" + lines.file;
  return text;
}

}  // namespace attnscope::fuzz
