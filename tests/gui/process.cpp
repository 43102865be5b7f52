#include "tests/gui/process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

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

  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("cannot start " + words.front());
  if (pid_ > 0) return;

  // The child writes to files instead of the terminal, obeys Ctrl+C even when a shell runs the
  // tests in the background, and then becomes the program
  signal(SIGINT, SIG_DFL);
  const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const std::string& setting : environment) {
    const auto equals = setting.find('=');
    setenv(setting.substr(0, equals).c_str(), setting.substr(equals + 1).c_str(), 1);
  }
  execvp(argv.front(), argv.data());
  _exit(127);
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
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace attnscope::app
