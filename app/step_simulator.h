/// What the worker runs: steps through one head of the chosen problem.
#pragma once

#include <memory>

#include "app/worker.h"
#include "sim/snapshot/stepped_run.h"

namespace attnscope::app {

/// Most tiles of S that the app steps through.
inline constexpr Index kMaxSteppedTiles = Index{1} << 20;

/// Keeps the run of the last choice and head, so that another step of it is only a seek.
class StepSimulator {
 public:
  Result<std::shared_ptr<const Snapshot>> operator()(const Request& request, WorkControl& control);

 private:
  std::shared_ptr<SteppedRun> run_;  // shared: std::function copies the simulator
  Choice choice_;
  Index head_ = 0;
  bool in_race_ = false;
};

/// The chosen GPU, with the chosen sizes of its shared memory and its L2; invalid_request when it
/// is unknown.
Result<GpuDescription> gpu_of(const Choice& choice);

/// The query heads of a group are the rows of one tile.
bool packs_groups(const Choice& choice);

/// The request to the model for a choice; invalid_request when its GPU is unknown.
Result<SimulationRequest> simulation_of(const Choice& choice);

/// The largest square tiles that fit on chip; nothing when none do, or the choice cannot be
/// counted.
std::optional<Tiling> largest_tiling_of(const Choice& choice);

/// Tiles that follow from a rule.
struct TilingByRule {
  std::string_view name;  ///< "paper", "largest", "kernel"
  std::optional<Tiling> tiling;
  std::string help;
};
/// For the algorithm, pass and device of the choice; a rule without an answer has no tiling.
std::vector<TilingByRule> tilings_by_rule(const Choice& choice);

/// Nothing when the choice can be simulated, else one line: what, why, what would be accepted.
/// Cheap: one row of tiles is counted.
std::optional<Error> check_choice(const Choice& choice);

}  // namespace attnscope::app
