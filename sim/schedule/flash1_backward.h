/// FlashAttention-1 backward (arXiv 2205.14135, Algorithm 4).
#pragma once

#include "sim/schedule/algorithm.h"

namespace attnscope {

/// The program of one thread block: one head. dK_j, dV_j stay on chip for a sweep over i; dQ_i
/// travels through HBM in every sweep; D_i is computed anew in every step, from O_i and dO_i.
/// dQ = 0 in HBM (line 5) is the state of HBM before the launch. Without a mask, per head: reads
/// 2 N_kv d + Tc (4 N d + 2 N), writes Tc N d + 2 N_kv d elements. Variants: D computed once, by a
/// launch "row_dots" (2 N d read, N written, and N in place of N d in every sweep); dQ not read at
/// a row tile's first visit (N d less).
void flash1_backward(const TileGrid& g, Index block, Program& program);

/// With the fp32 carry, dQ travels as dQ_accum and a launch, "convert", rounds it.
Pass flash1_backward_pass(const ScheduleOptions& options);

}  // namespace attnscope
