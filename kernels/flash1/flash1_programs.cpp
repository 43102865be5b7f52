#include "kernels/flash1/flash1_programs.h"

#include "kernels/block_shapes.h"
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
  const Tiling& tiling = run.tiling;
  const Index width = padded_head_dim(problem.d);
  const BlockRequest request{problem, tiling, run.asked.variant.carry, shared_bytes_per_block};
  const BlockShape shape = flash1_forward_shape(request);
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
  program.expression =
      instance_of("flash1_forward", element_type(problem.dtype), element_type(carried_type(run)),
                  width, tiling.Br, tiling.Bc, flash1_stages(request), forward_columns(run, width),
                  trace_policy(kind.traced), features_argument(score_features(problem)));
  return launch;
}

BlockProgram flash1_backward_hopper_program(const ResolvedRun& run, const LaunchKind& kind) {
  const Index d = run.problem.d;
  return {.program = {.sources = {"kernels/flash1/flash1_backward_hopper.cuh"},
                      .expression =
                          instance_of("flash1_backward_hopper", element_type(run.problem.dtype), d,
                                      run.tiling.Br, run.tiling.Bc, trace_policy(kind.traced))},
          .threads = kFlash1HopperThreads,
          .shared_bytes = flash1_backward_hopper_shared_bytes(d, run.tiling),
          .instructions = kHopper};
}

/// The program of the backward launch. The problem must be in 16-bit precision.
BlockProgram backward_program(const ResolvedRun& run, const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  const BlockShape shape = flash1_backward_shape({problem, run.tiling});
  const ScoreFeatures features = flash1_backward_features(problem);
  const Index width = flash1_backward_width(padded_head_dim(problem.d), features.any());
  return {.program = {.sources = {"kernels/flash1/flash1_backward.cuh"},
                      .expression = instance_of(
                          "flash1_backward", element_type(problem.dtype), width, run.tiling.Br,
                          run.tiling.Bc, shape.threads / 32, columns_policy(problem.d, width),
                          trace_policy(kind.traced), features_argument(features)),
                      .options = knob_options(kind.knobs)},
          .threads = shape.threads,
          .shared_bytes = shape.shared_bytes,
          .instructions = kTensorCores};
}

}  // namespace

std::vector<LaunchProgram> flash1_programs(const ResolvedRun& run, const ProgramTarget& target,
                                           const LaunchKind& kind) {
  if (run.pass() == PassKind::backward) {
    return {{"initialise", rows_program("attnscope::kernels::flash1_zero_dq")},
            {"backward", kind.hopper ? flash1_backward_hopper_program(run, kind)
                                     : backward_program(run, kind)}};
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
