/// Waiting for another thread or program, however busy the machine is.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace attnscope::test {

/// A test that has waited this long fails: what it waits for must have hung.
inline constexpr std::chrono::minutes kLongestWait{3};

/// Calls `done` until it returns true, with pauses of 1 to 16 ms. Returns false if that takes
/// longer than kLongestWait.
template <typename Done>
bool wait_until(const Done& done) {
  using std::chrono::milliseconds;
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  while (!done()) {
    const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    if (waited > kLongestWait) return false;
    // Each call takes processor time from the work it waits for, so the pauses grow with the wait
    std::this_thread::sleep_for(std::clamp(waited / 8, milliseconds(1), milliseconds(16)));
  }
  return true;
}

/// The same for what a child process does: returns false, too, if the process ends without it.
template <typename Done>
bool wait_until(const Done& done, pid_t child) {
  bool is_done = false;
  wait_until([&] {
    siginfo_t ended{};
    // The status stays available to waitpid()
    ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT);
    is_done = done();
    return is_done || ended.si_pid != 0;
  });
  return is_done;
}

/// Updates the app, as frames do, until it has nothing left to do. Returns false if that takes
/// longer than kLongestWait.
template <typename App>
bool update_until_settled(App& app) {
  return wait_until([&] {
    app.update(0.0);
    return app.settled();
  });
}

}  // namespace attnscope::test
