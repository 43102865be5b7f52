#include "kernels/block_shapes.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "kernels/flash1/flash1_backward_shared.cuh"
#include "kernels/flash1/flash1_forward_shared.cuh"
#include "kernels/flash2/flash2_backward_shared.cuh"
#include "kernels/flash2/flash2_forward_shared.cuh"
#include "kernels/host/hopper.h"
#include "kernels/kernel_parameters.h"
#include "kernels/split_kv/split_kv_shared.cuh"
#include "reference/head_dim.h"

namespace attnscope::kernels {

namespace {

/// The refusal of a tile whose sides no kernel takes; the geometry below divides by them.
std::optional<BlockShape> refused_sides(const Tiling& tiling) {
  constexpr Index kStep = 16, kMostRows = 256;  // of a tile
  const auto takes = [](Index side) {
    return kStep <= side && side <= kMostRows && side % kStep == 0;
  };
  if (takes(tiling.Br) && takes(tiling.Bc)) return std::nullopt;
  return BlockShape{
      .limit = fmt::format("the sides of a tile are multiples of {} up to {}", kStep, kMostRows)};
}

/// The shape, with a limit if its shared memory fits no GPU.
BlockShape checked(BlockShape shape) {
  if (shape.limit.empty() && shape.shared_bytes > kMostSharedBytes) {
    shape.limit = fmt::format(
        "a thread block would need {} bytes of shared memory, and no GPU has more than {}",
        shape.shared_bytes, kMostSharedBytes);
  }
  return shape;
}

Index carried_bytes(const AttentionProblem& problem, Carry carry) {
  return size_bytes(carry == Carry::fp32 ? DType::fp32 : problem.dtype);
}

Index flash1_score_bytes(const AttentionProblem& problem, const Tiling& tiling) {
  return flash1_score_rows_shared_bytes(score_features(problem), tiling);
}

}  // namespace

Index flash1_stages(const AttentionProblem& problem, const Tiling& tiling, Carry carry,
                    Index shared_bytes_per_block) {
  return flash1_forward_stages(padded_head_dim(problem.d), tiling, carried_bytes(problem, carry),
                               shared_bytes_per_block - flash1_score_bytes(problem, tiling));
}

BlockShape flash1_forward_shape(const AttentionProblem& problem, const Tiling& tiling, Carry carry,
                                Index shared_bytes_per_block, const Knobs& /*knobs*/) {
  if (auto refused = refused_sides(tiling)) return *refused;
  const Index width = padded_head_dim(problem.d);
  if (problem.dtype == DType::fp32) {
    return checked({.threads = static_cast<int>(4 * tiling.Br),
                    .shared_bytes = flash2_forward_fp32_shared_bytes(width, tiling)});
  }
  const Index stages = flash1_stages(problem, tiling, carry, shared_bytes_per_block);
  return checked({.threads = 32 * flash1_forward_warps(tiling),
                  .shared_bytes = flash1_forward_shared_bytes(stages, width, tiling,
                                                              carried_bytes(problem, carry)) +
                                  flash1_score_bytes(problem, tiling)});
}

BlockShape flash1_backward_shape(const AttentionProblem& problem, const Tiling& tiling,
                                 Carry /*carry*/, Index /*shared_bytes_per_block*/,
                                 const Knobs& /*knobs*/) {
  if (auto refused = refused_sides(tiling)) return *refused;
  const ScoreFeatures features = flash1_backward_features(problem);
  const Index width = flash1_backward_width(padded_head_dim(problem.d), features.any());
  const int warps = flash1_backward_warps(width, tiling);
  return checked({.threads = 32 * warps,
                  .shared_bytes = flash1_backward_shared_bytes(width, tiling) +
                                  flash1_score_columns_shared_bytes(features, tiling, warps)});
}

BlockShape flash2_forward_shape(const AttentionProblem& problem, const Tiling& tiling,
                                Carry /*carry*/, Index /*shared_bytes_per_block*/,
                                const Knobs& knobs) {
  if (auto refused = refused_sides(tiling)) return *refused;
  const Index width = padded_head_dim(problem.d);
  if (problem.dtype == DType::fp32) {
    return checked({.threads = static_cast<int>(4 * tiling.Br),
                    .shared_bytes = flash2_forward_fp32_shared_bytes(width, tiling)});
  }
  const ScoreFeatures features = score_features(problem);
  const bool sliced = knobs.sliced_k != 0;
  if (sliced && features.dropout) {
    return {.limit = "dropout is drawn by warps that have rows of their own (partition split-q)"};
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
  return checked(
      {.threads = 32 * warps,
       .shared_bytes = std::max(tiles + score_rows_shared_bytes(features, tiling), slice)});
}

BlockShape flash2_backward_shape(const AttentionProblem& problem, const Tiling& tiling,
                                 Carry /*carry*/, Index /*shared_bytes_per_block*/,
                                 const Knobs& /*knobs*/) {
  if (auto refused = refused_sides(tiling)) return *refused;
  const Index width = padded_head_dim(problem.d);
  if (problem.dtype == DType::fp32) {
    return checked(
        {.threads = static_cast<int>(4 * tiling.Br),
         .shared_bytes = flash2_backward_fp32_shared_bytes(width, tiling),
         .limit = tiling.Br == tiling.Bc ? "" : "in fp32 a tile has as many rows as columns"});
  }
  const int warps = flash2_backward_warps(width, tiling);
  const ScoreFeatures features = score_features(problem);
  return checked({.threads = 32 * warps,
                  .shared_bytes = flash2_backward_shared_bytes(width, tiling) +
                                  flash2_score_columns_shared_bytes(features, tiling, warps)});
}

BlockShape split_kv_shape(const AttentionProblem& problem, const Tiling& tiling, Carry /*carry*/,
                          Index /*shared_bytes_per_block*/, const Knobs& /*knobs*/) {
  if (auto refused = refused_sides(tiling)) return *refused;
  if (tiling.Br != kSplitRows) {
    return {.limit = fmt::format("a tile of split_kv has {} rows", kSplitRows)};
  }
  const ScoreFeatures features = score_features(problem);
  const Index width = split_kv_width(padded_head_dim(problem.d), features.any());
  const int warps = split_kv_warps(tiling);
  return checked(
      {.threads = 32 * warps,
       .shared_bytes = split_kv_shared_bytes(width, tiling) +
                       score_rows_shared_bytes(features, {tiling.Br, tiling.Bc / warps})});
}

bool has_hopper_backward(const AttentionProblem& problem, const Tiling& tiling,
                         const Knobs& knobs) {
  return knobs == Knobs{.visit_hidden = knobs.visit_hidden} && problem.dtype != DType::fp32 &&
         problem.d == kHopperHeadDim && tiling == kHopperTiling && !score_features(problem).any();
}

}  // namespace attnscope::kernels
