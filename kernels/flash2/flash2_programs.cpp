#include "kernels/flash2/flash2_programs.h"

#include "kernels/block_shapes.h"
#include "kernels/flash2/flash2_backward_shared.cuh"
#include "kernels/flash2/flash2_forward_shared.cuh"
#include "kernels/kernel_parameters.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

namespace {

std::string visits_of(const LaunchKind& kind) {
  return in_device(kind.listed ? "Visits::listed" : "Visits::all");
}

/// The program of the launch that computes the pass's tiles: `kernel` is flash2_forward or
/// flash2_backward.
BlockProgram tiles_program(const std::string& kernel, const ResolvedRun& run,
                           const BlockShape& shape, const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  const Index width = padded_head_dim(problem.d);
  BlockProgram launch{.threads = shape.threads,
                      .shared_bytes = shape.shared_bytes,
                      .instructions = problem.dtype == DType::fp32 ? kCudaCores : kTensorCores};
  KernelProgram& program = launch.program;
  if (problem.dtype == DType::fp32) {
    program.sources = {"kernels/flash2/" + kernel + "_fp32.cuh"};
    program.expression = instance_of(kernel + "_fp32", width, run.tiling.Br, run.tiling.Bc,
                                     trace_policy(kind.traced));
    return launch;
  }
  program.options = knob_options(kind.knobs);
  program.sources = {"kernels/flash2/" + kernel + ".cuh"};
  program.expression =
      instance_of(kernel, element_type(problem.dtype), width, run.tiling.Br, run.tiling.Bc,
                  shape.threads / 32, columns_policy(problem.d, width), visits_of(kind),
                  trace_policy(kind.traced), features_argument(score_features(problem)));
  return launch;
}

BlockProgram flash2_forward_hopper_program(const ResolvedRun& run, const LaunchKind& kind) {
  const Index width = padded_head_dim(run.problem.d);
  const ScoreFeatures features = score_features(run.problem);
  return {.program = {.sources = {"kernels/flash2/flash2_forward_hopper.cuh"},
                      .expression =
                          instance_of("flash2_forward_hopper", element_type(run.problem.dtype),
                                      width, run.tiling.Br, run.tiling.Bc, visits_of(kind),
                                      trace_policy(kind.traced), features_argument(features)),
                      .options = knob_options(kind.knobs)},
          .threads = flash2_hopper_threads(run.tiling),
          .shared_bytes = flash2_hopper_layout(width, run.tiling, kind.knobs.stages,
                                               kind.knobs.persistent != 0, features)
                              .bytes,
          .instructions = kHopper};
}

BlockProgram flash2_backward_hopper_program(const ResolvedRun& run, const LaunchKind& kind) {
  const Index d = padded_head_dim(run.problem.d);
  const bool wide = flash2_wide_gradient_holds(d, run.tiling);
  const std::string kernel = wide ? "flash2_backward_wide" : "flash2_backward_hopper";
  return {.program = {.sources = {"kernels/flash2/" + kernel + ".cuh"},
                      .expression =
                          instance_of(kernel, element_type(run.problem.dtype), d, run.tiling.Br,
                                      run.tiling.Bc, visits_of(kind), trace_policy(kind.traced)),
                      .options = knob_options(kind.knobs)},
          .threads = kFlash2HopperThreads,
          .shared_bytes = wide ? flash2_backward_wide_shared_bytes(d, run.tiling)
                               : flash2_backward_hopper_shared_bytes(d, run.tiling),
          .instructions = kHopper};
}

/// The program of a launch over the rows of a tensor.
BlockProgram rows_program(const AttentionProblem& problem, const std::string& kernel) {
  const bool is_fp32 = problem.dtype == DType::fp32;
  return {.program = {.sources = {is_fp32 ? "kernels/flash2/flash2_backward_fp32.cuh"
                                          : "kernels/flash2/flash2_backward_rows.cuh"},
                      .expression = is_fp32 ? "attnscope::kernels::" + kernel + "_fp32"
                                            : instance_of(kernel, element_type(problem.dtype))},
          .threads = kFlash2RowThreads};
}

}  // namespace

std::vector<LaunchProgram> flash2_programs(const ResolvedRun& run, const ProgramTarget& /*target*/,
                                           const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  if (run.pass() == PassKind::forward) {
    if (kind.hopper) return {{"forward", flash2_forward_hopper_program(run, kind)}};
    const BlockShape shape =
        flash2_forward_shape({.problem = problem, .tiling = run.tiling, .knobs = kind.knobs});
    return {{"forward", tiles_program("flash2_forward", run, shape, kind)}};
  }
  const BlockShape shape = flash2_backward_shape({problem, run.tiling});
  return {{"preprocess", rows_program(problem, "flash2_preprocess")},
          {"backward", kind.hopper ? flash2_backward_hopper_program(run, kind)
                                   : tiles_program("flash2_backward", run, shape, kind)},
          {"convert", rows_program(problem, "flash2_convert_dq")}};
}

}  // namespace attnscope::kernels
