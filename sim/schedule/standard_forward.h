/// Standard attention, forward (arXiv 2205.14135, Algorithm 0): three launches, S and P in HBM.
#pragma once

#include "sim/schedule/algorithm.h"

namespace attnscope {

/// "scores": tile (i, j) of S = scale Q K^T, one thread block each. Every block reads a row panel
/// of Q and a column panel of K, so Q is read Tc times and K Tr times: the panel re-reads that the
/// paper's accounting leaves out.
void standard_scores(const TileGrid& g, Index block, Program& program);

/// "softmax": a few whole rows per thread block; S is read once and P written once.
void standard_softmax(const TileGrid& g, Index block, Program& program);

/// "softmax" for rows too long for the registers: S is read twice, first for m and l.
void standard_softmax_two_sweeps(const TileGrid& g, Index block, Program& program);

/// "output": row tile i of O = P V, one thread block each. V is read once for every row tile; a
/// library chooses the rows of this tile separately from those of S (ScheduleVariant::output_rows).
void standard_output(const TileGrid& g, Index block, Program& program);

Pass standard_forward_pass(const ScheduleOptions& options);

}  // namespace attnscope
