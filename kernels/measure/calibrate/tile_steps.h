/// The steps of kernels that a calibration times: a thread block's work on one pair of tiles, in a
/// separate loop (kernels/measure/calibrate/*_steps.cuh). Plain C++.
#pragma once

#include <string>
#include <vector>

#include "kernels/run_programs.h"

namespace attnscope::kernels {

struct TileSteps {
  std::string name;  ///< "flash2_forward_bf16_d64_128x128"
  ResolvedRun run;   ///< a run whose kernel executes these steps
  BlockProgram block;

  /// Whether O is rescaled only in steps in which a maximum changes.
  bool rescales_if_moved() const;
  /// Whether a consumer skips steps that only the rows of others need.
  bool trims(const ProgramTarget& target) const;
  /// Whether each step loads and stores tiles private to the block, like flash1's row tiles.
  bool has_own_tiles() const;
};

/// The variants of a step: all its scores are masked; O is rescaled; its tiles come from DRAM
/// rather than L2; all consumers but one skip it.
enum class StepCost : std::uint8_t { plain, masked, rescaled, from_dram, one_consumer };

/// The name of the steps of a run's launch with matrix products. `unavailable`, with the reason, if
/// no calibration times such steps: those with score features, switches or a padded head dimension,
/// and those of cuBLAS.
Result<std::string> steps_name(const ResolvedRun& run, const ProgramTarget& target);

/// The measured quantities: cycles of one step with this many blocks on the SM, and the SM clock
/// while all SMs execute such steps.
std::string step_cycles_name(std::string_view steps, Index blocks_on_sm,
                             StepCost cost = StepCost::plain);
std::string step_clock_name(std::string_view steps);
/// The time of a launch whose blocks each execute one step, with all slots on the SMs occupied and
/// nothing in L2.
std::string first_step_name(std::string_view steps);
/// The same with one block on each SM, for steps of which an SM holds several blocks.
std::string lone_first_step_name(std::string_view steps);

/// The steps that a calibration of such a GPU times: those of flash1, flash2 and split_kv in all
/// default tilings and some others.
std::vector<TileSteps> calibrated_steps(const ProgramTarget& target);

}  // namespace attnscope::kernels
