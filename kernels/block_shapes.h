/// The SM resources that a thread block of a kernel's tile launch needs, in any tiling. Plain C++,
/// computed by the functions that the kernels themselves are compiled with.
#pragma once

#include <string>

#include "kernels/knobs.h"
#include "reference/attention_problem.h"
#include "reference/schedule_variant.h"

namespace attnscope::kernels {

struct BlockShape {
  int threads = 0;
  Index shared_bytes = 0;  ///< dynamic
  std::string limit = {};  ///< why no block can compute this tiling, in one clause; else empty
};

/// Shared memory of a block on the GPUs that have the most: 227 KiB.
inline constexpr Index kMostSharedBytes = Index{227} * 1024;

/// The shapes for a problem, by kernel and pass; `carry`: the precision of O in HBM between passes.
/// flash1's forward pass takes fewer stages where `shared_bytes_per_block` is less than
/// kMostSharedBytes.
using BlockShapeOf = BlockShape (*)(const AttentionProblem& problem, const Tiling& tiling,
                                    Carry carry, Index shared_bytes_per_block, const Knobs& knobs);
BlockShape flash1_forward_shape(const AttentionProblem& problem, const Tiling& tiling, Carry carry,
                                Index shared_bytes_per_block = kMostSharedBytes,
                                const Knobs& knobs = {});
BlockShape flash1_backward_shape(const AttentionProblem& problem, const Tiling& tiling, Carry carry,
                                 Index shared_bytes_per_block = kMostSharedBytes,
                                 const Knobs& knobs = {});
BlockShape flash2_forward_shape(const AttentionProblem& problem, const Tiling& tiling, Carry carry,
                                Index shared_bytes_per_block = kMostSharedBytes,
                                const Knobs& knobs = {});
BlockShape flash2_backward_shape(const AttentionProblem& problem, const Tiling& tiling, Carry carry,
                                 Index shared_bytes_per_block = kMostSharedBytes,
                                 const Knobs& knobs = {});
BlockShape split_kv_shape(const AttentionProblem& problem, const Tiling& tiling, Carry carry,
                          Index shared_bytes_per_block = kMostSharedBytes, const Knobs& knobs = {});

/// Whether the backward passes of flash1 and flash2 have a program that uses Hopper's instructions
/// for this: plain softmax attention, in 16 bits, in one head dimension and tiling, without a
/// switch. That of flash2 adds up dQ in an arbitrary order.
bool has_hopper_backward(const AttentionProblem& problem, const Tiling& tiling,
                         const Knobs& knobs = {});

/// Stages of flash1's forward pass in 16 bits: as many as fit beside what score features need.
Index flash1_stages(const AttentionProblem& problem, const Tiling& tiling, Carry carry,
                    Index shared_bytes_per_block);

}  // namespace attnscope::kernels
