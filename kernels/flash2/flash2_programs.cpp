#include "kernels/flash2/flash2_programs.h"

#include <algorithm>
#include <bit>

#include "kernels/block_shapes.h"
#include "kernels/flash2/flash2_backward_shared.cuh"
#include "kernels/host/hopper.h"
#include "kernels/kernel_parameters.h"
#include "reference/head_dim.h"

namespace attnscope::kernels {

namespace {

std::string visits_of(const LaunchKind& kind) {
  return in_device(kind.listed ? "Visits::listed" : "Visits::all");
}

/// In fp32, on the CUDA cores, four threads own four rows.
BlockProgram fp32_program(const std::string& file, std::string_view kernel,
                          const AttentionProblem& problem, const Tiling& tiling,
                          const LaunchKind& kind, const BlockShape& shape) {
  const Index width = padded_head_dim(problem.d);
  return {.program = {.sources = {file},
                      .expression = instance_of(kernel, width, tiling.Br, tiling.Bc,
                                                trace_policy(kind.traced))},
          .threads = shape.threads,
          .shared_bytes = shape.shared_bytes,
          .instructions = kCudaCores};
}

/// Of a launch that goes through the rows of a tensor.
BlockProgram rows_program(const AttentionProblem& problem, const std::string& kernel) {
  const bool is_fp32 = problem.dtype == DType::fp32;
  return {.program = {.sources = {is_fp32 ? "kernels/flash2/flash2_backward_fp32.cuh"
                                          : "kernels/flash2/flash2_backward_rows.cuh"},
                      .expression = is_fp32 ? "attnscope::kernels::" + kernel + "_fp32"
                                            : instance_of(kernel, element_type(problem.dtype))},
          .threads = kFlash2RowThreads};
}

}  // namespace

BlockProgram flash2_forward_program(const AttentionProblem& problem, const Tiling& tiling,
                                    const LaunchKind& kind) {
  const BlockShape shape =
      flash2_forward_shape(problem, tiling, Carry::problem, kMostSharedBytes, kind.knobs);
  if (problem.dtype == DType::fp32) {
    return fp32_program("kernels/flash2/flash2_forward_fp32.cuh", "flash2_forward_fp32", problem,
                        tiling, kind, shape);
  }
  return {.program = {.sources = {"kernels/flash2/flash2_forward.cuh"},
                      .expression = instance_of(
                          "flash2_forward", element_type(problem.dtype), padded_head_dim(problem.d),
                          tiling.Br, tiling.Bc, shape.threads / 32,
                          columns_policy(problem.d, padded_head_dim(problem.d)), visits_of(kind),
                          trace_policy(kind.traced), features_argument(score_features(problem))),
                      .options = knob_options(kind.knobs)},
          .threads = shape.threads,
          .shared_bytes = shape.shared_bytes,
          .instructions = kTensorCores};
}

BlockProgram flash2_preprocess_program(const AttentionProblem& problem) {
  return rows_program(problem, "flash2_preprocess");
}

int preprocess_lanes(const AttentionProblem& problem) {
  constexpr Index kChunkElements = 8;  // that a thread reads at once
  return static_cast<int>(
      std::bit_ceil(static_cast<unsigned>(ceil_div(problem.d, kChunkElements))));
}

BlockProgram flash2_backward_program(const AttentionProblem& problem, const Tiling& tiling,
                                     const LaunchKind& kind) {
  const BlockShape shape = flash2_backward_shape(problem, tiling, Carry::problem);
  if (problem.dtype == DType::fp32) {
    return fp32_program("kernels/flash2/flash2_backward_fp32.cuh", "flash2_backward_fp32", problem,
                        tiling, kind, shape);
  }
  return {.program = {.sources = {"kernels/flash2/flash2_backward.cuh"},
                      .expression = instance_of(
                          "flash2_backward", element_type(problem.dtype),
                          padded_head_dim(problem.d), tiling.Br, tiling.Bc, shape.threads / 32,
                          columns_policy(problem.d, padded_head_dim(problem.d)), visits_of(kind),
                          trace_policy(kind.traced), features_argument(score_features(problem))),
                      .options = knob_options(kind.knobs)},
          .threads = shape.threads,
          .shared_bytes = shape.shared_bytes,
          .instructions = kTensorCores};
}

BlockProgram flash2_backward_hopper_program(const AttentionProblem& problem, const Tiling& tiling,
                                            const LaunchKind& kind) {
  return {.program = {.sources = {"kernels/flash2/flash2_backward_hopper.cuh"},
                      .expression = instance_of(
                          "flash2_backward_hopper", element_type(problem.dtype), problem.d,
                          tiling.Br, tiling.Bc, visits_of(kind), trace_policy(kind.traced)),
                      .options = knob_options(kind.knobs)},
          .threads = kFlash2HopperThreads,
          .shared_bytes = flash2_backward_hopper_shared_bytes(problem.d, tiling),
          .instructions = kHopper};
}

BlockProgram flash2_convert_dq_program(const AttentionProblem& problem) {
  return rows_program(problem, "flash2_convert_dq");
}

std::vector<LaunchProgram> flash2_programs(const ResolvedRun& run, const ProgramTarget& target,
                                           const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  if (run.pass() == PassKind::forward) {
    return {{"forward", flash2_forward_program(problem, run.tiling, kind)}};
  }
  const bool on_hopper = target.compute_capability == kHopperComputeCapability &&
                         !run.asked.deterministic &&
                         has_hopper_backward(problem, run.tiling, kind.knobs);
  return with_sum_heads(
      {{"preprocess", flash2_preprocess_program(problem)},
       {"backward", on_hopper ? flash2_backward_hopper_program(problem, run.tiling, kind)
                              : flash2_backward_program(problem, run.tiling, kind)},
       {"convert", flash2_convert_dq_program(problem)}},
      problem);
}

}  // namespace attnscope::kernels
