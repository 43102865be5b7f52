/// Predicts the DRAM bytes of a pass: follows the transfers of its thread blocks, in the order in
/// which a GPU runs them, through the L2 cache of sim/dram/l2_cache.h. No parameter is fitted to a
/// kernel: the model uses the GPU's number of SMs, the size and partitions of its L2, an assumed
/// number of ways, and the schedules.
///
/// Blocks start in the order of the launch, as soon as an SM has room for one. All blocks work at
/// the same speed, so those of one head advance through its keys in step. Blocks that share an SM
/// are the exception: they take turns at its units and drift apart, so that one begins while
/// another is halfway through. L2 initially holds no data of the problem ("cold"); a launch starts
/// with the contents that the previous one left there, and dirty lines at the end of the pass are
/// not written back. Writes never read from DRAM, but atomic adds do.
///
/// If the data that blocks reuse is about as large as L2, the bytes depend on details that are not
/// modelled, such as the addresses of tensors. Predictions with a smaller and a larger L2
/// (kL2Margin) then differ greatly: the run is in transition. All heads transfer the same pieces:
/// if there are many heads, only the first ones are followed, and the later half of these
/// represents the rest.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "reference/run_spec.h"
#include "sim/device/gpu_description.h"
#include "sim/dram/group_transfers.h"
#include "sim/observers/traffic_counter.h"

namespace attnscope {

/// The interval of a prediction comes from L2 caches that are smaller and larger by this factor.
inline constexpr double kL2Margin = 1.25;

/// Increment this with each change that affects predictions, in this model or in the schedules that
/// it follows: cached predictions of other versions are ignored. tests/sim/dram/dram_model_test.cpp
/// notices most changes.
inline constexpr std::uint32_t kDramModelVersion = 5;

/// Whether a prediction includes its interval, which takes two thirds of the computing time.
enum class DramInterval : std::uint8_t { followed, left_out };

/// DRAM bytes of a pass.
struct DramPrediction {
  std::vector<Bytes> launches;
  /// By launch: the bytes that SMs read from L2, or add to in L2, and that are not in their own
  /// partition.
  std::vector<Index> missed_bytes;
  Bytes total;
  /// The interval of `total`: of its reads, and of its writes. Both are `total` if the interval is
  /// omitted.
  Bytes least, most;

  Index total_missed_bytes() const;
  /// Whether the size of L2 is decisive: the reads of the interval differ by more than 4 %.
  bool in_transition() const;
  bool operator==(const DramPrediction&) const = default;
};

/// Predicts the pass of a run that simulate() accepts. too_many if it has more than
/// `most_transfers`; cancelled as in simulate().
Result<DramPrediction> predict_dram(const ResolvedRun& run, const GpuDescription& gpu,
                                    const BlockPlacement& placement,
                                    double most_transfers = kMostTransfers,
                                    const std::atomic<bool>* cancel = nullptr,
                                    DramInterval interval = DramInterval::followed);

}  // namespace attnscope
