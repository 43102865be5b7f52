/// The number of parts into which split_kv divides the keys: one rule for the model and the kernel.
#pragma once

#include "reference/attention_problem.h"

namespace attnscope {

/// The largest number of splits.
inline constexpr Index kMostSplits = 128;

/// The number of splits that fills `sm_count` SMs of a GPU, as Flash-Decoding chooses it: 1 if the
/// row tiles of all heads keep four SMs in five busy, else the fewest splits whose last wave of
/// thread blocks is at least 85 % as full as with the best number. At most kMostSplits, each with
/// at least one column tile.
Index split_count(const AttentionProblem& problem, const Tiling& tiling, Index sm_count);

/// The largest number of splits on any GPU; a workspace must have room for it.
Index most_splits(const AttentionProblem& problem, const Tiling& tiling);

}  // namespace attnscope
