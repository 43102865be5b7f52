/// Turns a request into the run that the model counts; packs grouped query heads.
#pragma once

#include "reference/inputs.h"
#include "reference/naive_attention.h"
#include "reference/run_spec.h"
#include "sim/device/gpu_description.h"

namespace attnscope {

/// Most row and column tiles that counting visits, over all distinct key lengths. It visits each of
/// them a few times, and equal tiles of a row once (tile_loop.h), so Tr x Tc has no limit.
inline constexpr Index kMaxVisitedTiles = Index{1} << 28;

/// The work of counting the run, with a visited tile as the unit: about 2 us.
Index counting_work(const ResolvedRun& run);

/// The description that the spec names, with the spec's capacities. Errors as in load_gpu().
Result<GpuDescription> gpu_of(const RunSpec& spec);

/// The run with every rule applied: tiling, block mask, splits, shared tiles of grouped heads.
/// invalid_request, with the field to change, where the model cannot run it. The caller must
/// replace TilingRule::kernel: the model does not depend on the kernels. `cancel` as of
/// make_block_mask().
Result<ResolvedRun> resolve(const RunSpec& spec, const GpuDescription& gpu,
                            const std::atomic<bool>* cancel = nullptr);

// Grouped queries in decoding: the query heads of a group read the same keys, so they can be the
// rows of one tile, and K and V are read once for all of them (flash-attention does this for one
// query). The memory layout is unchanged: Q and O [B, H, N, d] are also [B, H_kv, (H / H_kv) N,
// d].

/// Every row of a group sees the same keys, and no score depends on its head or its query.
bool can_pack_groups(const AttentionProblem& problem);

/// The same attention with each group as one head of (H / H_kv) N rows; requires can_pack_groups().
AttentionProblem with_packed_groups(const AttentionProblem& problem);

/// Q and dO of the problem, reshaped as tensors of the packed problem.
AttentionInputs with_packed_groups(const AttentionProblem& problem, AttentionInputs inputs);

/// O and LSE of the packed problem, reshaped as tensors of the problem.
ForwardResult with_separate_heads(const AttentionProblem& problem, ForwardResult packed);

}  // namespace attnscope
