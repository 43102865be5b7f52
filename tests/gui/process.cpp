#include "tests/gui/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace attnscope::app {

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "attnscope-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Process::Process(const std::vector<std::string>& words,
                 const std::vector<std::string>& environment) {
  const std::string output = folder_ / "output";
  const std::string errors = folder_ / "errors";
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);

  // Omit the caller's settings that `environment` overrides
  std::vector<char*> settings;
  for (const std::string& each : environment) settings.push_back(const_cast<char*>(each.c_str()));
  for (char** inherited = environ; *inherited != nullptr; ++inherited) {
    const std::string_view setting = *inherited;
    const std::string_view name = setting.substr(0, setting.find('=') + 1);
    const bool is_new = std::ranges::none_of(
        environment, [&](const std::string& each) { return each.starts_with(name); });
    if (is_new) settings.push_back(*inherited);
  }
  settings.push_back(nullptr);

  // The child writes to files instead of the terminal, and obeys Ctrl+C even when a shell runs the
  // tests in the background. Unlike fork(), this does not copy the page tables of the tests, which
  // hold many runs in memory
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(), kNew, 0600);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, errors.c_str(), kNew, 0600);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t interrupts;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  posix_spawnattr_setsigdefault(&attributes, &interrupts);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int failure =
      posix_spawnp(&pid_, argv.front(), &files, &attributes, argv.data(), settings.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0) throw std::runtime_error("cannot start " + words.front());
}

Process::~Process() {
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

void Process::send(int signal) const {
  kill(pid_, signal);
}

std::string Process::output() const {
  return read_file(folder_ / "output");
}

Finished Process::wait() {
  int state = 0;
  waitpid(pid_, &state, 0);
  pid_ = -1;
  return {WIFEXITED(state) ? WEXITSTATUS(state) : -1, WIFSIGNALED(state) ? WTERMSIG(state) : 0,
          read_file(folder_ / "output"), read_file(folder_ / "errors")};
}

Finished run(const std::vector<std::string>& words, const std::vector<std::string>& environment) {
  return Process(words, environment).wait();
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  std::string text(static_cast<std::size_t>(file.tellg()), ' ');
  file.seekg(0);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace attnscope::app
