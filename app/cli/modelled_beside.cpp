#include "app/cli/modelled_beside.h"

#include <fmt/core.h>

#include "app/cli/table.h"
#include "app/report/comparison_report.h"
#include "app/report/launch_words.h"
#include "app/report/number_text.h"
#include "reference/one_line.h"

namespace attnscope::cli {

Result<GpuDescription> gpu_beside(const GivenOptions& given, const DeviceInfo& device) {
  if (given.has("gpu")) return parse_gpu(given);
  const auto fitting = find_gpu_of(device);
  if (!fitting) {
    return unavailable(
        fmt::format("no shipped description fits the GPU '{}'; name one with --gpu", device.name));
  }
  return parse_gpu(given, *fitting);
}

std::string comparison_table(const Comparison& comparison, std::string_view kind) {
  if (!comparison.unavailable.empty()) {
    return fmt::format("  unavailable: {}\n", one_line(comparison.unavailable));
  }
  std::vector<std::vector<std::string>> lines = {
      {"  level", "quantity", "modelled", std::string(kind), "gap", "reason"}};
  for (const ComparisonLine& line : comparison.lines) {
    std::string level(to_string(line.level));
    if (!line.launch.empty()) level += fmt::format(", {}", launch_words(line.launch));
    lines.push_back({"  " + level, line.quantity, quantity_text(line, line.modelled),
                     line.recorded ? quantity_text(line, *line.recorded) : "unavailable",
                     line.gap_percent ? gap_percent_text(*line.gap_percent) : "-",
                     line.recorded ? line.reason : line.unavailable});
  }
  return table_text(lines, 6);
}

}  // namespace attnscope::cli
