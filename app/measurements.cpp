#include "app/measurements.h"

#include <fmt/format.h>

namespace attnscope::app {

std::string Provenance::describe() const {
  std::string text = fmt::format("{} on {}", to_string(kind), gpu);
  if (!date.empty()) text += ", " + date;
  if (!driver.empty()) text += ", driver " + driver;
  if (!commit.empty()) text += ", commit " + commit;
  return text;
}

std::optional<double> MeasuredRun::counter(std::string_view name) const {
  const auto found = counters.find(name);
  if (found == counters.end()) return std::nullopt;
  return found->second;
}

std::optional<double> MeasuredRun::requested_read_bytes() const {
  return counter("l1tex__m_xbar2l1tex_read_bytes.sum");
}
std::optional<double> MeasuredRun::requested_write_bytes() const {
  return counter("l1tex__m_l1tex2xbar_write_bytes.sum");
}
std::optional<double> MeasuredRun::dram_read_bytes() const {
  return counter("dram__bytes_read.sum");
}
std::optional<double> MeasuredRun::dram_write_bytes() const {
  return counter("dram__bytes_write.sum");
}

const MeasuredRun* Measurements::find(const AttentionProblem& problem, std::string_view algorithm,
                                      std::string_view pass, const Tiling& tiling,
                                      Carry carry) const {
  const auto search = [&](const std::vector<MeasuredRun>& runs) {
    const MeasuredRun* best = nullptr;
    for (const MeasuredRun& run : runs) {
      if (!(run.problem == problem) || run.algorithm != algorithm || run.pass != pass) continue;
      if (run.carry != carry) continue;
      const bool same_tiling = run.tiling == tiling;
      const bool best_has_it = best != nullptr && best->tiling == tiling;
      if (same_tiling || !best_has_it) best = &run;
    }
    return best;
  };
  const MeasuredRun* found = search(measured);
  return found != nullptr ? found : search(recorded);
}

}  // namespace attnscope::app
