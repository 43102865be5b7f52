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

constexpr const char* kTooManyRegisters =
    "with Hopper's instructions the tiles do not fit in a thread block's registers";

std::string visits_of(const LaunchKind& kind) {
  return in_device(kind.listed ? "Visits::listed" : "Visits::all");
}

/// The program of a launch over the rows of a tensor.
BlockProgram rows_program(const AttentionProblem& problem, const std::string& kernel) {
  const bool is_fp32 = problem.dtype == DType::fp32;
  return {.program = {.source = is_fp32 ? "kernels/flash2/flash2_backward_fp32.cuh"
                                        : "kernels/flash2/flash2_backward_rows.cuh",
                      .expression = is_fp32 ? "attnscope::kernels::" + kernel + "_fp32"
                                            : instance_of(kernel, problem.dtype)},
          .threads = kFlash2RowThreads};
}

BlockProgram flash2_forward_block(const ResolvedRun& run, const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  const Tiling& tiling = run.tiling;
  const Knobs& knobs = kind.knobs;
  const Index width = padded_head_dim(problem.d);
  if (problem.dtype == DType::fp32) {
    return cuda_core_program(run, kind, "flash2/flash2_forward_fp32",
                             flash2_forward_fp32_shared_bytes(width, tiling));
  }
  const ScoreFeatures features = score_features(problem);
  if (kind.hopper) {
    static_assert(!flash2_hopper_holds(64, {64 * (kMaxConsumers + 1), 64}),
                  "flash2's kernel has more consumers than its model");
    if (!flash2_hopper_holds(width, tiling)) return {.limit = kTooManyRegisters};
    const Flash2HopperLayout layout =
        flash2_hopper_layout(width, tiling, knobs.stages, knobs.persistent != 0, features);
    return products_program(run, kind, "flash2/flash2_forward_hopper",
                            flash2_hopper_threads(tiling), layout.bytes, problem.dtype, width,
                            tiling, visits_of(kind), trace_policy(kind.traced), features);
  }
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
  return products_program(run, kind, "flash2/flash2_forward", 32 * warps,
                          std::max(tiles + score_rows_shared_bytes(features, tiling), slice),
                          problem.dtype, width, tiling, warps, columns_policy(problem.d, width),
                          visits_of(kind), trace_policy(kind.traced), features);
}

BlockProgram flash2_backward_block(const ResolvedRun& run, const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  const Tiling& tiling = run.tiling;
  const Index width = padded_head_dim(problem.d);
  if (problem.dtype == DType::fp32) {
    if (tiling.Br != tiling.Bc) return {.limit = "in fp32 a tile has as many rows as columns"};
    return cuda_core_program(run, kind, "flash2/flash2_backward_fp32",
                             flash2_backward_fp32_shared_bytes(width, tiling));
  }
  const ScoreFeatures features = score_features(problem);
  if (kind.hopper) {
    const bool wide = flash2_wide_gradient_holds(width, tiling);
    if (features.any())
      return {.limit = "the program for Hopper takes only plain softmax attention"};
    if (!wide && !flash2_gradient_holds(width, tiling)) return {.limit = kTooManyRegisters};
    return products_program(
        run, kind, wide ? "flash2/flash2_backward_wide" : "flash2/flash2_backward_hopper",
        kFlash2HopperThreads,
        wide ? flash2_backward_wide_shared_bytes(width, tiling)
             : flash2_backward_hopper_shared_bytes(width, tiling),
        problem.dtype, width, tiling, visits_of(kind), trace_policy(kind.traced));
  }
  const int warps = flash2_backward_warps(width, tiling);
  return products_program(run, kind, "flash2/flash2_backward", 32 * warps,
                          flash2_backward_shared_bytes(width, tiling) +
                              flash2_score_columns_shared_bytes(features, tiling, warps),
                          problem.dtype, width, tiling, warps, columns_policy(problem.d, width),
                          visits_of(kind), trace_policy(kind.traced), features);
}

}  // namespace

/// Backward: "preprocess" sets D = rowsum(dO * O) and dQ_accum = 0; "convert" rounds
/// dQ = softmax_scale dQ_accum.
std::vector<LaunchProgram> flash2_programs(const ResolvedRun& run, const LaunchKind& kind) {
  if (run.pass() != PassKind::backward) return {{"forward", flash2_forward_block(run, kind)}};
  return {{"preprocess", rows_program(run.problem, "flash2_preprocess")},
          {"backward", flash2_backward_block(run, kind)},
          {"convert", rows_program(run.problem, "flash2_convert_dq")}};
}

}  // namespace attnscope::kernels
