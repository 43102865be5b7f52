#include "sim/dram/dram_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/dram/l2_run.h"
#include "sim/observers/progress_observer.h"
#include "sim/tiling_rules.h"

namespace attnscope {

namespace {

Bytes sum(const std::vector<L2Moved>& launches) {
  L2Moved total;
  for (const L2Moved& launch : launches) total += launch;
  return total.dram;
}

/// Extends the interval to the bytes, reads and writes separately.
void extend(DramPrediction& prediction, const Bytes& bytes) {
  Bytes& least = prediction.least;
  Bytes& most = prediction.most;
  least.read_bytes = std::min(least.read_bytes, bytes.read_bytes);
  least.write_bytes = std::min(least.write_bytes, bytes.write_bytes);
  most.read_bytes = std::max(most.read_bytes, bytes.read_bytes);
  most.write_bytes = std::max(most.write_bytes, bytes.write_bytes);
}

}  // namespace

Index DramPrediction::total_missed_bytes() const {
  return std::accumulate(missed_bytes.begin(), missed_bytes.end(), Index{0});
}

bool DramPrediction::in_transition() const {
  constexpr double kSteady = 0.04;
  const auto spread = static_cast<double>(most.read_bytes - least.read_bytes);
  return spread > kSteady * static_cast<double>(total.read_bytes);
}

Result<DramPrediction> predict_dram(const ResolvedRun& run, const GpuDescription& gpu,
                                    const BlockPlacement& placement, double most_transfers,
                                    const std::atomic<bool>* cancel, DramInterval interval) {
  const ScheduleOptions options = without_break(schedule_options(run, gpu));
  const Pass pass = make_pass(*find_algorithm(run.algorithm()), run.pass(), options);
  const PassRun pass_run{run.problem, run.tiling, options, placement.order};
  try {
    L2Run model(pass, pass_run, gpu, placement, most_transfers, cancel);
    const auto l2_bytes = static_cast<double>(gpu.l2_bytes);
    std::vector<Index> sizes = {gpu.l2_bytes};
    if (interval == DramInterval::followed) {
      sizes.push_back(std::llround(l2_bytes / kL2Margin));
      sizes.push_back(std::llround(l2_bytes * kL2Margin));
    }
    const std::vector<std::vector<L2Moved>> by_size = model.follow(sizes);
    DramPrediction prediction;
    for (const L2Moved& launch : by_size.front()) {
      prediction.launches.push_back(launch.dram);
      prediction.missed_bytes.push_back(launch.missed_bytes);
    }
    prediction.total = prediction.least = prediction.most = sum(by_size.front());
    for (const std::vector<L2Moved>& launches : by_size) extend(prediction, sum(launches));
    return prediction;
  } catch (const Cancelled&) {
    return cancelled();
  } catch (const TooManyTransfers&) {
    return too_many_transfers();
  }
}

}  // namespace attnscope
