#include "kernels/measure/counters/counter_totals.h"

namespace attnscope::kernels {

bool is_counted(std::string_view launch) {
  return launch != "initialise" && launch != "lse";
}

Counters total_of(const std::vector<LaunchCounters>& launches) {
  Counters total;
  double total_time = 0.0;
  for (const LaunchCounters& launch : launches) {
    if (!launch.counted) continue;
    const auto time = launch.counters.find(counter::kTimeNs);
    const double weight = time == launch.counters.end() ? 0.0 : time->second;
    total_time += weight;
    for (const auto& [name, value] : launch.counters) {
      const bool is_share = name.find(".pct") != std::string::npos;
      total[name] += is_share ? value * weight : value;
    }
  }
  for (auto& [name, value] : total) {
    if (name.find(".pct") != std::string::npos && total_time > 0.0) value /= total_time;
  }
  return total;
}

}  // namespace attnscope::kernels
