#include "sim/schedule/catalog.h"

#include <algorithm>

#include "sim/schedule/block_sparse.h"
#include "sim/schedule/flash1_backward.h"
#include "sim/schedule/flash1_forward.h"
#include "sim/schedule/flash2_backward.h"
#include "sim/schedule/flash2_forward.h"
#include "sim/schedule/score_steps.h"
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
  show_only_taken_steps(options.score_steps, made);
  return made;
}

std::span<const Algorithm> algorithms() {
  static constexpr Algorithm kAlgorithms[] = {
      {"standard", "Standard attention",
       "Three launches: S = Q Kᵀ, P = softmax S, O = P V; S and P are stored in HBM.",
       "arXiv 2205.14135, Algorithms 0 and 3", standard_forward_pass, standard_backward_pass},
      {"flash1", "FlashAttention-1",
       "Tiles of K and V outermost; O, m and l travel through HBM for every one of them.",
       "arXiv 2205.14135, Algorithms 1 and 4", flash1_forward_pass, flash1_backward_pass, false,
       true},
      {"flash2", "FlashAttention-2",
       "Tiles of Q outermost and in parallel; O, m and l stay on chip, divided once at the end.",
       "arXiv 2307.08691, Algorithms 1 and 2", flash2_forward_pass, flash2_backward_pass},
      {"block_sparse", "Block-sparse FlashAttention",
       "FlashAttention-1's loops; a row tile meets a column tile only where the block mask has a "
       "1.",
       "arXiv 2205.14135, Algorithm 5", block_sparse_forward_pass, block_sparse_backward_pass, true,
       true},
      {"block_sparse2", "Block-sparse FlashAttention-2",
       "FlashAttention-2's loops; each row tile visits the column tiles that its block mask lists.",
       "arXiv 2205.14135, section 3.3, in the loop order of 2307.08691", block_sparse2_forward_pass,
       block_sparse2_backward_pass, true},
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
