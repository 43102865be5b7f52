/// Into how many parts split_kv cuts the keys. Plain C++.
#pragma once

#include "reference/attention_problem.h"

namespace attnscope::kernels {

/// The most splits that any problem is cut into.
inline constexpr Index kMostSplits = 128;

/// The number of splits on a GPU with `sm_count` multiprocessors, the model's rule (split_kv in
/// sim/schedule/): the least that keeps them nearly as busy as any number up to 128 does; 1 where
/// row tiles alone do.
Index split_count(const AttentionProblem& problem, const Tiling& tiling, Index sm_count);

/// The most splits that any GPU asks for: what a workspace must have room for.
Index most_splits(const AttentionProblem& problem, const Tiling& tiling);

}  // namespace attnscope::kernels
