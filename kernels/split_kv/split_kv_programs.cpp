#include "kernels/catalog.h"
#include "kernels/compile/block_program.h"
#include "kernels/kernel_parameters.h"
#include "kernels/score_shared.cuh"
#include "kernels/split_kv/split_kv_shared.cuh"
#include "reference/key_splits.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

static BlockProgram split_kv_block(const ResolvedRun& run, const LaunchKind& kind) {
  const AttentionProblem& problem = run.problem;
  const Tiling& tiling = run.tiling;
  if (tiling.Br != kSplitRows) {
    return {.limit = fmt::format("a tile of split_kv has {} rows", kSplitRows)};
  }
  const ScoreFeatures features = score_features(problem);
  const Index width = split_kv_width(padded_head_dim(problem.d), features.any());
  const int warps = split_kv_warps(tiling);
  return products_program(run, kind, "split_kv/split_kv_partial", 32 * warps,
                          split_kv_shared_bytes(width, tiling) +
                              score_rows_shared_bytes(features, {tiling.Br, tiling.Bc / warps}),
                          problem.dtype, width, tiling.Bc, warps, split_kv_stages(width, tiling),
                          columns_policy(problem.d, width), trace_policy(kind.traced), features);
}

/// "combine": each block owns a row.
std::vector<LaunchProgram> split_kv_programs(const ResolvedRun& run, const LaunchKind& kind) {
  constexpr int kThreads = 128;
  static_assert(kMostSplits <= kThreads);  // each thread takes one split's LSE
  return {{"partial", split_kv_block(run, kind)},
          {"combine",
           {.program = kernel_program("split_kv/split_kv_combine", run.problem.dtype, kThreads),
            .threads = kThreads,
            .overlaps_launch_before = true}}};
}

}  // namespace attnscope::kernels
