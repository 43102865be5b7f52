#include "tests/app/cli/cli_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

namespace attnscope {

namespace fs = std::filesystem;

int CliOutcome::error_lines() const {
  return static_cast<int>(std::count(err.begin(), err.end(), '\n'));
}

namespace {

/// Replaces this process with attnscope-cli, whose output goes to files; standard error is
/// `terminal` if that is given. Never returns.
[[noreturn]] void become_cli(const std::vector<std::string>& arguments,
                             const Environment& environment, const fs::path& directory,
                             const ScratchFolder& scratch, const std::string& terminal = {}) {
  const auto redirect = [&](const char* name, int descriptor) {
    const int file = ::open(scratch.file(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ::dup2(file, descriptor) < 0) ::_exit(126);
  };
  redirect("out", STDOUT_FILENO);
  if (terminal.empty()) {
    redirect("err", STDERR_FILENO);
  } else {
    const int file = ::open(terminal.c_str(), O_WRONLY | O_NOCTTY);
    if (file < 0 || ::dup2(file, STDERR_FILENO) < 0) ::_exit(126);
  }
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (!directory.empty() && ::chdir(directory.c_str()) != 0) ::_exit(126);

  std::vector<std::string> words = arguments;
  words.insert(words.begin(), ATTNSCOPE_CLI_PROGRAM);
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(ATTNSCOPE_CLI_PROGRAM, pointers.data());
  ::_exit(127);
}

}  // namespace

CliOutcome run_cli(const std::vector<std::string>& arguments, const Environment& environment,
                   const fs::path& directory) {
  const ScratchFolder scratch;
  const pid_t child = ::fork();
  if (child == 0) become_cli(arguments, environment, directory, scratch);
  int state = 0;
  ::waitpid(child, &state, 0);
  return {WIFEXITED(state) ? WEXITSTATUS(state) : -1, read_text(scratch.path() / "out"),
          read_text(scratch.path() / "err")};
}

namespace {

std::vector<std::string> split_at_spaces(const std::string& words) {
  std::istringstream stream(words);
  return {std::istream_iterator<std::string>(stream), {}};
}

}  // namespace

CliOutcome run_cli(const std::string& words, const Environment& environment,
                   const fs::path& directory) {
  return run_cli(split_at_spaces(words), environment, directory);
}

CliOutcome run_cli_on_terminal(const std::string& words) {
  const ScratchFolder scratch;
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) {
    throw std::runtime_error("no terminal");
  }
  const pid_t child = ::fork();
  if (child == 0) become_cli(split_at_spaces(words), {}, {}, scratch, ::ptsname(terminal));
  CliOutcome outcome;
  int state = 0;
  bool ended = false;
  for (char bytes[256];;) {  // read at once, since the program would block on a full terminal
    pollfd ready{terminal, POLLIN, 0};
    if (::poll(&ready, 1, 20) > 0 && (ready.revents & POLLIN) != 0) {
      const ssize_t count = ::read(terminal, bytes, sizeof bytes);
      if (count > 0) outcome.err.append(bytes, static_cast<std::size_t>(count));
    } else if (ended) {
      break;
    } else {
      ended = ::waitpid(child, &state, WNOHANG) == child;
    }
  }
  ::close(terminal);
  outcome.status = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
  outcome.out = read_text(scratch.path() / "out");
  return outcome;
}

nlohmann::ordered_json answered(const std::string& words) {
  const CliOutcome outcome = run_cli(words + " --json -");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return nlohmann::ordered_json::parse(outcome.out, nullptr, false);
}

Environment without_gpu() {
  return {{"CUDA_VISIBLE_DEVICES", ""}};
}

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "attnscope-cli-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create a scratch folder");
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string ScratchFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
  return file(name);
}

std::vector<std::string> ScratchFolder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

CliOutcome run_shell(std::string command, const ScratchFolder& folder) {
  for (std::size_t at; (at = command.find("CLI")) != std::string::npos;) {
    command.replace(at, 3, ATTNSCOPE_CLI_PROGRAM);
  }
  const std::string there = "cd " + folder.path().string() + " && { " + command + " ; } >out 2>err";
  const int state = std::system(there.c_str());
  return {WIFEXITED(state) ? WEXITSTATUS(state) : -1, read_text(folder.path() / "out"),
          read_text(folder.path() / "err")};
}

nlohmann::ordered_json simulated(const std::string& words) {
  return answered("simulate " + words);
}

void test::expect_refused(const CliOutcome& outcome, const std::string& part) {
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.error_lines(), 1) << outcome.err;
  EXPECT_EQ(outcome.err.rfind("error: ", 0), 0u) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << "expected: " << part << "\n"
                                                       << outcome.err;
  EXPECT_LT(outcome.err.size(), 600u) << outcome.err;
}

void test::expect_refused(const std::string& words, const std::string& part) {
  SCOPED_TRACE(words);
  expect_refused(run_cli(words), part);
}

}  // namespace attnscope
