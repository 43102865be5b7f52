#include "app/report/dram_cache.h"

#include <string_view>
#include <utility>

#include "app/report/prediction_packer.h"
#include "sim/dram/l2_cache.h"

namespace attnscope {

namespace {

constexpr DiskCache::Kind kPredictions = {.format = "attnscope dram prediction 2\n",
                                          .suffix = ".dram"};

/// The prediction that PredictionPacker's bytes hold; nothing if they are damaged.
std::optional<DramPrediction> prediction_in(std::string_view bytes, std::size_t launches) {
  static_assert(sizeof(Bytes) == 3 * sizeof(Index), "has no padding");
  DramPrediction prediction;
  const bool is_whole = take_all(bytes, prediction.launches, prediction.missed_bytes,
                                 prediction.total, prediction.least, prediction.most);
  if (!is_whole || !bytes.empty() || prediction.launches.size() != launches ||
      prediction.missed_bytes.size() != launches) {
    return std::nullopt;
  }
  return prediction;
}

}  // namespace

std::string prediction_key(const ResolvedRun& run, const GpuDescription& gpu,
                           const BlockPlacement& placement, double most_transfers,
                           DramInterval interval) {
  PredictionPacker key;
  key.add_all(kDramModelVersion, kL2Margin, kL2Ways, most_transfers);
  key.add(run);
  key.add_all(gpu.sm_count, gpu.l2_bytes, gpu.l2_partitions, gpu.register_bytes_per_sm);
  key.add(placement);
  if (interval == DramInterval::left_out) key.add(interval);
  return key.bytes();
}

DramCache::DramCache(std::filesystem::path folder)
    : disk_(std::move(folder), kPredictions, kMostBytes) {}

std::optional<DramPrediction> DramCache::find(const std::string& key, std::size_t launches) const {
  const auto bytes = disk_.find(key);
  return bytes ? prediction_in(*bytes, launches) : std::nullopt;
}

void DramCache::keep(const std::string& key, const DramPrediction& prediction) const {
  PredictionPacker value;
  value.add(prediction);
  disk_.keep(key, value.bytes());
}

}  // namespace attnscope
