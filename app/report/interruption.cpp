#include "app/report/interruption.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "reference/files/temporary_file.h"
#include "reference/message_text.h"

namespace attnscope {

namespace {

/// State shared with the signals' thread, which outlives every static object.
struct Saved {
  std::timed_mutex saving;  ///< held while a result is saved
  std::mutex changing;      ///< held, for a moment, while `said` changes
  std::map<SavedResults, std::string> said;

  std::string line() {
    const std::lock_guard lock(changing);
    std::string line;
    for (const auto& [results, text] : said) line += (line.empty() ? "" : "; ") + text;
    return line.empty() ? "no output file is incomplete" : line;
  }
};

Saved& saved() {
  static auto* state = new Saved;
  return *state;
}

/// Writes what standard error accepts without blocking: a full pipe that nobody reads must not keep
/// the program from ending.
void print_without_waiting(std::string_view text) {
  pollfd stream{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&stream, 1, 0) != 1 || (stream.revents & POLLOUT) == 0) return;
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

[[noreturn]] void end_by(int signal) {
  constexpr std::chrono::milliseconds kLongest{500};
  const bool is_complete = saved().saving.try_lock_for(kLongest);  // never unlocked
  remove_temporary_files_for_exit();
  std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);

  const char* more = is_complete ? "" : "; the last result could not be saved in time";
  const char* erase_progress = ::isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "";
  print_without_waiting(
      fmt::format("{}interrupted: {}\n", erase_progress, one_line(saved().line() + more)));
  std::raise(signal);
  ::_exit(1);
}

/// Opens the standard streams that the caller of the program closed, so that no file opened later
/// gets their numbers and receives their text. Reading or writing these streams fails.
void hold_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) != -1) continue;
    // open() returns the lowest free number, which is this one; opened in the wrong direction, it
    // fails at every use
    const int opened = ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened != -1 && opened != descriptor) ::close(opened);
  }
}

}  // namespace

void end_on_signals() {
  std::signal(SIGXFSZ, SIG_IGN);
  sigset_t awaited;
  sigemptyset(&awaited);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    struct sigaction current {};
    const bool is_ignored =
        ::sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN;
    if (!is_ignored) sigaddset(&awaited, signal);
  }
  ::pthread_sigmask(SIG_BLOCK, &awaited, nullptr);
  saved();  // created before the thread starts
  try {
    std::thread([awaited] {
      int signal = 0;
      while (sigwait(&awaited, &signal) != 0) {
      }
      end_by(signal);
    }).detach();
  } catch (const std::system_error&) {  // no thread could be started: a signal ends the program
                                        // silently
    ::pthread_sigmask(SIG_UNBLOCK, &awaited, nullptr);
  }
}

void save_before_signals(SavedResults results, const std::function<std::string()>& step) {
  const std::lock_guard saving(saved().saving);
  std::string said = step();
  const std::lock_guard changing(saved().changing);
  saved().said[results] = std::move(said);
}

int exit_status_of(const std::function<int()>& work, int (*report)(const Error& error)) {
  hold_standard_streams();
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return report(failed("this machine has too little memory for the request"));
  } catch (const std::system_error& error) {
    return report(failed("cannot start a thread or get another resource: {}", error.what()));
  } catch (const std::exception& exception) {
    return report(failed("internal error: {}", exception.what()));
  }
}

void print_to_stderr(const std::string& text) {
  std::fputs(text.c_str(), stderr);
}

}  // namespace attnscope
