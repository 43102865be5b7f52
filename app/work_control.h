/// How work on another thread tells how far it is, and hears that it is no longer wanted.
#pragma once

#include <atomic>

namespace attnscope::app {

class WorkControl {
 public:
  void set_progress(double fraction) { progress_.store(fraction); }
  double progress() const { return progress_.load(); }
  void cancel() { cancelled_.store(true); }
  bool cancelled() const { return cancelled_.load(); }
  const std::atomic<bool>& cancel_flag() const { return cancelled_; }

 private:
  std::atomic<double> progress_{0.0};
  std::atomic<bool> cancelled_{false};
};

}  // namespace attnscope::app
