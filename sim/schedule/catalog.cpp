#include "sim/schedule/catalog.h"

#include <algorithm>

#include "reference/check.h"
#include "sim/schedule/block_sparse.h"
#include "sim/schedule/flash1_backward.h"
#include "sim/schedule/flash1_forward.h"
#include "sim/schedule/flash2_backward.h"
#include "sim/schedule/flash2_forward.h"
#include "sim/schedule/score_steps.h"
#include "sim/schedule/split_kv.h"
#include "sim/schedule/standard_backward.h"
#include "sim/schedule/standard_forward.h"

namespace attnscope {

TileGrid plain_grid(const AttentionProblem& problem, const Tiling& tiling,
                    const ScheduleOptions& options) {
  return {problem, tiling, options};
}

TileGrid softmax_row_grid(const AttentionProblem& problem, const Tiling& tiling,
                          const ScheduleOptions& options) {
  const Index cols = options.softmax_panel_cols > 0 ? options.softmax_panel_cols : tiling.Bc;
  return {problem, {softmax_rows_per_block(problem.N_kv), cols}, options};
}

TileGrid gradient_row_grid(const AttentionProblem& problem, const Tiling& tiling,
                           const ScheduleOptions& options) {
  const Index cols = options.gradient_panel_cols > 0 ? options.gradient_panel_cols : tiling.Bc;
  return {problem, {softmax_rows_per_block(problem.N_kv), cols}, options};
}

TileGrid output_grid(const AttentionProblem& problem, const Tiling& tiling,
                     const ScheduleOptions& options) {
  const Index rows = options.output_rows > 0 ? options.output_rows : tiling.Br;
  return {problem, {rows, tiling.Bc}, options};
}

bool works_on_row_groups(const Launch& launch) {
  return launch.grid == softmax_row_grid || launch.grid == gradient_row_grid;
}

Index block_per_head(const TileGrid& /*grid*/) {
  return 1;
}
Index block_per_row_tile(const TileGrid& grid) {
  return grid.Tr();
}
Index block_per_column_tile(const TileGrid& grid) {
  return grid.Tc();
}
Index block_per_tile(const TileGrid& grid) {
  return Index{grid.Tr()} * grid.Tc();
}

namespace {

Pass whole_pass(const Algorithm& algorithm, PassKind pass, const ScheduleOptions& options) {
  if (pass == PassKind::forward) return algorithm.forward(options);
  ATTNSCOPE_CHECK(algorithm.has_backward(), ==, true);
  if (pass == PassKind::backward) return algorithm.backward(options);
  Pass both = algorithm.forward(options);
  const Pass backward = algorithm.backward(options);
  both.launches.insert(both.launches.end(), backward.launches.begin(), backward.launches.end());
  both.initial_values.insert(both.initial_values.end(), backward.initial_values.begin(),
                             backward.initial_values.end());
  return both;
}

}  // namespace

Pass make_pass(const Algorithm& algorithm, PassKind pass, const ScheduleOptions& options) {
  Pass made = whole_pass(algorithm, pass, options);
  show_only_taken_steps(options, made);
  return made;
}

Pass make_head_pass(const Algorithm& algorithm, PassKind pass, const ScheduleOptions& options) {
  Pass made = make_pass(algorithm, pass, options);
  for (Launch& launch : made.launches) launch.once_per_kv_head = false;
  return made;
}

std::span<const Algorithm> algorithms() {
  static constexpr Algorithm kAlgorithms[] = {
      {.name = "standard",
       .title = "Standard attention",
       .summary =
           "Three launches: S = Q Kᵀ, P = softmax S, O = P V; S and P are stored in global memory.",
       .source = "arXiv 2205.14135, Algorithms 0 and 3",
       .forward = standard_forward_pass,
       .backward = standard_backward_pass,
       .softmax = SoftmaxForm::whole_rows},
      {.name = "flash1",
       .title = "FlashAttention-1",
       .summary = "Tiles of K and V outermost; O, m and l are read and written back for every one "
                  "of them.",
       .source = "arXiv 2205.14135, Algorithms 1 and 4",
       .forward = flash1_forward_pass,
       .backward = flash1_backward_pass,
       .softmax = SoftmaxForm::divided_often,
       .carries_output = true,
       .sets_tiling_from_sram = true,
       .warps = WarpPartition::sliced_k,
       .skips_padded_keys = true},
      {.name = "flash2",
       .title = "FlashAttention-2",
       .summary = "Tiles of Q outermost and in parallel; O, m and l stay on chip, divided once at "
                  "the end.",
       .source = "arXiv 2307.08691, Algorithms 1 and 2",
       .forward = flash2_forward_pass,
       .backward = flash2_backward_pass,
       .warps = WarpPartition::split_q,
       .skips_padded_keys = true},
      {.name = "block_sparse",
       .title = "Block-sparse FlashAttention",
       .summary = "FlashAttention-1's loops; tile (i, j) is computed where the block mask has a 1.",
       .source = "arXiv 2205.14135, Algorithm 5",
       .forward = block_sparse_forward_pass,
       .backward = block_sparse_backward_pass,
       .softmax = SoftmaxForm::divided_often,
       .takes_block_mask = true,
       .carries_output = true,
       .warps = WarpPartition::sliced_k},
      {.name = "block_sparse2",
       .title = "Block-sparse FlashAttention-2",
       .summary =
           "FlashAttention-2's loops; a row tile visits the tiles that its block mask lists.",
       .source = "arXiv 2205.14135, section 3.3, in the loop order of 2307.08691",
       .forward = block_sparse2_forward_pass,
       .backward = block_sparse2_backward_pass,
       .takes_block_mask = true,
       .warps = WarpPartition::split_q,
       .skips_padded_keys = true},
      {.name = "split_kv",
       .title = "Split-KV decoding",
       .summary = "For few queries: a thread block for each split of the keys; the outputs of the "
                  "splits are merged, weighted by their LSE.",
       .source = "Flash-Decoding; arXiv 2307.08691, Algorithm 1, for each split",
       .forward = split_kv_forward_pass,
       .backward = nullptr,
       .warps = WarpPartition::split_q,
       .splits_keys = true,
       .skips_padded_keys = true},
  };
  return kAlgorithms;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) names.emplace_back(algorithm.name);
  return names;
}

const Algorithm* find_algorithm(std::string_view name) {
  const auto all = algorithms();
  const auto found = std::ranges::find(all, name, &Algorithm::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace attnscope
