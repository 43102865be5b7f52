#include "kernels/run_programs.h"

#include "kernels/flash1/flash1_programs.h"
#include "kernels/flash2/flash2_programs.h"
#include "kernels/host/hopper.h"
#include "kernels/split_kv/split_kv_programs.h"
#include "kernels/standard/softmax_programs.h"
#include "kernels/sum_heads.h"
#include "reference/check.h"

namespace attnscope::kernels {

namespace {

/// The launches of a backward pass, and the last one if query heads share a KV head.
std::vector<LaunchProgram> with_sum_heads(std::vector<LaunchProgram> programs,
                                          const AttentionProblem& problem) {
  if (problem.heads_per_kv_head() > 1) {
    programs.push_back({"sum_heads", sum_heads_program(problem.dtype)});
  }
  return programs;
}

/// Without the products, which are cuBLAS's.
std::vector<LaunchProgram> standard_programs(const ResolvedRun& run) {
  const AttentionProblem& problem = run.problem;
  if (run.pass() == PassKind::forward) return {{"softmax", softmax_forward_program(problem)}};
  return with_sum_heads({{"dS", softmax_gradient_program(problem)}}, problem);
}

std::vector<LaunchProgram> flash1_programs(const ResolvedRun& run, const ProgramTarget& target,
                                           const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  if (run.pass() == PassKind::backward) {
    const bool on_hopper =
        flash1_backward_on_hopper(problem, run.tiling, target.compute_capability, kind.knobs);
    return with_sum_heads(
        {{"initialise", flash1_zero_dq_program()},
         {"backward", flash1_backward_program(problem, run.tiling, on_hopper, kind)}},
        problem);
  }
  const Carry carry = run.asked.variant.carry;
  std::vector<LaunchProgram> programs = {
      {"initialise", flash1_initialise_program(problem, carry)},
      {"forward",
       flash1_forward_program(problem, run.tiling, carry, target.shared_bytes_per_block, kind)}};
  if (carry == Carry::fp32) programs.push_back({"convert", flash1_convert_program(problem)});
  programs.push_back({"lse", flash1_lse_program()});
  return programs;
}

/// flash2's launches, and block_sparse2's.
std::vector<LaunchProgram> flash2_programs(const ResolvedRun& run, const ProgramTarget& target,
                                           const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  if (run.pass() == PassKind::forward) {
    return {{"forward", flash2_forward_program(problem, run.tiling, kind)}};
  }
  const bool on_hopper =
      target.compute_capability == kHopperComputeCapability &&
      has_flash2_hopper_program(problem, run.tiling, run.asked.deterministic, kind.knobs);
  return with_sum_heads(
      {{"preprocess", flash2_preprocess_program(problem)},
       {"backward", on_hopper ? flash2_backward_hopper_program(problem, run.tiling, kind)
                              : flash2_backward_program(problem, run.tiling, kind)},
       {"convert", flash2_convert_dq_program(problem)}},
      problem);
}

std::vector<LaunchProgram> split_kv_programs(const ResolvedRun& run, const LaunchKind& kind) {
  return {{"partial", split_kv_partial_program(run.problem, run.tiling, kind)},
          {"combine", split_kv_combine_program(run.problem)}};
}

}  // namespace

std::vector<LaunchProgram> programs_of(const ResolvedRun& run, const ProgramTarget& target,
                                       bool traced) {
  const std::string& kernel = run.asked.kernel;
  // block_sparse2 visits listed tiles without a block mask too
  const LaunchKind kind{.listed = kernel == "block_sparse2" || run.problem.is_packed(),
                        .traced = traced,
                        .knobs = knobs_of(run.asked.switches)};
  if (kernel == "standard") return standard_programs(run);
  if (kernel == "flash1") return flash1_programs(run, target, kind);
  if (kernel == "split_kv") return split_kv_programs(run, kind);
  ATTNSCOPE_CHECK(kernel == "flash2" || kernel == "block_sparse2", ==, true);
  return flash2_programs(run, target, kind);
}

}  // namespace attnscope::kernels
