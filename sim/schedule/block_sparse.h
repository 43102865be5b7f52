/// Block-sparse FlashAttention: only the tiles (i, j) with M_ij = 1 in AttentionProblem::block_mask
/// are computed; without a block mask, all tiles are. Within these tiles the mask's band applies as
/// well. A row tile without ones gives O = 0 and LSE = -inf. Reading M itself is not counted, as in
/// the paper.
///
/// `block_sparse` is the paper's Algorithm 5 (arXiv 2205.14135) and its backward pass: the programs
/// of FlashAttention-1 behind the guard M_ij = 1. K_j, V_j are loaded outside the guard, as
/// printed; ScheduleVariant::skip_unused_kv does not load those that no row tile computes. With s
/// the density and even tiles, per head, reads and writes: 2 N_kv d + s Tc (3 N d + 4 N) elements
/// forward, 4 N_kv d + s Tc (5 N d + 2 N) backward.
///
/// `block_sparse2` has FlashAttention-2's loops, those of a GPU kernel: row tiles (backward: column
/// tiles) outermost and in parallel, each with its list of column tiles (backward: row tiles).
/// Forward, per head: reads
/// N d + s Tr 2 N_kv d, writes N d and N row statistics.
#pragma once

#include "sim/schedule/algorithm.h"

namespace attnscope {

Pass block_sparse_forward_pass(const ScheduleOptions& options);
Pass block_sparse_backward_pass(const ScheduleOptions& options);
Pass block_sparse2_forward_pass(const ScheduleOptions& options);
Pass block_sparse2_backward_pass(const ScheduleOptions& options);

}  // namespace attnscope
