#include "kernels/block_shapes.h"

#include <fmt/core.h>

#include <algorithm>

#include "kernels/flash1/flash1_backward_shared.cuh"
#include "kernels/flash1/flash1_forward_shared.cuh"
#include "kernels/flash2/flash2_backward_shared.cuh"
#include "kernels/flash2/flash2_forward_shared.cuh"
#include "kernels/kernel_parameters.h"
#include "kernels/split_kv/split_kv_shared.cuh"
#include "reference/tiling.h"

namespace attnscope::kernels {

namespace {

Index carried_bytes(const BlockRequest& request) {
  return size_bytes(request.carry == Carry::fp32 ? DType::fp32 : request.problem.dtype);
}

Index flash1_score_bytes(const BlockRequest& request) {
  return flash1_score_rows_shared_bytes(score_features(request.problem), request.tiling);
}

/// Bulk copies accept rows whose length is a multiple of this many elements: 16 bytes.
constexpr Index kHopperRowStep = 8;

/// Plain softmax attention in 16-bit precision.
bool is_plain(const AttentionProblem& problem) {
  return problem.dtype != DType::fp32 && !score_features(problem).any();
}

/// Threads of a block in fp32, on the CUDA cores: sixteen threads own four rows.
int cuda_core_threads(const Tiling& tiling) {
  return static_cast<int>(4 * tiling.Br);
}

}  // namespace

BlockShape checked_shape(BlockShapeOf shape_of, const BlockRequest& request) {
  constexpr Index kStep = 16, kMostRows = 256;  // of a tile
  for (const Index side : {request.tiling.Br, request.tiling.Bc}) {
    if (kStep <= side && side <= kMostRows && side % kStep == 0) continue;
    return {.limit =
                fmt::format("the sides of a tile are multiples of {} up to {}", kStep, kMostRows)};
  }
  BlockShape shape = shape_of(request);
  if (shape.limit.empty() && shape.shared_bytes > kMostSharedBytes) {
    shape.limit = fmt::format(
        "a thread block would need {} bytes of shared memory, and no GPU has more than {}",
        shape.shared_bytes, kMostSharedBytes);
  }
  return shape;
}

Index flash1_stages(const BlockRequest& request) {
  return flash1_forward_stages(padded_head_dim(request.problem.d), request.tiling,
                               carried_bytes(request),
                               request.shared_bytes_per_block - flash1_score_bytes(request));
}

BlockShape flash1_forward_shape(const BlockRequest& request) {
  const Tiling& tiling = request.tiling;
  const Index width = padded_head_dim(request.problem.d);
  if (request.problem.dtype == DType::fp32) {
    return {.threads = cuda_core_threads(tiling),
            .shared_bytes = flash2_forward_fp32_shared_bytes(width, tiling)};
  }
  return {.threads = 32 * flash1_forward_warps(tiling),
          .shared_bytes = flash1_forward_shared_bytes(flash1_stages(request), width, tiling,
                                                      carried_bytes(request)) +
                          flash1_score_bytes(request)};
}

BlockShape flash1_backward_shape(const BlockRequest& request) {
  const Tiling& tiling = request.tiling;
  const ScoreFeatures features = flash1_backward_features(request.problem);
  const Index width = flash1_backward_width(padded_head_dim(request.problem.d), features.any());
  const int warps = flash1_backward_warps(width, tiling);
  return {.threads = 32 * warps,
          .shared_bytes = flash1_backward_shared_bytes(width, tiling) +
                          flash1_score_columns_shared_bytes(features, tiling, warps)};
}

BlockShape flash2_forward_shape(const BlockRequest& request) {
  const Tiling& tiling = request.tiling;
  const Knobs& knobs = request.knobs;
  const Index width = padded_head_dim(request.problem.d);
  if (request.problem.dtype == DType::fp32) {
    return {.threads = cuda_core_threads(tiling),
            .shared_bytes = flash2_forward_fp32_shared_bytes(width, tiling)};
  }
  const ScoreFeatures features = score_features(request.problem);
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
  return {.threads = 32 * warps,
          .shared_bytes = std::max(tiles + score_rows_shared_bytes(features, tiling), slice)};
}

BlockShape flash2_backward_shape(const BlockRequest& request) {
  const Tiling& tiling = request.tiling;
  const Index width = padded_head_dim(request.problem.d);
  if (request.problem.dtype == DType::fp32) {
    return {.threads = cuda_core_threads(tiling),
            .shared_bytes = flash2_backward_fp32_shared_bytes(width, tiling),
            .limit = tiling.Br == tiling.Bc ? "" : "in fp32 a tile has as many rows as columns"};
  }
  const int warps = flash2_backward_warps(width, tiling);
  const ScoreFeatures features = score_features(request.problem);
  return {.threads = 32 * warps,
          .shared_bytes = flash2_backward_shared_bytes(width, tiling) +
                          flash2_score_columns_shared_bytes(features, tiling, warps)};
}

BlockShape split_kv_shape(const BlockRequest& request) {
  const Tiling& tiling = request.tiling;
  if (tiling.Br != kSplitRows) {
    return {.limit = fmt::format("a tile of split_kv has {} rows", kSplitRows)};
  }
  const ScoreFeatures features = score_features(request.problem);
  const Index width = split_kv_width(padded_head_dim(request.problem.d), features.any());
  const int warps = split_kv_warps(tiling);
  return {.threads = 32 * warps,
          .shared_bytes = split_kv_shared_bytes(width, tiling) +
                          score_rows_shared_bytes(features, {tiling.Br, tiling.Bc / warps})};
}

bool has_hopper_backward(const AttentionProblem& problem, const Tiling& tiling,
                         const Knobs& /*knobs*/) {
  return is_plain(problem) && problem.d == kFlash1HopperHeadDim && tiling == kFlash1HopperTiling;
}

bool has_hopper_gradients(const AttentionProblem& problem, const Tiling& tiling,
                          const Knobs& /*knobs*/) {
  const Index width = padded_head_dim(problem.d);
  return is_plain(problem) && problem.d % kHopperRowStep == 0 &&
         (flash2_gradient_holds(width, tiling) || flash2_wide_gradient_holds(width, tiling));
}

bool has_hopper_forward(const AttentionProblem& problem, const Tiling& tiling, const Knobs& knobs) {
  const Index width = padded_head_dim(problem.d);
  return problem.dtype != DType::fp32 && problem.d % kHopperRowStep == 0 &&
         flash2_hopper_holds(width, tiling) &&
         flash2_hopper_layout(width, tiling, knobs.stages, knobs.persistent != 0,
                              score_features(problem))
                 .bytes <= kMostSharedBytes;
}

Index hopper_heads_at_once(const AttentionProblem& problem, const Tiling& tiling,
                           const Knobs& knobs) {
  if (knobs.heads_together == 0 || !problem.mask.is_causal() || problem.is_packed()) return 1;
  const Index kv_bytes = 2 * problem.N_kv * problem.d * size_bytes(problem.dtype);
  return flash2_hopper_heads_at_once(problem.batch * problem.kv_heads, problem.heads_per_kv_head(),
                                     kv_bytes, ceil_div(problem.N, tiling.Br));
}

}  // namespace attnscope::kernels
