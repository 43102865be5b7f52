#include "kernels/measure/timing/timing.h"

#include <algorithm>
#include <chrono>

#include "kernels/measure/timing/statistics.h"

namespace attnscope::kernels {

Result<TimeStatistics> time_pass(const Stream& stream, const Conditioning& conditioning,
                                 const Pass& pass, const Protocol& protocol,
                                 const SmClock* sm_clock) {
  // Compiles the kernels, so that neither the time budget nor a sample includes compilation
  if (sm_clock != nullptr) sm_clock->read_before_pass(stream);
  if (auto error = pass({})) return *error;
  stream.wait();

  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto out_of_time = [&] {
    return std::chrono::duration<double>(Clock::now() - begin).count() > protocol.time_budget_s;
  };

  // Warm up, so that the chip's clocks settle
  for (int i = 0; i < protocol.warm_ups; ++i) {
    if (auto error = pass({})) return *error;
    stream.wait();
    if (out_of_time()) break;
  }

  // Time each repeat separately
  constexpr int kLeastRepeats = 3;
  Event start;
  Event stop;
  std::vector<double> samples_s, clocks_hz;
  for (int i = 0; i < std::max(protocol.repeats, 1); ++i) {
    if (i >= kLeastRepeats && out_of_time()) break;
    if (protocol.cache == CacheState::cold) conditioning.sweep_cache(stream);
    conditioning.give_head_start(stream);
    if (sm_clock != nullptr) sm_clock->read_before_pass(stream);
    start.record(stream);
    if (auto error = pass({})) return *error;
    stop.record(stream);
    if (sm_clock != nullptr) sm_clock->read_after_pass(stream);
    stop.wait();
    samples_s.push_back(stop.seconds_since(start));
    const auto clock_hz = sm_clock != nullptr ? sm_clock->mean_hz() : std::nullopt;
    if (clock_hz) clocks_hz.push_back(*clock_hz);
  }
  TimeStatistics time = statistics_of(std::move(samples_s));
  if (!clocks_hz.empty()) time.sm_clock_hz = median_of(std::move(clocks_hz));
  return time;
}

}  // namespace attnscope::kernels
