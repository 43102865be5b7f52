/// Predictions of DRAM bytes on disk, shared by all programs of a user.
#pragma once

#include <optional>
#include <string>

#include "reference/files/disk_cache.h"
#include "sim/dram/dram_model.h"

namespace attnscope {

/// The key of a prediction, with everything that predict_dram() depends on: the run, the GPU's
/// numbers that it reads, where and in which order blocks start, and the version and constants of
/// the model. Includes `most_transfers`, so that earlier commands do not affect which runs a
/// command predicts.
std::string prediction_key(const ResolvedRun& run, const GpuDescription& gpu,
                           const BlockPlacement& placement, double most_transfers,
                           DramInterval interval = DramInterval::followed);

/// A DiskCache that holds predictions of DRAM bytes.
class DramCache {
 public:
  /// Enough for about 5000 predictions; each takes one file-system block, usually 4 KiB.
  static constexpr std::uintmax_t kMostBytes = std::uintmax_t{4} << 20U;

  explicit DramCache(std::filesystem::path folder = user_cache_folder("predictions"));

  /// The prediction for a pass with this many launches.
  std::optional<DramPrediction> find(const std::string& key, std::size_t launches) const;
  void keep(const std::string& key, const DramPrediction& prediction) const;

 private:
  DiskCache disk_;
};

}  // namespace attnscope
