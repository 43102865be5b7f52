#include "kernels/block_shapes.h"
#include "kernels/catalog.h"
#include "kernels/compile/block_program.h"
#include "kernels/kernel_parameters.h"
#include "kernels/split_kv/split_kv_shared.cuh"
#include "reference/key_splits.h"
#include "reference/tiling.h"

namespace attnscope::kernels {

namespace {

BlockProgram partial_program(const AttentionProblem& problem, const Tiling& tiling,
                             const LaunchKind& kind) {
  const ScoreFeatures features = score_features(problem);
  const Index width = split_kv_width(padded_head_dim(problem.d), features.any());
  const BlockShape shape = split_kv_shape({problem, tiling});
  return products_program(
      kernel_program("split_kv/split_kv_partial", element_type(problem.dtype), width, tiling.Bc,
                     shape.threads / 32, split_kv_stages(width, tiling),
                     columns_policy(problem.d, width), trace_policy(kind.traced),
                     features_argument(features)),
      shape, problem.dtype, kind);
}

/// The program of the launch "combine", in which each block owns a row.
BlockProgram combine_program(const AttentionProblem& problem) {
  constexpr int kThreads = 128;
  static_assert(kMostSplits <= kThreads);  // each thread takes one split's LSE
  return {
      .program = kernel_program("split_kv/split_kv_combine", element_type(problem.dtype), kThreads),
      .threads = kThreads,
      .overlaps_launch_before = true};
}

}  // namespace

std::vector<LaunchProgram> split_kv_programs(const ResolvedRun& run,
                                             const ProgramTarget& /*target*/,
                                             const LaunchKind& kind) {
  return {{"partial", partial_program(run.problem, run.tiling, kind)},
          {"combine", combine_program(run.problem)}};
}

}  // namespace attnscope::kernels
