/// The profiler in builds without CUPTI's headers.
#include "kernels/measure/counters/counter_profiler.h"
#include "kernels/measure/counters/launch_shapes.h"

namespace attnscope::kernels {

Result<std::unique_ptr<CounterProfiler>> CounterProfiler::create(int, const Stream&,
                                                                 const Conditioning&) {
  return unavailable(
      "no hardware counters: this build was made without CUPTI's headers; install CUDA 12.6 update "
      "2 or newer and rebuild");
}

Result<std::vector<LaunchCounters>> CounterProfiler::collect(const Stream&, const Conditioning&,
                                                             const Pass&, CacheState) const {
  return unavailable("no hardware counters in this build");
}

std::optional<Error> add_launch_shapes(const Stream&, const Pass&, std::vector<LaunchCounters>&) {
  return unavailable("the kernels of launches are not recorded in this build");
}

}  // namespace attnscope::kernels
