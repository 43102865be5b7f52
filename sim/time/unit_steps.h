/// The cost of a tile step: as calibrated, or from the rates of an SM's units alone, without the
/// measured cycles of any step.
///
/// With the rates alone, the warps of the resident blocks pass through the units of the SM (tensor
/// cores, exponentials, fp32 arithmetic, shared memory, atomic additions) one after another, and
/// wait while another warp uses a unit: a closed queueing network, solved by mean value analysis
/// (Reiser and Lavenberg, J. ACM 27(2), 1980). Each of the SM's four partitions has its own share
/// of every unit.
#pragma once

#include <vector>

#include "sim/simulation.h"
#include "sim/time/machine_rates.h"

namespace attnscope {

/// The calibrated costs of a kernel's steps.
struct StepCosts {
  /// [k - 1]: cycles of one block's step while k blocks of its SM execute steps; one entry for each
  /// block that an SM held when they were calibrated.
  std::vector<double> cycles;
  Index residency = 0;  ///< blocks that an SM holds in the predicted run; 0: as many as there are
                        ///< entries
  // Additional cycles of a step, while all slots of an SM are occupied
  double masked_cycles = 0;     ///< if its scores are masked
  double rescaled_cycles = 0;   ///< if it rescales O because a maximum has changed
  double from_dram_cycles = 0;  ///< if its tiles come from DRAM
  /// Of a step that a single consumer takes, while all slots are occupied; 0 if not calibrated.
  double one_consumer_cycles = 0;
  /// Rows of a warp, which rescales O if the maximum of any of them has changed.
  Index rows_of_warp = 0;
  /// Whether a block waits for Kj and Vj whenever it begins a column tile.
  bool waits_for_column_tiles = false;
  double clock_hz = 0;         ///< while every SM executes such steps
  bool are_calibrated = true;  ///< otherwise they are estimated from the rates of the units
  /// The time of a launch whose blocks execute one step each, with all slots on the SMs occupied
  /// and nothing in L2.
  double first_step_s = 0;
  /// The same with one block on each SM; 0 if not calibrated.
  double lone_first_step_s = 0;
};

/// The unit of a kernel's matrix products.
enum class MatrixUnit : std::uint8_t { cuda_cores, mma_sync, wgmma };

/// The work of all steps of a launch.
struct StepsWork {
  double steps = 0;
  double matrix_flops = 0;
  double exponentials = 0;
  double other_flops = 0;
  double shared_bytes = 0;     ///< read and written by warps
  double exchanged_bytes = 0;  ///< of these, those that warps exchange
  double added_bytes = 0;      ///< added atomically to sums in global memory
};

/// The work of a launch of the report's run, in blocks of `warps` warps. Bytes in shared memory are
/// 0 if no paper specifies how the warps share the work.
StepsWork steps_work(const SimulationReport& report, const LaunchReport& launch,
                     const GpuDescription& gpu, Index warps, Index steps);

/// The costs of one of these steps with up to `residency` blocks of `warps` warps on an SM.
StepCosts unit_step_costs(const MachineRates& rates, const StepsWork& work, MatrixUnit unit,
                          Index warps, Index residency);

}  // namespace attnscope
