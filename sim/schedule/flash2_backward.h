/// FlashAttention-2 backward (arXiv 2307.08691, Algorithm 2).
#pragma once

#include "sim/schedule/algorithm.h"

namespace attnscope {

/// "preprocess": row tile i of D = rowsum(dO * O), and dQ_accum = 0.
void flash2_preprocess(const TileGrid& g, Index block, Program& program);

/// "backward", the program of one thread block: column tile j of one head. dK_j, dV_j stay on chip
/// for the whole sweep over i; every block that sees row tile i adds to dQ_i in fp32, atomically
/// (in L2). Without a mask, per head: reads 2 N_kv d + Tc (2 N d + 2 N), adds Tc N d in fp32.
void flash2_backward(const TileGrid& g, Index block, Program& program);

/// preprocess, backward, convert (dQ_accum to dQ); with grouped heads, sum_heads after them.
Pass flash2_backward_pass(const ScheduleOptions& options);

}  // namespace attnscope
