#include "kernels/block_shapes.h"
#include "kernels/catalog.h"
#include "kernels/compile/block_program.h"
#include "kernels/flash1/flash1_backward_shared.cuh"
#include "kernels/flash1/flash1_forward_shared.cuh"
#include "kernels/kernel_parameters.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

namespace {

/// A launch of flash1_rows.cuh.
BlockProgram rows_program(std::string expression) {
  return {.program = {.sources = {"kernels/flash1/flash1_rows.cuh"},
                      .expression = std::move(expression)},
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

BlockProgram forward_program(const ResolvedRun& run, Index shared_bytes_per_block,
                             const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  const auto& [Br, Bc] = run.tiling;
  const Index width = padded_head_dim(problem.d);
  const BlockRequest request{problem, run.tiling, run.asked.variant.carry, shared_bytes_per_block};
  const BlockShape shape = flash1_forward_shape(request);
  const std::string trace = trace_policy(kind.traced);
  if (problem.dtype == DType::fp32) {
    return products_program(kernel_program("flash1/flash1_forward_fp32", width, Br, Bc, trace),
                            shape, problem.dtype, kind);
  }
  return products_program(kernel_program("flash1/flash1_forward", element_type(problem.dtype),
                                         element_type(carried_type(run)), width, Br, Bc,
                                         flash1_stages(request), forward_columns(run, width), trace,
                                         features_argument(score_features(problem))),
                          shape, problem.dtype, kind);
}

/// The program of the backward launch. The problem must be in 16-bit precision.
BlockProgram backward_program(const ResolvedRun& run, const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  const auto& [Br, Bc] = run.tiling;
  const std::string type = element_type(problem.dtype), trace = trace_policy(kind.traced);
  if (kind.hopper) {
    return products_program(
        kernel_program("flash1/flash1_backward_hopper", type, problem.d, Br, Bc, trace),
        {kFlash1HopperThreads, flash1_backward_hopper_shared_bytes(problem.d, run.tiling)},
        problem.dtype, kind);
  }
  const BlockShape shape = flash1_backward_shape({problem, run.tiling});
  const ScoreFeatures features = flash1_backward_features(problem);
  const Index width = flash1_backward_width(padded_head_dim(problem.d), features.any());
  return products_program(
      kernel_program("flash1/flash1_backward", type, width, Br, Bc, shape.threads / 32,
                     columns_policy(problem.d, width), trace, features_argument(features)),
      shape, problem.dtype, kind);
}

}  // namespace

/// Forward: "initialise" sets O = 0 in the precision used between passes, l = 0 and m = -inf;
/// "convert" rounds O from Carry::fp32; "lse" computes LSE from m and l. Backward: "initialise"
/// sets dQ = 0.
std::vector<LaunchProgram> flash1_programs(const ResolvedRun& run, const ProgramTarget& target,
                                           const LaunchKind& kind) {
  if (run.pass() == PassKind::backward) {
    return {{"initialise", rows_program("attnscope::kernels::flash1_zero_dq")},
            {"backward", backward_program(run, kind)}};
  }
  std::vector<LaunchProgram> programs = {
      {"initialise",
       rows_program(instance_of("flash1_initialise", element_type(carried_type(run))))},
      {"forward", forward_program(run, target.shared_bytes_per_block, kind)}};
  if (run.asked.variant.carry == Carry::fp32) {
    programs.push_back(
        {"convert", rows_program(instance_of("flash1_convert", element_type(run.problem.dtype)))});
  }
  programs.push_back({"lse", rows_program("attnscope::kernels::flash1_lse")});
  return programs;
}

}  // namespace attnscope::kernels
