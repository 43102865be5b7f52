/// The one thread that owns the GPU's context and its profiler. Work from other threads runs on it
/// one piece after the other, while its caller waits.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace attnscope::kernels {

class GpuThread {
 public:
  GpuThread();
  ~GpuThread();  ///< finishes what was begun
  GpuThread(const GpuThread&) = delete;
  GpuThread& operator=(const GpuThread&) = delete;

  /// Runs the work on the thread and waits for it; what it throws is thrown here.
  void run(const std::function<void()>& work);

 private:
  void loop();

  std::mutex callers_;  ///< held by the caller whose work runs
  std::mutex mutex_;    ///< guards what follows
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;
  std::exception_ptr thrown_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace attnscope::kernels
