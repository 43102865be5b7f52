#include "app/cli/interruption.h"

#include <fmt/core.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>
#include <mutex>
#include <thread>

#include "app/report/standard_streams.h"
#include "reference/files/temporary_file.h"
#include "reference/one_line.h"

namespace attnscope::cli {

namespace {

/// Shared with the signals' thread, which outlives every static object.
struct Saved {
  std::timed_mutex saving;  ///< held while a result is saved and `said` changes
  std::map<SavedResults, std::string> said;

  std::string line() const {
    std::string line;
    for (const auto& [results, text] : said) line += (line.empty() ? "" : "; ") + text;
    return line.empty() ? "no result is saved, and files are as they were" : line;
  }
};

Saved& saved() {
  static auto* state = new Saved;
  return *state;
}

[[noreturn]] void end_by(int signal) {
  constexpr std::chrono::milliseconds kLongest{500};
  const bool is_complete = saved().saving.try_lock_for(kLongest);  // for good
  abandon_temporary_files();
  const std::string said =
      is_complete ? saved().line() : "the last result could not be saved in time";
  const char* erase_progress = ::isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "";
  print_to_stderr(fmt::format("{}interrupted: {}\n", erase_progress, one_line(said)));

  std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  std::raise(signal);
  ::_exit(1);
}

}  // namespace

void end_on_signals() {
  std::signal(SIGXFSZ, SIG_IGN);
  sigset_t awaited;
  sigemptyset(&awaited);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction current {};
    const bool is_ignored =
        ::sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
    if (!is_ignored) sigaddset(&awaited, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &awaited, nullptr);
  saved();  // exists before the thread does
  std::thread([awaited] {
    int signal = 0;
    while (sigwait(&awaited, &signal) != 0) {
    }
    end_by(signal);
  }).detach();
}

void save_before_signals(SavedResults results, const std::function<std::string()>& step) {
  const std::lock_guard lock(saved().saving);
  saved().said[results] = step();
}

}  // namespace attnscope::cli
