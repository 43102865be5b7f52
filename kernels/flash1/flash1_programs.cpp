#include "kernels/catalog.h"
#include "kernels/compile/block_program.h"
#include "kernels/flash1/flash1_backward_shared.cuh"
#include "kernels/flash1/flash1_forward_shared.cuh"
#include "kernels/flash2/flash2_forward_shared.cuh"
#include "kernels/kernel_parameters.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

namespace {

/// A launch of flash1_rows.cuh.
BlockProgram rows_program(std::string expression) {
  return {
      .program = {.source = "kernels/flash1/flash1_rows.cuh", .expression = std::move(expression)},
      .threads = kFlash1RowThreads};
}

DType carried_type(const ResolvedRun& run) {
  return run.asked.variant.carry == Carry::fp32 ? DType::fp32 : run.problem.dtype;
}

/// As in columns_policy(), but rows of whole chunks are copied without code for single elements,
/// which made the loop longer than the instruction cache: without it, a pass at d = 256 takes 0.81
/// to 0.91 of the time. With O in fp32 or score features, the widest rows would then spill.
std::string forward_columns(const ResolvedRun& run, Index width) {
  const Index d = run.problem.d;
  const bool spills = carried_type(run) == DType::fp32 || score_features(run.problem).any();
  const std::string policy = columns_policy(d, width);
  const bool in_chunks = policy == in_device("Columns::first") && d % 8 == 0;
  return in_chunks && !(width == 256 && spills) ? in_device("Columns::chunks") : policy;
}

BlockProgram flash1_forward_block(const ResolvedRun& run, const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  const Index width = padded_head_dim(problem.d);
  if (problem.dtype == DType::fp32) {
    return cuda_core_program(run, kind, "flash1/flash1_forward_fp32",
                             flash2_forward_fp32_shared_bytes(width, run.tiling));
  }
  const ScoreFeatures features = score_features(problem);
  const Index score_bytes = flash1_score_rows_shared_bytes(features, run.tiling);
  const DType carried = carried_type(run);
  // The most stages that fit beside the score features
  const Index stages = flash1_forward_stages(width, run.tiling, size_bytes(carried),
                                             kind.shared_bytes_per_block - score_bytes);
  return products_program(
      run, kind, "flash1/flash1_forward", 32 * flash1_forward_warps(run.tiling),
      flash1_forward_shared_bytes(stages, width, run.tiling, size_bytes(carried)) + score_bytes,
      problem.dtype, carried, width, run.tiling, stages, forward_columns(run, width),
      trace_policy(kind.traced), features);
}

BlockProgram flash1_backward_block(const ResolvedRun& run, const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  const std::string trace = trace_policy(kind.traced);
  const ScoreFeatures features = flash1_backward_features(problem);
  if (kind.hopper) {
    if (features.any() || problem.d != kFlash1HopperHeadDim || run.tiling != kFlash1HopperTiling) {
      return {.limit = "the program for Hopper has one tiling, for plain softmax attention"};
    }
    return products_program(run, kind, "flash1/flash1_backward_hopper", kFlash1HopperThreads,
                            flash1_backward_hopper_shared_bytes(problem.d, run.tiling),
                            problem.dtype, problem.d, run.tiling, trace);
  }
  const Index width = flash1_backward_width(padded_head_dim(problem.d), features.any());
  const int warps = flash1_backward_warps(width, run.tiling);
  return products_program(run, kind, "flash1/flash1_backward", 32 * warps,
                          flash1_backward_shared_bytes(width, run.tiling) +
                              flash1_score_columns_shared_bytes(features, run.tiling, warps),
                          problem.dtype, width, run.tiling, warps, columns_policy(problem.d, width),
                          trace, features);
}

}  // namespace

/// Forward: "initialise" sets O = 0 in the precision used between passes, l = 0 and m = -inf;
/// "convert" rounds O from Carry::fp32; "lse" computes LSE from m and l. Backward: "initialise"
/// sets dQ = 0.
std::vector<LaunchProgram> flash1_programs(const ResolvedRun& run, const LaunchKind& kind) {
  if (run.pass() == PassKind::backward) {
    return {{"initialise", rows_program("attnscope::kernels::flash1_zero_dq")},
            {"backward", flash1_backward_block(run, kind)}};
  }
  std::vector<LaunchProgram> programs = {
      {"initialise", rows_program(instance_of("flash1_initialise", carried_type(run)))},
      {"forward", flash1_forward_block(run, kind)}};
  if (run.asked.variant.carry == Carry::fp32) {
    programs.push_back({"convert", rows_program(instance_of("flash1_convert", run.problem.dtype))});
  }
  programs.push_back({"lse", rows_program("attnscope::kernels::flash1_lse")});
  return programs;
}

}  // namespace attnscope::kernels
