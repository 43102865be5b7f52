#include "kernels/run_programs.h"

#include <fmt/core.h>

#include "kernels/flash2/flash2_programs.h"
#include "kernels/host/hopper.h"

namespace attnscope::kernels {

namespace {

/// flash2's launches, and block_sparse2's.
std::vector<LaunchProgram> flash2_programs(const ResolvedRun& run,
                                           std::string_view compute_capability) {
  const AttentionProblem& problem = run.problem;
  const LaunchKind kind{.listed = problem.block_mask != nullptr || problem.is_packed()};
  if (run.pass() == PassKind::forward) {
    return {{"forward", flash2_forward_program(problem, run.tiling, kind)}};
  }
  const bool on_hopper = compute_capability == kHopperComputeCapability &&
                         has_flash2_hopper_program(problem, run.tiling, run.asked.deterministic);
  return {{"preprocess", flash2_preprocess_program(problem)},
          {"backward", on_hopper ? flash2_backward_hopper_program(problem, run.tiling, kind)
                                 : flash2_backward_program(problem, run.tiling, kind)},
          {"convert", flash2_convert_dq_program(problem)}};
}

}  // namespace

Result<std::vector<LaunchProgram>> programs_of(const ResolvedRun& run,
                                               std::string_view compute_capability) {
  const std::string& kernel = run.asked.kernel;
  if (kernel == "flash2" || kernel == "block_sparse2") {
    return flash2_programs(run, compute_capability);
  }
  return unavailable(
      fmt::format("the kernels of {} are built into AttnScope; only those of flash2 "
                  "and block_sparse2 are compiled at launch",
                  kernel));
}

}  // namespace attnscope::kernels
