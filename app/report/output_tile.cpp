#include "app/report/output_tile.h"

#include <cmath>

namespace attnscope {

std::optional<double> launch_counter(const RecordingRow& run, std::string_view launch,
                                     std::string_view counter_name) {
  if (!run.measurement) return std::nullopt;
  for (const LaunchCounters& recorded : run.measurement->launches) {
    if (recorded.name != launch) continue;
    const auto found = recorded.counters.find(counter_name);
    if (found != recorded.counters.end()) return found->second;
  }
  return std::nullopt;
}

std::optional<double> output_V_reads(const RecordingRow& run) {
  const auto output_read = launch_counter(run, "output", counter::kRequestedReadBytes);
  if (!output_read) return std::nullopt;
  const AttentionProblem& problem = run.run.problem;
  const double heads = static_cast<double>(problem.batch * problem.heads);
  const double e = static_cast<double>(size_bytes(problem.dtype));
  const double P_bytes = heads * static_cast<double>(problem.N * problem.N_kv) * e;
  const double V_bytes = heads * static_cast<double>(problem.N_kv * problem.d) * e;
  if (*output_read <= P_bytes) return std::nullopt;
  return (*output_read - P_bytes) / V_bytes;
}

std::optional<Index> fitted_output_rows(const RecordingRow& run) {
  constexpr double kWholeWithin = 0.01;
  constexpr Index kLeastRows = 16;
  const auto reads = output_V_reads(run);
  if (!reads) return std::nullopt;
  const double whole = std::round(*reads);
  if (!(whole >= 1.0) || !(std::abs(*reads / whole - 1.0) <= kWholeWithin)) return std::nullopt;
  const Index rows = ceil_div(run.run.problem.N, static_cast<Index>(whole));
  return rows >= kLeastRows ? std::optional(rows) : std::nullopt;
}

}  // namespace attnscope
