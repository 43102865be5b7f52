#include "kernels/run_programs.h"

#include <fmt/core.h>

namespace attnscope::kernels {

Result<std::vector<LaunchProgram>> programs_of(const ResolvedRun& run) {
  const std::string& kernel = run.asked.kernel;
  const AttentionProblem& problem = run.problem;
  const bool is_compiled = (kernel == "flash2" || kernel == "block_sparse2") &&
                           run.pass() == PassKind::forward && problem.dtype != DType::fp32;
  if (!is_compiled) {
    return unavailable(fmt::format(
        "the {} pass of {} in {} is built into AttnScope; only the forward passes of flash2 and "
        "block_sparse2 in fp16 and bf16 are compiled at launch",
        to_string(run.pass()), kernel, to_string(problem.dtype)));
  }
  const bool listed = problem.block_mask != nullptr || problem.is_packed();
  return std::vector<LaunchProgram>{
      {"forward", flash2_forward_program(problem, run.tiling, listed, /*traced=*/false)}};
}

}  // namespace attnscope::kernels
