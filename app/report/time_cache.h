/// Predictions of times on disk, shared by all programs of a user.
#pragma once

#include <optional>
#include <string>

#include "reference/files/disk_cache.h"
#include "sim/time/time_model.h"

namespace attnscope {

/// The key of a prediction, with everything that predict_time() depends on: the run, what
/// simulate() counted for its launches, its predicted DRAM bytes, the GPU's numbers, the rates and
/// costs that a calibration gives, and the versions of the models.
std::string time_key(const SimulationReport& report, const GpuDescription& gpu,
                     const MachineRates& rates, const KernelCosts& costs);

/// A DiskCache that holds predictions of times.
class TimeCache {
 public:
  /// Enough for about 5000 predictions.
  static constexpr std::uintmax_t kMostBytes = std::uintmax_t{8} << 20U;

  explicit TimeCache(std::filesystem::path folder = user_cache_folder("predictions"));

  std::optional<TimePrediction> find(const std::string& key) const;
  void keep(const std::string& key, const TimePrediction& prediction) const;

 private:
  DiskCache disk_;
};

}  // namespace attnscope
