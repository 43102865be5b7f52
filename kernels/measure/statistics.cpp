#include "kernels/measure/statistics.h"

#include <algorithm>

#include "reference/check.h"

namespace attnscope::kernels {

TimeStatistics statistics_of(std::vector<double> samples_s) {
  ATTNSCOPE_CHECK(samples_s.size(), >=, std::size_t{1});
  const auto [least, most] = std::ranges::minmax(samples_s);
  const auto count = static_cast<int>(samples_s.size());
  return {least, median_of(std::move(samples_s)), most, count};
}

double median_of(std::vector<double> samples) {
  ATTNSCOPE_CHECK(samples.size(), >=, std::size_t{1});
  std::ranges::sort(samples);
  const std::size_t middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : 0.5 * (samples[middle - 1] + samples[middle]);
}

}  // namespace attnscope::kernels
