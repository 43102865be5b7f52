/// The single thread that owns the GPU's context and its profiler. It runs work from other threads,
/// one item at a time, while the caller waits.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace attnscope::kernels {

class GpuThread {
 public:
  GpuThread();
  ~GpuThread();  ///< waits for the current work
  GpuThread(const GpuThread&) = delete;
  GpuThread& operator=(const GpuThread&) = delete;

  /// Runs the work on the thread and waits for it; rethrows its exceptions here.
  void run(const std::function<void()>& work);

 private:
  void loop();

  std::mutex callers_;  ///< held by the caller whose work is running
  std::mutex mutex_;    ///< guards the members below
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;
  std::exception_ptr thrown_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace attnscope::kernels
