#include "app/cli/disassembler.h"

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "reference/files/temporary_file.h"
#include "reference/message_text.h"

namespace attnscope::cli {

namespace fs = std::filesystem;

namespace {

/// The folders of PATH, then CUDA_HOME/bin.
std::vector<fs::path> program_folders() {
  std::vector<fs::path> folders;
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    if (!folder.empty()) folders.emplace_back(folder);  // an empty entry means the current folder
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
  }
  const char* const home = std::getenv("CUDA_HOME");
  if (home != nullptr && *home != '\0') folders.push_back(fs::path(home) / "bin");
  return folders;
}

std::optional<fs::path> find_program(std::string_view name) {
  for (const fs::path& folder : program_folders()) {
    const fs::path program = folder / name;
    std::error_code ignored;
    if (fs::is_regular_file(program, ignored) && ::access(program.c_str(), X_OK) == 0) {
      return program;
    }
  }
  return std::nullopt;
}

/// Runs the program, without a shell, with its output and errors in these files. Returns its exit
/// status, or -1 if it does not start or a signal ends it.
int run_and_wait(const std::vector<std::string>& words, int output, int errors) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  if (::posix_spawn_file_actions_init(&actions) != 0) return -1;
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  pid_t child = -1;
  const int failure =
      ::posix_spawn(&child, words.front().c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return -1;
  int state = 0;
  while (::waitpid(child, &state, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

Result<Disassembler> find_disassembler() {
  if (const auto program = find_program("nvdisasm")) return Disassembler{*program, "--print-code"};
  if (const auto program = find_program("cuobjdump")) return Disassembler{*program, "--dump-sass"};
  return unavailable(
      "--sass needs nvdisasm or cuobjdump from the CUDA toolkit, and neither is on PATH or in "
      "CUDA_HOME/bin; install the toolkit, or set CUDA_HOME to its folder");
}

Result<std::string> disassemble(const Disassembler& disassembler, const std::string& cubin) {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  if (error) folder = "/tmp";
  TemporaryFile code, output, errors;  // removed at the end, and by a signal that ends the program
  for (TemporaryFile* const file : {&code, &output, &errors}) {
    if (const int reason = file->create(folder / "disassembly")) {
      return cannot_write(folder / "disassembly", reason);
    }
  }
  if (const int reason = write_all(code.descriptor(), cubin)) {
    return cannot_write(code.name(), reason);
  }
  const std::string program = disassembler.program.string();
  const int status = run_and_wait({program, disassembler.option, code.name().string()},
                                  output.descriptor(), errors.descriptor());
  std::string text = text_of(output.name());
  if (status == 0 && !text.empty()) return text;
  const std::string log = text_of(errors.name());
  const std::string_view reason = std::string_view(log).substr(0, log.find('\n'));
  return failed(
      "{} could not disassemble the kernel: {}", printable(program),
      reason.empty() ? fmt::format("exit status {}", status) : one_line(std::string(reason)));
}

}  // namespace attnscope::cli
