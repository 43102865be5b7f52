#include "kernels/flash1/flash1_programs.h"

#include "kernels/block_shapes.h"
#include "kernels/flash1/flash1_backward_shared.cuh"
#include "kernels/flash1/flash1_forward_shared.cuh"
#include "kernels/host/hopper.h"
#include "kernels/kernel_parameters.h"
#include "reference/head_dim.h"

namespace attnscope::kernels {

namespace {

/// A launch of flash1_rows.cuh.
BlockProgram rows_program(std::string expression) {
  return {.program = {.sources = {"kernels/flash1/flash1_rows.cuh"},
                      .expression = std::move(expression)},
          .threads = kFlash1RowThreads};
}

DType carried_type(const AttentionProblem& problem, Carry carry) {
  return carry == Carry::fp32 ? DType::fp32 : problem.dtype;
}

}  // namespace

BlockProgram flash1_initialise_program(const AttentionProblem& problem, Carry carry) {
  return rows_program(instance_of("flash1_initialise", element_type(carried_type(problem, carry))));
}

BlockProgram flash1_forward_program(const AttentionProblem& problem, const Tiling& tiling,
                                    Carry carry, Index shared_bytes_per_block,
                                    const LaunchKind& kind) {
  const Index width = padded_head_dim(problem.d);
  const BlockShape shape = flash1_forward_shape(problem, tiling, carry, shared_bytes_per_block);
  BlockProgram launch{.threads = shape.threads,
                      .shared_bytes = shape.shared_bytes,
                      .instructions = problem.dtype == DType::fp32 ? kCudaCores : kTensorCores};
  KernelProgram& program = launch.program;
  if (problem.dtype == DType::fp32) {
    program.sources = {"kernels/flash1/flash1_forward_fp32.cuh"};
    program.expression =
        instance_of("flash1_forward_fp32", width, tiling.Br, tiling.Bc, trace_policy(kind.traced));
    return launch;
  }
  program.options = knob_options(kind.knobs);
  program.sources = {"kernels/flash1/flash1_forward.cuh"};
  program.expression = instance_of(
      "flash1_forward", element_type(problem.dtype), element_type(carried_type(problem, carry)),
      width, tiling.Br, tiling.Bc, flash1_stages(problem, tiling, carry, shared_bytes_per_block),
      columns_policy(problem.d, width), trace_policy(kind.traced),
      features_argument(score_features(problem)));
  return launch;
}

BlockProgram flash1_convert_program(const AttentionProblem& problem) {
  return rows_program(instance_of("flash1_convert", element_type(problem.dtype)));
}

BlockProgram flash1_lse_program() {
  return rows_program("attnscope::kernels::flash1_lse");
}

BlockProgram flash1_zero_dq_program() {
  return rows_program("attnscope::kernels::flash1_zero_dq");
}

BlockProgram flash1_backward_program(const AttentionProblem& problem, const Tiling& tiling,
                                     bool on_hopper, const LaunchKind& kind) {
  BlockProgram launch;
  KernelProgram& program = launch.program;
  if (on_hopper) {
    program.sources = {"kernels/flash1/flash1_backward_hopper.cuh"};
    program.expression = instance_of("flash1_backward_hopper", element_type(problem.dtype),
                                     problem.d, tiling.Br, tiling.Bc, trace_policy(kind.traced));
    launch.instructions = kHopper;
    launch.threads = kFlash1HopperThreads;
    launch.shared_bytes = flash1_backward_hopper_shared_bytes(problem.d, tiling);
    return launch;
  }
  const BlockShape shape = flash1_backward_shape(problem, tiling, Carry::problem);
  const ScoreFeatures features = flash1_backward_features(problem);
  const Index width = flash1_backward_width(padded_head_dim(problem.d), features.any());
  program.options = knob_options(kind.knobs);
  program.sources = {"kernels/flash1/flash1_backward.cuh"};
  program.expression = instance_of("flash1_backward", element_type(problem.dtype), width, tiling.Br,
                                   tiling.Bc, shape.threads / 32, columns_policy(problem.d, width),
                                   trace_policy(kind.traced), features_argument(features));
  launch.instructions = kTensorCores;
  launch.threads = shape.threads;
  launch.shared_bytes = shape.shared_bytes;
  return launch;
}

std::vector<LaunchProgram> flash1_programs(const ResolvedRun& run, const ProgramTarget& target,
                                           const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  if (run.pass() == PassKind::backward) {
    const bool on_hopper = target.compute_capability == kHopperComputeCapability &&
                           has_hopper_backward(problem, run.tiling, kind.knobs);
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

}  // namespace attnscope::kernels
