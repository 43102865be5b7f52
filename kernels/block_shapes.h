/// The SM resources that a thread block of a kernel's tile launch needs, in any tiling. Plain C++,
/// computed by the functions that the kernels themselves are compiled with.
#pragma once

#include <string>
#include <string_view>

#include "kernels/knobs.h"
#include "reference/attention_problem.h"
#include "reference/schedule_variant.h"

namespace attnscope::kernels {

struct BlockShape {
  int threads = 0;
  Index shared_bytes = 0;  ///< dynamic
  std::string limit = {};  ///< in one clause, why no block can compute this tiling; else empty
};

/// Shared memory of a block on the GPUs that have the most: 227 KiB.
inline constexpr Index kMostSharedBytes = Index{227} * 1024;

/// The GPUs that have Hopper's instructions.
inline constexpr std::string_view kHopperComputeCapability = "9.0";

/// The properties of a GPU that determine the tiles and programs of a run. The defaults describe no
/// particular GPU: the programs that every GPU runs, and the most shared memory.
struct ProgramTarget {
  std::string compute_capability = {};  ///< "9.0"
  Index shared_bytes_per_block = kMostSharedBytes;
  bool bulk_copies = true;  ///< bulk copies can address the run's tensors

  bool has_hopper_instructions() const {
    return bulk_copies && compute_capability == kHopperComputeCapability;
  }
};

/// The work of a block, and the GPU that it runs on.
struct BlockRequest {
  const AttentionProblem& problem;
  Tiling tiling;
  Carry carry = Carry::problem;  ///< the precision of O in HBM between passes
  /// if this is smaller, flash1's forward pass uses fewer stages
  Index shared_bytes_per_block = kMostSharedBytes;
  Knobs knobs = {};
};

/// The shape of a thread block, for each kernel and pass. The sides of the tile are multiples of
/// 16.
using BlockShapeOf = BlockShape (*)(const BlockRequest& request);
BlockShape flash1_forward_shape(const BlockRequest& request);
BlockShape flash1_backward_shape(const BlockRequest& request);
BlockShape flash2_forward_shape(const BlockRequest& request);
BlockShape flash2_backward_shape(const BlockRequest& request);
BlockShape split_kv_shape(const BlockRequest& request);

/// The shape in any tiling. Its `limit` is also set if no kernel accepts the sides of the tile or
/// no GPU has enough shared memory.
BlockShape checked_shape(BlockShapeOf shape_of, const BlockRequest& request);

/// KernelPass::hopper_holds of flash1's backward pass: plain softmax attention in 16-bit precision,
/// with one head dimension and tiling.
bool has_hopper_backward(const AttentionProblem& problem, const Tiling& tiling,
                         const Knobs& knobs = {});

/// The same for flash2's backward pass: plain softmax attention in 16-bit precision, with rows that
/// bulk copies accept and tilings whose gradients fit in a thread block's registers.
bool has_hopper_gradients(const AttentionProblem& problem, const Tiling& tiling,
                          const Knobs& knobs = {});

/// The same for flash2's forward pass: 16-bit precision, rows that bulk copies accept (multiples of
/// 16 bytes), tilings whose O, S and P fit in a thread block's registers and whose tiles fit in its
/// shared memory.
bool has_hopper_forward(const AttentionProblem& problem, const Tiling& tiling,
                        const Knobs& knobs = {});

/// The number of heads whose row tiles with the same index are started one after another by that
/// program: several under a causal mask, so that the longest tiles start first
/// (flash2_hopper_heads_at_once()).
Index hopper_heads_at_once(const AttentionProblem& problem, const Tiling& tiling,
                           const Knobs& knobs);

/// Stages of flash1's forward pass in 16-bit precision: the most that fit beside the score
/// features.
Index flash1_stages(const BlockRequest& request);

}  // namespace attnscope::kernels
