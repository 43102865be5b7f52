#include "app/cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "app/report/interruption.h"
#include "reference/one_line.h"

namespace attnscope::cli {

namespace {

/// Shows a line until it is destroyed.
class ProgressLine {
 public:
  explicit ProgressLine(std::string_view text) : text_(one_line(text.substr(0, 100))) {
    print(text_);
    clock_ = std::jthread([this](const std::stop_token& stop) { add_seconds(stop); });
  }
  ~ProgressLine() {
    clock_.request_stop();
    clock_.join();
    print("");
  }

 private:
  static void print(std::string_view text) {
    print_to_stderr(fmt::format("\r\033[K{}", text));
    std::fflush(stderr);
  }

  void add_seconds(const std::stop_token& stop) const {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    const auto start = std::chrono::steady_clock::now();
    for (std::chrono::seconds next{1};;) {
      stopped.wait_until(lock, stop, start + next, [] { return false; });
      if (stop.stop_requested()) return;
      next = std::chrono::floor<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
      print(fmt::format("{}, {} s", text_, next.count()));
      ++next;
    }
  }

  std::string text_;
  std::jthread clock_;
};

std::optional<ProgressLine>& shown() {
  static std::optional<ProgressLine> line;
  return line;
}

}  // namespace

void show_progress(std::string_view line) {
  if (::isatty(STDERR_FILENO) == 0) return;
  shown().emplace(line);
}

void clear_progress() {
  shown().reset();
}

}  // namespace attnscope::cli
