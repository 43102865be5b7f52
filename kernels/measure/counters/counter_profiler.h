/// Reads hardware counters of each launch of a pass with CUPTI's range profiler: user ranges, user
/// replay, one range per launch.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/launch.h"
#include "kernels/measure/counters/counter_plan.h"
#include "kernels/measure/timing/conditioning.h"
#include "kernels/recording/measurement.h"
#include "reference/result.h"

namespace attnscope::kernels {

class HostObject;  // kernels/measure/counters/host_object.h

class CounterProfiler {
 public:
  /// Plans the counters for the current GPU and runs the profiler once on a sweep, without results.
  /// unavailable, with a remedy, if CUPTI or the permission is missing.
  static Result<std::unique_ptr<CounterProfiler>> create(int device, const Stream& stream,
                                                         const Conditioning& conditioning);

  /// Runs the pass once for each hardware pass of each group, each run after its conditioning.
  Result<std::vector<LaunchCounters>> collect(const Stream& stream,
                                              const Conditioning& conditioning, const Pass& pass,
                                              CacheState cache) const;

  const CounterPlan& plan() const { return plan_; }

 private:
  CounterProfiler(const CuptiLibrary& cupti, CounterPlan plan,
                  std::shared_ptr<const HostObject> host)
      : cupti_(cupti), plan_(std::move(plan)), host_(std::move(host)) {}

  const CuptiLibrary& cupti_;
  CounterPlan plan_;
  std::shared_ptr<const HostObject> host_;  ///< kept, since creating one reads the chip's
                                            ///< description
};

}  // namespace attnscope::kernels
