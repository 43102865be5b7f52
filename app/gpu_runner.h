/// Runs the real kernels in the background and collects what was measured.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/measurements.h"

namespace attnscope::app {

class GpuRunner {
 public:
  /// Opens the kernel library on the thread of its own. `on_news` is called on that thread.
  explicit GpuRunner(std::function<void()> on_news);
  ~GpuRunner();
  GpuRunner(const GpuRunner&) = delete;
  GpuRunner& operator=(const GpuRunner&) = delete;

  enum class State { opening, unavailable, idle, running };

  State state() const;
  /// Name of the GPU; empty while opening or when unavailable.
  std::string gpu_name() const;
  /// Why no GPU is available, in one line.
  std::string reason() const;

  /// Measures the kernel of the choice; ignored unless idle.
  void run(const RunSpec& choice);
  /// What was measured since the last call, errors included.
  std::vector<MeasuredRun> take_results();

 private:
  void work();

  std::function<void()> on_news_;
  mutable std::mutex mutex_;
  std::condition_variable wanted_;
  State state_ = State::opening;
  std::string gpu_name_;
  std::string reason_;
  std::optional<RunSpec> waiting_;
  std::vector<MeasuredRun> results_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace attnscope::app
