#include "app/report/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "app/report/report_text.h"

namespace attnscope {

namespace {

/// A difference up to this share of the modelled bytes counts as agreement, as for larger DRAM
/// traffic.
constexpr double kAgreement = 0.05;

GapWords dram_read_words(double modelled, double recorded) {
  if (modelled == 0.0) {
    return {"kernel code, constants",
            bytes_text(recorded) + " of kernel code, constants and parameters"};
  }
  if (std::abs(recorded - modelled) <= kAgreement * modelled) {
    return {"agrees", fmt::format("{} of operands, read once", bytes_text(modelled))};
  }
  if (recorded > modelled) {
    return {"kernel code, constants",
            fmt::format("{} of operands; the other {} are kernel code, constants and parameters",
                        bytes_text(modelled), bytes_text(recorded - modelled))};
  }
  return {"operands in L2",
          fmt::format("{} of {} of operands; the rest stayed in L2 or was never read",
                      bytes_text(recorded), bytes_text(modelled))};
}

GapWords dram_write_words(double modelled, double recorded) {
  if (modelled == 0.0 && recorded == 0.0) return {"agrees", "the output stays in L2, as predicted"};
  if (recorded < (1.0 - kAgreement) * modelled) {
    return {"output in L2", fmt::format("output that stays in L2: {} of {}",
                                        bytes_text(modelled - recorded), bytes_text(modelled))};
  }
  if (recorded <= (1.0 + kAgreement) * modelled) {
    return {"agrees", fmt::format("{} of output, written once", bytes_text(modelled))};
  }
  return {"older L2 lines",
          fmt::format("{} more than the output: lines that earlier work left in L2",
                      bytes_text(recorded - modelled))};
}

}  // namespace

Index thread_blocks_of_main_launch(const SimulationReport& model) {
  const auto main = std::ranges::max_element(
      model.launches, {}, [](const LaunchReport& launch) { return launch.requested.total(); });
  return main == model.launches.end() ? 0 : main->thread_blocks;
}

std::optional<GapWords> words_in_place_of_gap(const ComparisonLine& line,
                                              const SimulationReport& model,
                                              const GpuDescription& gpu, const RecordingRow& run) {
  const std::optional<Index> spilled = run.measurement->spilled_bytes;
  const bool counts_spills = line.level == Level::requested || line.level == Level::paper ||
                             (line.level == Level::l2 && line.quantity != kMissedQuantity);
  if (counts_spills && !spilled) {
    return GapWords{"not comparable: spills unknown",
                    "the driver compiled the kernels from PTX; whether they spill is not known"};
  }
  if (counts_spills && *spilled > 0) {
    return GapWords{"not comparable: spills",
                    fmt::format("each thread spills {} bytes of registers to local memory, and the "
                                "counters include that traffic",
                                *spilled)};
  }
  const Index busy_sms = std::min(thread_blocks_of_main_launch(model), gpu.sm_count);
  const double latency_s =
      2 * busy_sms < gpu.sm_count ? kFewSmsLatencySeconds : kLaunchLatencySeconds;
  if (line.quantity == "time") {
    if (*line.recorded >= latency_s) return std::nullopt;
    return GapWords{"launch latency",
                    fmt::format("launch latency; {} of {} SMs", busy_sms, gpu.sm_count)};
  }
  const bool is_missed = line.quantity == kMissedQuantity;
  if (!is_of_dram(line.level) && !is_missed) return std::nullopt;
  if (*line.recorded >= kSmallDramBytes) return std::nullopt;
  return is_missed || line.quantity == "read" ? dram_read_words(*line.modelled, *line.recorded)
                                              : dram_write_words(*line.modelled, *line.recorded);
}

}  // namespace attnscope
