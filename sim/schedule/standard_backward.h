/// Standard attention, backward (arXiv 2205.14135, Algorithm 3), from the stored P: five launches,
/// dP and dS in HBM.
#pragma once

#include "sim/schedule/algorithm.h"

namespace attnscope {

/// "dV": column tile j of dV = P^T dO. "dP": tile (i, j) of dP = dO V^T. "dS": a few whole rows of
/// dS = P (dP - rowsum(P dP)), in panels and two sweeps where a row is too long. "dQ": row tile i
/// of dQ = scale dS K. "dK": column tile j of dK = scale dS^T Q. With grouped heads, sum_heads.
/// Unfused variants have launches between dS and dQ (elementwise.h); checkpointing begins with the
/// forward pass. The paper counts 5 N N_kv + 5 N d read and 2 N N_kv + 3 N d written per head, for
/// N = N_kv.
Pass standard_backward_pass(const ScheduleOptions& options);

}  // namespace attnscope
