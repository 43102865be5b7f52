#include "kernels/measure/timing/statistics.h"

#include <algorithm>

#include "reference/check.h"

namespace attnscope::kernels {

TimeStatistics statistics_of(std::vector<double> samples_s) {
  ATTNSCOPE_CHECK(samples_s.size(), >=, std::size_t{1});
  const auto [least, most] = std::ranges::minmax(samples_s);
  const auto count = static_cast<int>(samples_s.size());
  return {.min_s = least, .median_s = median_of(std::move(samples_s)), .max_s = most, .n = count};
}

double median_of(std::vector<double> samples) {
  ATTNSCOPE_CHECK(samples.size(), >=, std::size_t{1});
  std::ranges::sort(samples);
  const std::size_t middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : 0.5 * (samples[middle - 1] + samples[middle]);
}

std::optional<double> mean_sm_clock_hz(std::span<const SmClockReading> before,
                                       std::span<const SmClockReading> after) {
  std::vector<double> clocks_hz;
  for (const SmClockReading& end : after) {
    const auto begin = std::ranges::find(before, end.sm, &SmClockReading::sm);
    if (begin == before.end()) continue;
    if (end.cycles <= begin->cycles || end.ns <= begin->ns) continue;
    clocks_hz.push_back(static_cast<double>(end.cycles - begin->cycles) /
                        (static_cast<double>(end.ns - begin->ns) * 1e-9));
  }
  if (clocks_hz.empty()) return std::nullopt;
  return median_of(std::move(clocks_hz));
}

}  // namespace attnscope::kernels
