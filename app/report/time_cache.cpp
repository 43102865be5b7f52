#include "app/report/time_cache.h"

#include <string_view>
#include <utility>

#include "app/report/prediction_packer.h"

namespace attnscope {

namespace {

constexpr DiskCache::Kind kTimes = {.format = "attnscope time prediction 1\n", .suffix = ".time"};

/// The prediction that PredictionPacker's bytes hold; nothing if they are damaged.
std::optional<TimePrediction> time_in(std::string_view bytes) {
  TimePrediction time;
  std::uint64_t launches = 0;
  if (!take_all(bytes, time.seconds, time.clock_hz, time.primitives_s, time.uncalibrated,
                launches)) {
    return std::nullopt;
  }
  for (std::uint64_t n = 0; n < launches; ++n) {
    LaunchTime& launch = time.launches.emplace_back();
    if (!take_all(bytes, launch.name, launch.seconds, launch.parts)) return std::nullopt;
  }
  return bytes.empty() ? std::optional(std::move(time)) : std::nullopt;
}

}  // namespace

std::string time_key(const SimulationReport& report, const GpuDescription& gpu,
                     const MachineRates& rates, const KernelCosts& costs) {
  PredictionPacker key;
  key.add_all(kTimeModelVersion, kDramModelVersion);
  key.add_all(report.run, report.run.asked.warp_partition, report.launches, report.dram);
  key.add_all(gpu.sm_count, gpu.l2_bytes, gpu.register_bytes_per_sm, rates, costs);
  return key.bytes();
}

TimeCache::TimeCache(std::filesystem::path folder) : disk_(std::move(folder), kTimes, kMostBytes) {}

std::optional<TimePrediction> TimeCache::find(const std::string& key) const {
  const auto bytes = disk_.find(key);
  return bytes ? time_in(*bytes) : std::nullopt;
}

void TimeCache::keep(const std::string& key, const TimePrediction& prediction) const {
  PredictionPacker value;
  value.add_all(prediction.seconds, prediction.clock_hz, prediction.primitives_s,
                prediction.uncalibrated, prediction.launches);
  disk_.keep(key, value.bytes());
}

}  // namespace attnscope
