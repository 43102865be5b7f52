/// The worker's simulation: steps through one head of the chosen problem, or finds a valid choice.
#pragma once

#include <memory>

#include "app/jobs/worker.h"
#include "reference/run_spec.h"
#include "sim/device/gpu_description.h"
#include "sim/device/read_once.h"
#include "sim/snapshot/stepped_run.h"

namespace attnscope::app {

/// The descriptions of GPUs that the app has used, each read once. Use it from any thread.
class GpuCatalog {
 public:
  /// The GPU that the spec names, with the spec's capacities; errors as in load_gpu().
  Result<GpuDescription> gpu_of(const RunSpec& spec);

 private:
  ReadOnce<GpuDescription> read_;
};

/// Largest number of tiles of S that the app steps through.
inline constexpr Index kMaxSteppedTiles = Index{1} << 20;

/// The request to step through, for the requested head or for the group into which it is packed.
Result<SteppedRequest> stepped_of(const Request& request, GpuCatalog& gpus);

/// Keeps the run of the last choice and head, so that another step of that run is only a seek.
class StepSimulator {
 public:
  explicit StepSimulator(std::shared_ptr<GpuCatalog> gpus) : gpus_(std::move(gpus)) {}
  Result<std::shared_ptr<const Snapshot>> operator()(const Request& request, WorkControl& control);

 private:
  std::shared_ptr<GpuCatalog> gpus_;
  std::shared_ptr<SteppedRun> run_;            // shared: std::function copies the simulator
  std::shared_ptr<const BreakEffect> effect_;  ///< the effect of run_, if it is broken
  Request request_;                            ///< the request of run_
};

/// The run of a choice if the app can step through it; else an error in one line: what is wrong,
/// why, and what would be accepted. Cheap, because only one row of tiles is counted.
Result<ResolvedRun> resolve_choice(const RunSpec& choice, GpuCatalog& gpus);
/// Nothing when the app can step through the choice.
std::optional<Error> check_choice(const RunSpec& choice, GpuCatalog& gpus);

/// The tiles of a rule for the choice, ignoring its own tiles; nothing if the rule gives none.
std::optional<Tiling> tiling_of_rule(RunSpec choice, TilingRule rule, GpuCatalog& gpus);

}  // namespace attnscope::app
