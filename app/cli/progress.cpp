#include "app/cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "app/report/interruption.h"
#include "reference/message_text.h"

namespace attnscope::cli {

namespace {

using std::chrono::milliseconds;

/// Shows a line until it is destroyed.
class ProgressLine {
 public:
  /// Shows the text, and appends `part` as soon as `after` has passed.
  ProgressLine(std::string text, const std::string& part, milliseconds after) {
    const auto start = std::chrono::steady_clock::now();  // the thread may start later
    print(after > milliseconds() ? text : with_part(text, part));
    try {
      clock_ =
          std::jthread([text = std::move(text), part, after, start](const std::stop_token& stop) {
            show_time(stop, with_part(text, part), after, start);
          });
    } catch (const std::system_error&) {
      // No thread could be started, so the line does not count the seconds
    }
  }
  ~ProgressLine() {
    clock_.request_stop();
    if (clock_.joinable()) clock_.join();
    print("");
  }

 private:
  static std::string with_part(const std::string& text, const std::string& part) {
    return text.empty() || part.empty() ? text + part : fmt::format("{}: {}", text, part);
  }
  static void print(std::string_view text) {
    print_to_stderr(fmt::format("\r\033[K{}", text));
    std::fflush(stderr);
  }

  /// Shows the whole line as soon as `after` has passed, then appends the seconds.
  static void show_time(const std::stop_token& stop, const std::string& line, milliseconds after,
                        std::chrono::steady_clock::time_point start) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    const auto is_stopped_at = [&](milliseconds time) {
      stopped.wait_until(lock, stop, start + time, [] { return false; });
      return stop.stop_requested();
    };
    if (after > milliseconds()) {
      if (is_stopped_at(after)) return;
      print(line);
    }
    for (std::chrono::seconds next{1};;) {
      if (is_stopped_at(next)) return;
      next = std::chrono::floor<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
      print(fmt::format("{}, {} s", line, next.count()));
      ++next;
    }
  }

  std::jthread clock_;
};

std::optional<ProgressLine>& shown() {
  static std::optional<ProgressLine> line;
  return line;
}

/// The line of show_progress(), without a part.
std::string& whole_line() {
  static std::string line;
  return line;
}

void show(const std::string& part, milliseconds after) {
  if (::isatty(STDERR_FILENO) == 0) return;
  shown().emplace(whole_line(), part, after);
}

}  // namespace

void show_progress(std::string_view line) {
  whole_line() = one_line(line.substr(0, 100));
  show("", milliseconds());
}

void show_step(std::string_view step) {
  show(one_line(step.substr(0, 100)), milliseconds());
}

void clear_progress() {
  whole_line().clear();
  shown().reset();
}

std::optional<Error> compile_with_progress(Gpu& gpu, const ResolvedRun& run, kernels::RunUse use) {
  constexpr milliseconds kPatience{100};
  const auto start = std::chrono::steady_clock::now();
  const auto progress = [&](int done, int all) {
    if (done == all) return;
    const auto taken = std::chrono::steady_clock::now() - start;
    show(fmt::format("compiling {} of {}", done + 1, all),
         std::max(milliseconds(), kPatience - std::chrono::floor<milliseconds>(taken)));
  };
  auto error = gpu.compile(run, use, {.progress = progress});
  show("", milliseconds());
  return error;
}

}  // namespace attnscope::cli
