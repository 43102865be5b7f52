#include "kernels/measure/calibrate/curve_analysis.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/check.h"

namespace attnscope::kernels {

namespace {

using Table = std::vector<std::vector<double>>;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The table after subtracting the means of its rows, then those of its columns.
Table centered(Table table) {
  for (std::vector<double>& row : table) {
    const double mean = mean_of(row);
    for (double& value : row) value -= mean;
  }
  for (std::size_t line = 0; line < table.front().size(); ++line) {
    double sum = 0;
    for (const auto& row : table) sum += row[line];
    for (auto& row : table) row[line] -= sum / static_cast<double>(table.size());
  }
  return table;
}

}  // namespace

Index shared_chunks(Index wanted, Index sms) {
  Index chunks = std::max(wanted, Index{1});
  while (std::gcd(chunks, sms) != 1) ++chunks;
  return chunks;
}

std::optional<double> where_risen(const std::vector<double>& x, const std::vector<double>& y,
                                  double low, double high, double fraction) {
  ATTNSCOPE_CHECK(x.size(), ==, y.size());
  const double threshold = low + fraction * (high - low);
  const auto reaches_threshold = [&](double before, double after) {
    return before < threshold && after >= threshold;
  };
  const auto below = std::ranges::adjacent_find(y, reaches_threshold);
  if (below == y.end() || !(high > low)) return std::nullopt;
  const auto k = static_cast<std::size_t>(below - y.begin()) + 1;
  const double share = (threshold - y[k - 1]) / (y[k] - y[k - 1]);
  return x[k - 1] + share * (x[k] - x[k - 1]);
}

std::vector<int> halves_of(const Table& latencies) {
  ATTNSCOPE_CHECK(latencies.size(), >=, std::size_t{1});
  const Table table = centered(latencies);
  const std::size_t sms = table.size(), lines = table.front().size();

  // Power iteration, from the row that differs most from the mean
  const auto length = [](const std::vector<double>& row) {
    return std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
  };
  std::vector<double> component = *std::ranges::max_element(table, {}, length);
  std::vector<double> scores(sms);
  constexpr int kIterations = 20;
  for (int i = 0; i < kIterations; ++i) {
    for (std::size_t s = 0; s < sms; ++s) {
      scores[s] = std::inner_product(component.begin(), component.end(), table[s].begin(), 0.0);
    }
    std::ranges::fill(component, 0.0);
    for (std::size_t s = 0; s < sms; ++s) {
      for (std::size_t line = 0; line < lines; ++line)
        component[line] += scores[s] * table[s][line];
    }
    const double most = std::abs(
        *std::ranges::max_element(component, {}, [](double value) { return std::abs(value); }));
    if (!(most > 0)) break;
    for (double& value : component) value /= most;
  }

  std::vector<int> halves(sms);
  for (std::size_t s = 0; s < sms; ++s) halves[s] = scores[s] < 0 ? 1 : 0;
  const bool is_split = std::ranges::count(halves, 1) > 0 && std::ranges::count(halves, 0) > 0;
  for (std::size_t s = 0; !is_split && s < sms; ++s) halves[s] = static_cast<int>(s % 2);
  return halves;
}

}  // namespace attnscope::kernels
