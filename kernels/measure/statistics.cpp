#include "kernels/measure/statistics.h"

#include <algorithm>

#include "reference/check.h"

namespace attnscope::kernels {

TimeStatistics statistics_of(std::vector<double> samples_s) {
  ATTNSCOPE_CHECK(samples_s.size(), >=, std::size_t{1});
  std::sort(samples_s.begin(), samples_s.end());
  const std::size_t middle = samples_s.size() / 2;
  const double median = samples_s.size() % 2 == 1
                            ? samples_s[middle]
                            : 0.5 * (samples_s[middle - 1] + samples_s[middle]);
  return {samples_s.front(), median, samples_s.back(), static_cast<int>(samples_s.size())};
}

}  // namespace attnscope::kernels
