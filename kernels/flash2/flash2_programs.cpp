#include <algorithm>

#include "kernels/catalog.h"
#include "kernels/compile/block_program.h"
#include "kernels/flash2/flash2_backward_shared.cuh"
#include "kernels/flash2/flash2_forward_shared.cuh"
#include "kernels/kernel_parameters.h"
#include "reference/schedule_variant.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

namespace {

std::string visits_of(const LaunchKind& kind) {
  return in_device(kind.listed ? "Visits::listed" : "Visits::all");
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
      flash2_hopper_threads(run.tiling), layout.bytes, problem.dtype, kind);
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
      kFlash2HopperThreads,
      wide ? flash2_backward_wide_shared_bytes(width, run.tiling)
           : flash2_backward_hopper_shared_bytes(width, run.tiling),
      problem.dtype, kind);
}

/// Bulk copies accept rows whose length is a multiple of this many elements: 16 bytes.
constexpr Index kHopperRowStep = 8;

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

BlockProgram flash2_forward_block(const ResolvedRun& run, Index /*shared_bytes_per_block*/,
                                  const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  const Tiling& tiling = run.tiling;
  const Knobs& knobs = kind.knobs;
  const Index width = padded_head_dim(problem.d);
  const std::string trace = trace_policy(kind.traced);
  if (problem.dtype == DType::fp32) {
    return products_program(
        kernel_program("flash2/flash2_forward_fp32", width, tiling.Br, tiling.Bc, trace),
        cuda_core_threads(tiling), flash2_forward_fp32_shared_bytes(width, tiling), problem.dtype,
        kind);
  }
  if (kind.hopper) return hopper_forward_program(run, kind);
  const ScoreFeatures features = score_features(problem);
  const bool sliced = knobs.sliced_k != 0;
  if (sliced && features.dropout) {
    return {.limit = "dropout needs warps with their own rows (partition split-q)"};
  }
  const int own_warps =
      sliced ? flash2_sliced_warps(tiling) : flash2_forward_warps(width, tiling, features.any());
  const int warps = knobs.warps > 0 ? knobs.warps : own_warps;
  const Index shared_side = sliced ? tiling.Bc : tiling.Br;
  if (shared_side % (16 * warps) != 0) {
    return {.limit = fmt::format("{} warps cannot share {} {} in pieces of 16", warps, shared_side,
                                 sliced ? "keys" : "rows")};
  }
  const Index tiles = flash2_forward_shared_bytes(width, tiling, knobs.stages);
  const Index slice = sliced ? flash2_slice_bytes(width, tiling.Br) : 0;
  return products_program(
      kernel_program("flash2/flash2_forward", element_type(problem.dtype), width, tiling.Br,
                     tiling.Bc, warps, columns_policy(problem.d, width), visits_of(kind), trace,
                     features_argument(features)),
      32 * warps, std::max(tiles + score_rows_shared_bytes(features, tiling), slice), problem.dtype,
      kind);
}

BlockProgram flash2_backward_block(const ResolvedRun& run, Index /*shared_bytes_per_block*/,
                                   const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  const auto& [Br, Bc] = run.tiling;
  const Index width = padded_head_dim(problem.d);
  const std::string trace = trace_policy(kind.traced);
  if (problem.dtype == DType::fp32) {
    BlockProgram block =
        products_program(kernel_program("flash2/flash2_backward_fp32", width, Br, Bc, trace),
                         cuda_core_threads(run.tiling),
                         flash2_backward_fp32_shared_bytes(width, run.tiling), problem.dtype, kind);
    if (Br != Bc) block.limit = "in fp32 a tile has as many rows as columns";
    return block;
  }
  if (kind.hopper) return hopper_backward_program(run, kind);
  const int warps = flash2_backward_warps(width, run.tiling);
  const ScoreFeatures features = score_features(problem);
  return products_program(kernel_program("flash2/flash2_backward", element_type(problem.dtype),
                                         width, Br, Bc, warps, columns_policy(problem.d, width),
                                         visits_of(kind), trace, features_argument(features)),
                          32 * warps,
                          flash2_backward_shared_bytes(width, run.tiling) +
                              flash2_score_columns_shared_bytes(features, run.tiling, warps),
                          problem.dtype, kind);
}

bool flash2_hopper_backward_takes(const AttentionProblem& problem, const Tiling& tiling,
                                  const Knobs& /*knobs*/) {
  const Index width = padded_head_dim(problem.d);
  return problem.dtype != DType::fp32 && !score_features(problem).any() &&
         problem.d % kHopperRowStep == 0 &&
         (flash2_gradient_holds(width, tiling) || flash2_wide_gradient_holds(width, tiling));
}

static_assert(!flash2_hopper_holds(64, {64 * (kMaxConsumers + 1), 64}),
              "flash2's kernel has more consumers than its model");

bool flash2_hopper_forward_takes(const AttentionProblem& problem, const Tiling& tiling,
                                 const Knobs& knobs) {
  const Index width = padded_head_dim(problem.d);
  return problem.dtype != DType::fp32 && problem.d % kHopperRowStep == 0 &&
         flash2_hopper_holds(width, tiling) &&
         flash2_hopper_layout(width, tiling, knobs.stages, knobs.persistent != 0,
                              score_features(problem))
                 .bytes <= kMostSharedBytes;
}

/// Backward: "preprocess" sets D = rowsum(dO * O) and dQ_accum = 0; "convert" rounds
/// dQ = softmax_scale dQ_accum.
std::vector<LaunchProgram> flash2_programs(const ResolvedRun& run, const ProgramTarget& target,
                                           const LaunchKind& kind) {
  const Index shared_bytes = target.shared_bytes_per_block;
  if (run.pass() == PassKind::forward) {
    return {{"forward", flash2_forward_block(run, shared_bytes, kind)}};
  }
  return {{"preprocess", rows_program(run.problem, "flash2_preprocess")},
          {"backward", flash2_backward_block(run, shared_bytes, kind)},
          {"convert", rows_program(run.problem, "flash2_convert_dq")}};
}

}  // namespace attnscope::kernels
