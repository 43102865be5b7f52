#include "kernels/block_shapes.h"
#include "kernels/catalog.h"
#include "kernels/compile/block_program.h"
#include "kernels/flash2/flash2_backward_shared.cuh"
#include "kernels/flash2/flash2_forward_shared.cuh"
#include "kernels/kernel_parameters.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

namespace {

std::string visits_of(const LaunchKind& kind) {
  return in_device(kind.listed ? "Visits::listed" : "Visits::all");
}

/// The program of the launch that computes the pass's tiles: `kernel` is flash2/flash2_forward or
/// flash2/flash2_backward.
BlockProgram tiles_program(const std::string& kernel, const ResolvedRun& run,
                           const BlockShape& shape, const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  const auto& [Br, Bc] = run.tiling;
  const Index width = padded_head_dim(problem.d);
  const std::string trace = trace_policy(kind.traced);
  if (problem.dtype == DType::fp32) {
    return products_program(kernel_program(kernel + "_fp32", width, Br, Bc, trace), shape,
                            problem.dtype, kind);
  }
  return products_program(
      kernel_program(kernel, element_type(problem.dtype), width, Br, Bc, shape.threads / 32,
                     columns_policy(problem.d, width), visits_of(kind), trace,
                     features_argument(score_features(problem))),
      shape, problem.dtype, kind);
}

BlockProgram hopper_forward_program(const ResolvedRun& run, const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  const auto& [Br, Bc] = run.tiling;
  const Index width = padded_head_dim(problem.d);
  const ScoreFeatures features = score_features(problem);
  const Flash2HopperLayout layout = flash2_hopper_layout(width, run.tiling, kind.knobs.stages,
                                                         kind.knobs.persistent != 0, features);
  return products_program(
      kernel_program("flash2/flash2_forward_hopper", element_type(problem.dtype), width, Br, Bc,
                     visits_of(kind), trace_policy(kind.traced), features_argument(features)),
      {flash2_hopper_threads(run.tiling), layout.bytes}, problem.dtype, kind);
}

BlockProgram hopper_backward_program(const ResolvedRun& run, const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  const auto& [Br, Bc] = run.tiling;
  const Index width = padded_head_dim(problem.d);
  const bool wide = flash2_wide_gradient_holds(width, run.tiling);
  return products_program(
      kernel_program(wide ? "flash2/flash2_backward_wide" : "flash2/flash2_backward_hopper",
                     element_type(problem.dtype), width, Br, Bc, visits_of(kind),
                     trace_policy(kind.traced)),
      {kFlash2HopperThreads, wide ? flash2_backward_wide_shared_bytes(width, run.tiling)
                                  : flash2_backward_hopper_shared_bytes(width, run.tiling)},
      problem.dtype, kind);
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

/// Backward: "preprocess" sets D = rowsum(dO * O) and dQ_accum = 0; "convert" rounds
/// dQ = softmax_scale dQ_accum.
std::vector<LaunchProgram> flash2_programs(const ResolvedRun& run, const ProgramTarget& /*target*/,
                                           const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  if (run.pass() == PassKind::forward) {
    if (kind.hopper) return {{"forward", hopper_forward_program(run, kind)}};
    const BlockShape shape =
        flash2_forward_shape({.problem = problem, .tiling = run.tiling, .knobs = kind.knobs});
    return {{"forward", tiles_program("flash2/flash2_forward", run, shape, kind)}};
  }
  const BlockShape shape = flash2_backward_shape({problem, run.tiling});
  return {{"preprocess", rows_program(problem, "flash2_preprocess")},
          {"backward", kind.hopper ? hopper_backward_program(run, kind)
                                   : tiles_program("flash2/flash2_backward", run, shape, kind)},
          {"convert", rows_program(problem, "flash2_convert_dq")}};
}

}  // namespace attnscope::kernels
