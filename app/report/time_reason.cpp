#include <fmt/core.h>

#include "app/report/number_text.h"
#include "app/report/reasons.h"

namespace attnscope {

std::string time_reason(const ComparisonLine& line, const SimulationReport& model,
                        const GpuDescription& gpu, const RecordingRow& run) {
  const Measurement& measured = *run.measurement;
  std::string reason =
      fmt::format("a lower bound, set by the {}: {:.3g} % of the recorded time",
                  words_of(model.bound_by), 100.0 * *line.modelled / *line.recorded);
  if (const Index blocks = thread_blocks_of_main_launch(model); blocks < gpu.sm_count) {
    reason += fmt::format("; only {} thread block{} for {} SMs", blocks, blocks == 1 ? "" : "s",
                          gpu.sm_count);
  }

  // What the bound leaves out, each from the data
  const auto read_bytes = measured.counter(counter::kDramReadBytes);
  const auto written_bytes = measured.counter(counter::kDramWriteBytes);
  if (read_bytes && written_bytes) {
    const double dram_s = (*read_bytes + *written_bytes) / gpu.dram_bytes_per_s;
    if (dram_s > 1.05 * *line.modelled) {
      reason +=
          fmt::format("; the bytes through {} alone take {}", dram_name(gpu), seconds_text(dram_s));
    }
  }
  const double exp_s = static_cast<double>(model.exponentials) / gpu.exponentials_per_s();
  if (model.bound_by != GpuUnit::special_function_units && exp_s > 0.1 * *line.modelled) {
    reason += fmt::format("; the exponentials alone take {}", seconds_text(exp_s));
  }
  if (const auto busy = measured.counter(counter::kTensorActivePercent)) {
    reason += fmt::format("; the tensor cores were busy {:.3g} % of the time", *busy);
  }
  return reason;
}

}  // namespace attnscope
