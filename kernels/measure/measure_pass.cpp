#include "kernels/measure/measure_pass.h"

#include "kernels/measure/counters/counter_totals.h"
#include "kernels/measure/counters/launch_shapes.h"
#include "kernels/measure/timing/timing.h"

namespace attnscope::kernels {

namespace {

/// Adds the profiler's counters and the launches' kernels, or the reason why there are none.
void add_counters(Session& session, const Pass& pass, CacheState cache, Measurement& measurement) {
  constexpr const char* kAll = "*";
  const auto& profiler = session.profiler();
  if (!profiler) {
    measurement.unavailable_counters[kAll] = profiler.error().message;
    return;
  }
  auto launches = profiler.value()->collect(session.stream(), session.conditioning(), pass, cache);
  if (!launches) {
    measurement.unavailable_counters[kAll] = launches.error().message;
    return;
  }
  for (const auto& [name, reason] : profiler.value()->plan().missing) {
    measurement.unavailable_counters[name] = reason;
  }
  measurement.launches = std::move(launches).value();
  measurement.counters = total_of(measurement.launches);
  if (const auto error = add_launch_shapes(session.stream(), pass, measurement.launches)) {
    measurement.unavailable_counters[Measurement::kKernels] = error->message;
  }
}

}  // namespace

Result<TimeStatistics> quick_time(Session& session, const Pass& pass) {
  constexpr Protocol kQuick{
      .warm_ups = 1, .repeats = 5, .cache = CacheState::warm, .time_budget_s = 0.5};
  return time_pass(session.stream(), session.conditioning(), pass, kQuick, &session.sm_clock());
}

std::optional<Error> time_and_count(Session& session, const Pass& pass, const Protocol& protocol,
                                    Measurement& measurement) {
  const auto time =
      time_pass(session.stream(), session.conditioning(), pass, protocol, &session.sm_clock());
  if (!time) return time.error();
  measurement.time = time.value();
  if (protocol.counters) add_counters(session, pass, protocol.cache, measurement);
  return std::nullopt;
}

}  // namespace attnscope::kernels
