
#include <algorithm>

#include "reference/check.h"
#include "sim/schedule/breaks.h"
#include "sim/schedule/schedules.h"

namespace attnscope {

TileGrid agents_grid(const AttentionProblem& problem, const Tiling& tiling,
                     const ScheduleOptions& options) {
  return {problem, tiling, options, 0, options.variant.consumers};
}

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

bool works_on_row_groups(const Launch& launch) {
  return launch.grid == softmax_row_grid || launch.grid == gradient_row_grid;
}

void rewrite_line(PseudoCode& lines, Step step, std::string_view text, std::string_view why) {
  const auto line = std::ranges::find(lines, step, &PseudoLine::step);
  ATTNSCOPE_CHECK(line - lines.begin(), <, std::ssize(lines));
  line->text = text;
  line->why = why;
}

Index block_per_head(const TileGrid& /*grid*/) {
  return 1;
}
Index block_per_row_tile(const TileGrid& grid) {
  return grid.Tr() * grid.d_parts();
}
Index block_per_column_tile(const TileGrid& grid) {
  return grid.Tc() * grid.d_parts();
}
Index block_per_tile(const TileGrid& grid) {
  return Index{grid.Tr()} * grid.Tc();
}

namespace {

/// The passes of each algorithm.
struct Programs {
  std::string_view algorithm;
  Pass (*forward)(const ScheduleOptions&);
  /// Starts with HBM as the forward pass left it.
  Pass (*backward)(const ScheduleOptions&) = nullptr;
};

constexpr Programs kPrograms[] = {
    {"standard", standard_forward_pass, standard_backward_pass},
    {"flash1", flash1_forward_pass, flash1_backward_pass},
    {"flash2", flash2_forward_pass, flash2_backward_pass},
    {"block_sparse", block_sparse_forward_pass, block_sparse_backward_pass},
    {"block_sparse2", block_sparse2_forward_pass, block_sparse2_backward_pass},
    {"split_kv", split_kv_forward_pass},
};

Pass whole_pass(const Algorithm& algorithm, PassKind pass, const ScheduleOptions& options) {
  const auto* programs = std::ranges::find(kPrograms, algorithm.name, &Programs::algorithm);
  ATTNSCOPE_CHECK(programs != std::end(kPrograms), ==, true);
  if (pass == PassKind::forward) return programs->forward(options);
  ATTNSCOPE_CHECK(programs->backward != nullptr, ==, true);
  if (pass == PassKind::backward) return programs->backward(options);
  Pass both = programs->forward(options);
  const Pass backward = programs->backward(options);
  append(both, backward.launches);
  both.initial_values.insert(both.initial_values.end(), backward.initial_values.begin(),
                             backward.initial_values.end());
  return both;
}

}  // namespace

Pass make_pass(const Algorithm& algorithm, PassKind pass, const ScheduleOptions& options) {
  Pass made = whole_pass(algorithm, pass, options);
  show_only_taken_steps(options, made);
  mark_dropped(options, made);
  return made;
}

Pass make_head_pass(const Algorithm& algorithm, PassKind pass, const ScheduleOptions& options) {
  Pass made = make_pass(algorithm, pass, options);
  for (Launch& launch : made.launches) launch.once_per_kv_head = false;
  return made;
}

}  // namespace attnscope
