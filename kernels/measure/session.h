/// A GPU in use: its thread, its memory for conditioning and clock readings, and its profiler.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "kernels/launch_resources.h"
#include "kernels/measure/counters/counter_profiler.h"
#include "kernels/measure/gpu_thread.h"
#include "kernels/measure/timing/conditioning.h"
#include "kernels/measure/timing/sm_clock.h"
#include "kernels/recording/device_info.h"
#include "kernels/run_programs.h"
#include "reference/result.h"

namespace attnscope::kernels {

class Session {
 public:
  static Result<std::unique_ptr<Session>> open(int device);
  ~Session();

  const DeviceInfo& device() const { return info_; }
  const ProgramTarget& target() const { return target_; }

  /// Runs the work on the GPU's thread and waits. Exceptions become an Error: CUDA's "out of
  /// memory" and other failures are `failed`. Once the context is lost, this and every later call
  /// returns `failed` with the first cause, and lost() is true.
  std::optional<Error> run(const std::function<std::optional<Error>()>& work);
  bool lost() const { return lost_; }

  /// For the work inside run().
  const Stream& stream() const { return *stream_; }
  const Conditioning& conditioning() const { return *conditioning_; }
  const SmClock& sm_clock() const { return *sm_clock_; }
  LaunchResources& resources() const { return *resources_; }
  /// Created on first use; an unavailable profiler remains unavailable for the session.
  const Result<std::unique_ptr<CounterProfiler>>& profiler();

 private:
  Session() = default;

  std::optional<Error> guarded(const std::function<std::optional<Error>()>& work);
  std::optional<Error> check_context(std::optional<Error> error);

  int device_ = 0;
  DeviceInfo info_;
  ProgramTarget target_;
  std::atomic<bool> lost_ = false;  ///< read on any thread
  std::string lost_because_;        ///< used on the GPU's thread
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<LaunchResources> resources_;
  std::unique_ptr<Conditioning> conditioning_;
  std::unique_ptr<SmClock> sm_clock_;
  std::optional<Result<std::unique_ptr<CounterProfiler>>> profiler_;
  GpuThread thread_;
};

}  // namespace attnscope::kernels
