/// How work on another thread reports its progress, and is informed of its cancellation.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <new>
#include <type_traits>

#include "reference/result.h"

namespace attnscope::app {

/// Made when the work begins.
class WorkControl {
 public:
  void set_progress(double fraction) { progress_.store(fraction); }
  double progress() const { return progress_.load(); }
  void cancel() { cancelled_.store(true); }
  bool cancelled() const { return cancelled_.load(); }
  const std::atomic<bool>& cancel_flag() const { return cancelled_; }
  double running_for_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }

 private:
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::atomic<double> progress_{0.0};
  std::atomic<bool> cancelled_{false};
};

/// The Result of the work; exceptions become errors, with the message `without_memory` when memory
/// runs out.
template <typename Work>
std::invoke_result_t<Work> result_of(const Work& work, const char* without_memory) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return failed(without_memory);
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}

}  // namespace attnscope::app
