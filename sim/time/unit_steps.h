/// What a tile step costs: as calibrated, or by the rates of an SM's units alone, without the
/// measured cycles of any step.
///
/// By the rates, the warps of the resident blocks move through the units of the SM (tensor cores,
/// exponentials, fp32 arithmetic, shared memory, atomic additions) one after another, and wait
/// where another warp is at work: a closed queueing network, solved by mean value analysis (Reiser
/// and Lavenberg, J. ACM 27(2), 1980). Each of the SM's four parts has its own share of every unit.
#pragma once

#include <vector>

#include "sim/simulation.h"
#include "sim/time/machine_rates.h"

namespace attnscope {

/// What the steps of a kernel cost, as calibrated.
struct StepCosts {
  /// [k - 1]: cycles of one block's step while k blocks of its SM take steps; one entry for each
  /// block that an SM holds.
  std::vector<double> cycles;
  // Further cycles of a step, while an SM has all the blocks that it holds
  double masked_cycles = 0;     ///< if its scores are masked
  double rescaled_cycles = 0;   ///< if it rescales O because a maximum moved
  double from_dram_cycles = 0;  ///< if its tiles come from DRAM
  /// Of a step that a single consumer takes; 0 if not calibrated.
  double one_consumer_cycles = 0;
  /// Rows of a warp: the warp rescales O if the maximum of any of them moved.
  Index rows_of_warp = 0;
  /// Whether a block waits for Kj and Vj whenever it begins a column tile.
  bool waits_for_column_tiles = false;
  double clock_hz = 0;         ///< while every SM takes such steps
  bool are_calibrated = true;  ///< else they follow from the rates of the units
  /// Time of a launch whose blocks take one step each, with the SMs full and nothing in L2.
  double first_step_s = 0;
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
/// 0 if no paper says how the warps share the work.
StepsWork steps_work(const SimulationReport& report, const LaunchReport& launch,
                     const GpuDescription& gpu, Index warps, Index steps);

/// The costs of one of these steps with up to `residency` blocks of `warps` warps on an SM.
StepCosts unit_step_costs(const MachineRates& rates, const StepsWork& work, MatrixUnit unit,
                          Index warps, Index residency);

}  // namespace attnscope
