/// The SM resources that a thread block of a kernel's tile launch needs, in any tiling. Plain C++,
/// computed by the functions that the kernels themselves are compiled with.
#pragma once

#include <string>

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
using BlockShapeOf = BlockShape (*)(const AttentionProblem& problem, const Tiling& tiling,
                                    Carry carry);
BlockShape flash1_forward_shape(const AttentionProblem& problem, const Tiling& tiling, Carry carry);
BlockShape flash1_backward_shape(const AttentionProblem& problem, const Tiling& tiling,
                                 Carry carry);
BlockShape flash2_forward_shape(const AttentionProblem& problem, const Tiling& tiling, Carry carry);
BlockShape flash2_backward_shape(const AttentionProblem& problem, const Tiling& tiling,
                                 Carry carry);
BlockShape split_kv_shape(const AttentionProblem& problem, const Tiling& tiling, Carry carry);

}  // namespace attnscope::kernels
