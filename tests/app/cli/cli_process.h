/// Runs attnscope-cli as a process, as a user would, or the program that a test is compiled with
/// instead (ATTNSCOPE_CLI_PROGRAM).
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace attnscope {

struct CliOutcome {
  int status = -1;  ///< exit status; -1 when a signal ended the process
  std::string out;
  std::string err;

  /// The number of lines on standard error.
  int error_lines() const;
};

using Environment = std::map<std::string, std::string>;

/// Runs the program in `directory`, with `words` split at spaces as its arguments.
CliOutcome run_cli(const std::string& words, const Environment& environment = {},
                   const std::filesystem::path& directory = {});
/// The same with arguments that may contain spaces or be empty.
CliOutcome run_cli(const std::vector<std::string>& arguments, const Environment& environment = {},
                   const std::filesystem::path& directory = {});

/// The same with a terminal as standard error.
CliOutcome run_cli_on_terminal(const std::string& words);

/// The document of `words --json -`, which must succeed and print nothing else.
nlohmann::ordered_json answered(const std::string& words);

/// Hides the GPU, so that a machine with one behaves as if it had none.
Environment without_gpu();

/// A fresh folder for one test, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  const std::filesystem::path& path() const { return path_; }
  /// Path of a file in it, as text.
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file in it and returns its path.
  std::string write(const std::string& name, const std::string& text) const;
  /// Names of everything in it, sorted.
  std::vector<std::string> names() const;

 private:
  std::filesystem::path path_;
};

std::string read_text(const std::filesystem::path& path);

/// The outcome of a shell command in the folder, with the program in place of "CLI"; its streams
/// are the files "out" and "err" there.
CliOutcome run_shell(std::string command, const ScratchFolder& folder);

/// The document of `simulate words --json -`, which must succeed and print nothing else.
nlohmann::ordered_json simulated(const std::string& words);

namespace test {

/// Expects a rejected request: exit status 2, one line on standard error that contains `part`,
/// nothing on standard output.
void expect_refused(const CliOutcome& outcome, const std::string& part);
void expect_refused(const std::string& words, const std::string& part);

}  // namespace test

}  // namespace attnscope
