/// FlashAttention-1 forward (arXiv 2205.14135, Algorithm 1).
#pragma once

#include "sim/schedule/algorithm.h"

namespace attnscope {

/// The program of one thread block: one head. K_j, V_j stay on chip for a sweep over i; O_i, l_i,
/// m_i travel through HBM in every sweep, O normalised. Line 2's O = 0, l = 0, m = -inf is the
/// state of HBM before the launch; the first sweep reads it like any other, unless the variant
/// skips those reads. Without a mask, per head: reads 2 N_kv d + Tc (2 N d + 2 N), writes
/// Tc (N d + 2 N) elements; skipping saves N d + 2 N.
void flash1_forward(const TileGrid& g, Index block, Program& program);

/// With the fp32 carry, O travels as O_carry and a second launch, "convert", rounds it.
Pass flash1_forward_pass(const ScheduleOptions& options);

}  // namespace attnscope
