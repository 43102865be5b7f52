#include "kernels/split_kv/split_kv_programs.h"

#include "kernels/catalog.h"
#include "kernels/scored_shared.h"
#include "kernels/split_kv/split_kv_shared.h"
#include "reference/head_dim.h"
#include "reference/key_splits.h"

namespace attnscope::kernels {

namespace {

/// Width of the tiles. With score functions there are three: narrower tiles would spill registers.
Index tile_width(Index d, bool scored) {
  if (!scored) return padded_head_dim(d);
  return d <= 64 ? 64 : (d <= 128 ? 128 : 256);
}

}  // namespace

BlockProgram split_kv_partial_program(const AttentionProblem& problem, const Tiling& tiling,
                                      bool traced) {
  const bool scored = has_score_parameters(problem);
  const Index width = tile_width(problem.d, scored);
  // Without a check of each chunk's column
  const bool whole_rows = problem.d == width && width <= 128 && width != 96;
  const int warps = split_kv_warps(tiling);
  BlockProgram block{.threads = warps * 32, .shared_bytes = split_kv_shared_bytes(width, tiling)};
  if (scored) block.shared_bytes += scored_rows_shared_bytes({tiling.Br, tiling.Bc / warps});
  block.program.sources = {"kernels/split_kv/split_kv_partial.cuh"};
  block.program.expression = instance_of(
      "split_kv_partial", element_type(problem.dtype), width, tiling.Bc, warps,
      split_kv_stages(width, tiling), in_device(whole_rows ? "Columns::all" : "Columns::first"),
      in_device(traced ? "BlockTrace" : "NoTrace"),
      fmt::format("attnscope::kernels::{}", scored ? "ScoredSplitRows" : "PlainSplitRows"));
  return block;
}

BlockProgram split_kv_combine_program(const AttentionProblem& problem) {
  constexpr int kThreads = 128;
  static_assert(kMostSplits <= kThreads);  // a thread takes a split's LSE
  BlockProgram block{.threads = kThreads, .overlaps_launch_before = true};
  block.program.sources = {"kernels/split_kv/split_kv_combine.cuh"};
  block.program.expression = instance_of("split_kv_combine", element_type(problem.dtype), kThreads);
  return block;
}

}  // namespace attnscope::kernels
