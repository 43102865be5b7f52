/// Predicts the DRAM bytes of a pass: what its thread blocks move, in the order in which a GPU runs
/// them, through the L2 cache of sim/dram/l2_cache.h. No number in it is fitted to a kernel: it
/// uses the GPU's number of SMs, the size and partitions of its L2, an assumed number of ways, and
/// the schedules.
///
/// Blocks start in the order of the launch, as soon as an SM has a place for one. All work at the
/// same speed, so that those of one head move through its keys side by side. Blocks that share an
/// SM are the exception: they take turns at its units and drift apart, so that one begins while
/// another is halfway through. L2 holds nothing of the problem at first ("cold"); what a launch
/// leaves there, the next one finds, and dirty lines at the end of the pass are not written. Writes
/// never read from DRAM, but atomic adds do.
///
/// If the data that blocks reuse is about as large as L2, the bytes depend on details that the
/// model does not have, such as the addresses of tensors. Predictions with a smaller and a larger
/// L2 (kL2Margin) then differ greatly: the run is in transition. All heads move the same pieces: if
/// there are many, the first ones are followed, and the later half of these represents the rest.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "reference/run_spec.h"
#include "sim/device/gpu_description.h"
#include "sim/dram/group_transfers.h"
#include "sim/observers/traffic_counter.h"

namespace attnscope {

/// The interval of a prediction is that of L2 caches this many times smaller and larger.
inline constexpr double kL2Margin = 1.25;

/// Increment it with every change that affects predictions, in this model or in the schedules that
/// it follows: cached predictions of other versions are ignored. tests/sim/dram/dram_model_test.cpp
/// notices most changes.
inline constexpr std::uint32_t kDramModelVersion = 3;

/// Whether a prediction has the interval: it takes two thirds of the time.
enum class DramInterval : std::uint8_t { followed, left_out };

/// DRAM bytes of a pass.
struct DramPrediction {
  std::vector<Bytes> launches;
  /// By launch: the part of the bytes that SMs read from L2, or add to in it, that their own
  /// partition does not hold.
  std::vector<Index> missed_bytes;
  Bytes total;
  /// The interval of `total`: of its reads, and of its writes. Both are `total` if it is left out.
  Bytes least, most;

  Index total_missed_bytes() const;
  /// Whether the size of L2 is decisive: the reads of the interval differ by more than 4 %.
  bool in_transition() const;
  bool operator==(const DramPrediction&) const = default;
};

/// Predicts the pass of a run that simulate() accepts. too_many if it has more transfers;
/// cancelled as in simulate().
Result<DramPrediction> predict_dram(const ResolvedRun& run, const GpuDescription& gpu,
                                    const BlockPlacement& placement,
                                    double most_transfers = kMostTransfers,
                                    const std::atomic<bool>* cancel = nullptr,
                                    DramInterval interval = DramInterval::followed);

}  // namespace attnscope
