/// Grouped queries in decoding: the query heads of a group read the same keys, so they can be the
/// rows of one tile, and K and V are read once for all of them (flash-attention does this for one
/// query). The memory layout is unchanged: Q and O [B, H, N, d] are also [B, H_kv, (H / H_kv) N,
/// d].
#pragma once

#include "reference/inputs.h"
#include "reference/naive_attention.h"

namespace attnscope {

/// Whether all rows of a group see the same keys, and no score depends on its head or query.
bool can_pack_groups(const AttentionProblem& problem);

/// The same attention with each group as one head of (H / H_kv) N rows; requires can_pack_groups().
AttentionProblem with_packed_groups(const AttentionProblem& problem);

/// Q and dO of the problem, reshaped as tensors of the packed problem.
AttentionInputs with_packed_groups(const AttentionProblem& problem, AttentionInputs inputs);

/// O and LSE of the packed problem, reshaped as tensors of the problem.
ForwardResult with_separate_heads(const AttentionProblem& problem, ForwardResult packed);

}  // namespace attnscope
