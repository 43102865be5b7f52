/// Runs the real kernels in the background and collects the measurements.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/jobs/measurements.h"

namespace attnscope {
class Gpu;
}

namespace attnscope::app {

class GpuRunner {
 public:
  /// Opens the GPU on a separate thread; later runs also use separate threads. `on_news` is called
  /// on those threads.
  explicit GpuRunner(std::function<void()> on_news);
  GpuRunner(const GpuRunner&) = delete;
  GpuRunner& operator=(const GpuRunner&) = delete;

  enum class State { opening, unavailable, idle, running };

  struct Status {
    State state = State::opening;
    std::string gpu_name;                    ///< empty while opening or when unavailable
    std::optional<std::string> description;  ///< its name in assets/gpus, if it is one of them
    std::string reason;                      ///< why no GPU is available, in one line
    /// While running: the number of kernels to compile first, and how many are ready.
    int kernels = 0, compiled = 0;
    int waiting = 0;  ///< runs that wait for the one in progress
  };
  Status status() const;

  ~GpuRunner();

  /// Measures the kernel of the choice, after the runs that were requested before it; ignored
  /// without a GPU.
  void run(const RunSpec& choice);
  /// Cancels a run whose kernels are still being compiled, without a measurement; the next begins.
  void cancel() { cancel_ = true; }
  /// The measurements since the last call, errors included.
  std::vector<MeasuredRun> take_results();

 private:
  void open();
  void measure_all(RunSpec next);
  void measure(const RunSpec& choice);

  std::function<void()> on_news_;
  // Guards the status, the results and, until the status is ready, the GPU's pointer: nothing
  // writes the pointer after that, so the work reads it without the mutex
  mutable std::mutex mutex_;
  Status status_;
  std::shared_ptr<Gpu> gpu_;
  std::vector<MeasuredRun> results_;
  std::deque<RunSpec> waiting_;
  std::atomic<bool> cancel_ = false;
  std::future<void> work_;  // last: its destructor waits for work that uses the members above
};

}  // namespace attnscope::app
