#include "app/cli/modelled_beside.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/cli/table.h"
#include "app/report/comparison_report.h"
#include "app/report/number_text.h"
#include "reference/one_line.h"
#include "sim/resolve.h"

namespace attnscope::cli {

Result<GpuDescription> gpu_beside(const GivenOptions& given, const RunSpec& spec,
                                  const DeviceInfo& device) {
  RunSpec beside = spec;
  if (!given.has("gpu")) {
    const auto fitting = find_gpu_of(device);
    if (!fitting) {
      return unavailable(fmt::format("no shipped description fits the GPU '{}'; name one with {}",
                                     device.name, field_name("gpu")));
    }
    beside.gpu = *fitting;
  }
  return gpu_of(beside);
}

namespace {

std::string recorded_text(const ComparisonLine& line) {
  return line.recorded ? quantity_text(line, *line.recorded) : "unavailable";
}

/// A run that the model differs from, alone and under the name of its GPU.
std::string recording_table(const Comparison& comparison, std::string_view kind) {
  Lines lines = {{"  level", "quantity",
                  fmt::format("{} on {}", kind, one_line(comparison.on.device.name)),
                  "unavailable"}};
  for (const ComparisonLine& line : comparison.lines) {
    lines.push_back(
        {"  " + level_text(line), line.quantity, recorded_text(line), line.unavailable});
  }
  const bool complete = std::ranges::all_of(
      comparison.lines, [](const ComparisonLine& line) { return line.unavailable.empty(); });
  if (complete) {
    for (std::vector<std::string>& line : lines) line.pop_back();
  }
  return fmt::format("  no gap: {}\n{}", one_line(comparison.stands_alone), table_text(lines, 2));
}

}  // namespace

std::string comparison_table(const Comparison& comparison, std::string_view kind) {
  if (!comparison.unavailable.empty()) {
    return fmt::format("  unavailable: {}\n", one_line(comparison.unavailable));
  }
  if (!comparison.stands_alone.empty()) return recording_table(comparison, kind);
  Lines lines = {{"  level", "quantity", "modelled", std::string(kind), "gap", "reason"}};
  for (const ComparisonLine& line : comparison.lines) {
    lines.push_back({"  " + level_text(line), line.quantity, quantity_text(line, *line.modelled),
                     recorded_text(line), gap_text(line),
                     line.recorded ? line.reason : line.unavailable});
  }
  return table_text(lines, 6);
}

}  // namespace attnscope::cli
