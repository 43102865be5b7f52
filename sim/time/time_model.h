/// Predicts the time of a pass from a calibration of the GPU. No parameter is fitted to a kernel
/// that it predicts.
///
/// A launch with matrix products in tiles runs block by block (block_schedule.h): a block waits for
/// its first tiles, executes steps, each of which takes the cycles measured by the calibration, and
/// waits for its last stores. A step takes at least as long as L2 and DRAM need for its bytes, and
/// a launch at least as long as DRAM needs for all of its bytes. A library's product runs tile by
/// tile: its reads overlap the multiplication, and its writes follow. All other launches take as
/// long as their bytes need.
///
/// The launches of a pass follow each other; the first one has an overhead, each later one a gap.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/ops/observer.h"
#include "sim/simulation.h"
#include "sim/time/block_schedule.h"
#include "sim/time/block_work.h"
#include "sim/time/machine_rates.h"
#include "sim/time/unit_steps.h"
#include "sim/time_prediction.h"

namespace attnscope {

/// Increment this with every change that affects predicted times: cached times of other versions
/// are ignored, and so are those of other versions of the model of DRAM bytes.
/// tests/sim/time/time_version_test.cpp notices most changes.
inline constexpr std::uint32_t kTimeModelVersion = 4;

/// A launch of a kernel that is not in the model's schedule, such as one that sets initial values:
/// it only writes bytes.
struct FurtherLaunch {
  std::string name;
  double written_bytes = 0;
  Index thread_blocks = 0;  ///< 0: unknown
};

/// The way in which a kernel runs a pass.
struct KernelCosts {
  std::optional<StepCosts> steps;  ///< of the launch with the products, if calibrated
  std::string uncalibrated = {};   ///< TimePrediction::uncalibrated
  /// The rates at which `steps` were measured, if the prediction's rates differ: a what-if.
  std::optional<MachineRates> measured_rates = {};
  std::vector<Index> residency = {};  ///< the number of blocks of each launch that an SM holds at
                                      ///< once
  /// The number of thread blocks of each launch; 0, or an empty list, if unknown.
  std::vector<Index> thread_blocks = {};
  BlockOrder order = {};              ///< order in which the blocks of a head start
  Index heads_at_once = 1;            ///< heads whose blocks start in turn (BlockPlacement)
  BlockFlow flow;                     ///< of the launch with the products
  Index warps = kPaperWarps;          ///< of a block of the launch with the products
  bool has_wgmma_products = false;    ///< otherwise its tensor-core products use mma.sync
  bool has_library_products = false;  ///< launches with products and no exponentials are a
                                      ///< library's
  std::vector<FurtherLaunch> further = {};
};

/// Predicts the pass that `report` modelled, with its DRAM prediction. Errors: cancelled;
/// unavailable without report.dram.
Result<TimePrediction> predict_time(const SimulationReport& report, const GpuDescription& gpu,
                                    const MachineRates& rates, const KernelCosts& costs,
                                    const std::atomic<bool>* cancel = nullptr);

/// The schedule behind predict_time()'s time of this launch. Errors as in predict_time();
/// unavailable for a launch whose blocks do not execute tile steps.
Result<PredictedSchedule> predict_schedule(const SimulationReport& report,
                                           const GpuDescription& gpu, const MachineRates& rates,
                                           const KernelCosts& costs, std::string_view launch,
                                           const std::atomic<bool>* cancel = nullptr);

}  // namespace attnscope
