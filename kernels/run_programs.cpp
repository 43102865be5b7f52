#include "kernels/run_programs.h"

#include <algorithm>

#include "kernels/backward_launches.h"
#include "kernels/resolve.h"

namespace attnscope::kernels {

std::vector<LaunchProgram> with_sum_heads(std::vector<LaunchProgram> programs,
                                          const AttentionProblem& problem) {
  if (problem.heads_per_kv_head() > 1) {
    programs.push_back({"sum_heads", sum_heads_program(problem.dtype)});
  }
  return programs;
}

std::vector<LaunchProgram> programs_of(const ResolvedRun& run, const ProgramTarget& target,
                                       bool traced) {
  const KernelInfo& kernel = kernel_of(run);
  // A kernel that takes a block mask visits lists of tiles even without one
  const LaunchKind kind{.listed = kernel.takes_block_mask || run.problem.is_packed(),
                        .traced = traced,
                        .knobs = knobs_of(run.asked)};
  return kernel.programs(run, target, kind);
}

const LaunchProgram* launch_with_products(std::span<const LaunchProgram> programs) {
  const auto found = std::ranges::find_if(
      programs, [](const LaunchProgram& launch) { return !launch.block.instructions.empty(); });
  return found == programs.end() ? nullptr : &*found;
}

std::string_view instructions_of(std::span<const LaunchProgram> programs) {
  const LaunchProgram* const launch = launch_with_products(programs);
  return launch == nullptr ? "cuBLAS" : launch->block.instructions;
}

}  // namespace attnscope::kernels
