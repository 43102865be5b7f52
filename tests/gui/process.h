/// Programs that a test starts and ends.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace attnscope::app {

/// A folder that is removed with everything in it at the end of its test.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Finished {
  int status = -1;  ///< exit status; -1 when it did not end by itself
  int signal = 0;   ///< the signal that ended it
  std::string output;
  std::string errors;
};

/// A child process with its output in files. Ended with the object if it is still running.
class Process {
 public:
  /// `environment` holds NAME=VALUE settings that override the caller's.
  Process(const std::vector<std::string>& words, const std::vector<std::string>& environment);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return pid_; }
  void send(int signal) const;
  /// Its standard output so far.
  std::string output() const;
  /// Waits until it ends.
  Finished wait();

 private:
  ScratchFolder folder_;
  pid_t pid_ = -1;
};

/// Runs a program to its end.
Finished run(const std::vector<std::string>& words,
             const std::vector<std::string>& environment = {});

std::string read_file(const std::filesystem::path& path);

}  // namespace attnscope::app
