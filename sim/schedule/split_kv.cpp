#include "sim/schedule/schedules.h"

#include <algorithm>

#include "sim/ops/tile_loop.h"

namespace attnscope {

namespace {

// clang-format off
enum CombineLine : std::uint8_t {
  for_rows, start, for_splits, load_lse, update_m, update_l, load_o, update_o, finish_o, finish_lse,
  write_back,
};
// clang-format on

constexpr PseudoLine kCombinePseudoCode[] = {
    {0, Step::outer_loop, "for each row tile i, in parallel",
     "No row tile needs another's result."},
    {1, Step::start, "O_i = 0; l_i = 0; m_i = -inf", "No split has been processed yet."},
    {1, Step::inner_loop, "for each split s",
     "The splits play the role of the column tiles of a sweep."},
    {2, Step::load_split_LSE, "load LSE_i^s",
     "One number per row represents all keys of the split."},
    {2, Step::update_max,
     "m_prev = m_i; m_i = max(m_prev, LSE_i^s); alpha = exp(m_prev - m_i); beta = exp(LSE_i^s - "
     "m_i)",
     "The online softmax once more: LSE_i^s takes the place of a score."},
    {2, Step::update_sum, "l_i = alpha · l_i + beta",
     "The sum of exp(S) over the split is exp(LSE_i^s)."},
    {2, Step::load_split_output, "load O_i^s", "The split's normalised output, in fp32."},
    {2, Step::update_output, "O_i = alpha · O_i + beta · O_i^s",
     "A merge, not a sum: each split's output is weighted by its share of l."},
    {1, Step::normalize, "O_i = O_i / l_i", "One division at the end."},
    {1, Step::log_sum_exp, "LSE_i = m_i + log l_i", "The log-sum-exp over all keys."},
    {1, Step::store_output, "store O_i, LSE_i", "The requested output."},
};
static_assert(has_each_step_once(kCombinePseudoCode));

/// One thread block per row tile and split: block i splits + s.
Index block_per_split(const TileGrid& g) {
  return g.Tr() * g.options().splits;
}

Tile split_tile(Tensor tensor, std::int32_t i, std::int32_t s) {
  return {tensor, 1, false, 0, i, s};
}

void split_kv_partial(const TileGrid& g, Index block, Program& program) {
  const auto splits = static_cast<std::int32_t>(g.options().splits);
  const auto i = static_cast<std::int32_t>(block / splits);
  const auto s = static_cast<std::int32_t>(block % splits);
  flash2_sweep(g, i, column_tiles_of_split(g, s), program);
  program.store(last_use(g.O(i)), split_tile(Tensor::O_split, i, s).in_hbm());
  program.store(last_use(g.LSE(i)), split_tile(Tensor::LSE_split, i, s).in_hbm());
}

void split_kv_combine(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block);
  const Tile beta = g.row_tile(Tensor::beta, i);
  program.at(start).fill_zero({g.O(i), g.l(i)});
  program.fill_minus_inf(g.m(i));
  const auto splits = static_cast<std::int32_t>(g.options().splits);
  for (const std::int32_t s : equal_parts(g, splits, program)) {
    const Tile LSE = split_tile(Tensor::LSE_split, i, s);
    const Tile O = split_tile(Tensor::O_split, i, s);
    program.at(load_lse).load(LSE);
    program.at(update_m).running_max(g.m(i), g.alpha(i), LSE);
    program.exp(beta, last_use(LSE), g.m(i));
    program.at(update_l).rescale(g.l(i), g.alpha(i));
    program.add(g.l(i), beta);
    program.at(load_o).load(O);
    program.at(update_o).rescale(g.O(i), last_use(g.alpha(i)));
    program.rescale(O, last_use(beta));
    program.add(g.O(i), last_use(O));
  }
  program.at(finish_o).normalize(g.O(i), g.l(i));
  program.at(finish_lse).log_sum_exp(g.LSE(i), last_use(g.m(i)), last_use(g.l(i)));
  program.at(write_back).store({last_use(g.O(i)), last_use(g.LSE(i))});
}

/// FlashAttention-2's sweep, over the column tiles of one split.
PseudoCode partial_pseudo_code() {
  PseudoCode lines = copy_of(flash2_forward_pass({}).launches.front().pseudo_code);
  rewrite_line(lines, Step::outer_loop, "for each row tile i and split s, in parallel",
               "With few queries there are few row tiles: the splits give every SM work.");
  rewrite_line(lines, Step::load_row_tile, "load Q_i",
               "Each split reads Q_i, so it is read once per split.");
  rewrite_line(lines, Step::inner_loop, "for each column tile j of split s that row tile i sees",
               "A thread block sweeps only over its part of the keys.");
  rewrite_line(
      lines, Step::load_column_tile, "load K_j, V_j",
      "Each split reads its own keys: together the splits of a row tile read K and V once.");
  rewrite_line(lines, Step::log_sum_exp, "LSE_i^s = m_i + log l_i",
               "The merging launch weights this part by it.");
  rewrite_line(lines, Step::store_output, "store O_i^s, LSE_i^s in fp32",
               "The attention over only the keys of this split.");
  return lines;
}

}  // namespace

TileRange column_tiles_of_split(const TileGrid& g, std::int32_t s) {
  const auto each = static_cast<std::int32_t>(ceil_div(g.Tc(), g.options().splits));
  return {std::min(s * each, g.Tc()), std::min((s + 1) * each, g.Tc())};
}

Pass split_kv_forward_pass(const ScheduleOptions& /*options*/) {
  static const PseudoCode partial_lines = partial_pseudo_code();
  Launch partial{"partial", block_per_split, split_kv_partial, partial_lines};
  partial.splits = SplitRole::one_a_block;
  Launch combine =
      blind_launch({"combine", block_per_row_tile, split_kv_combine, kCombinePseudoCode});
  combine.splits = SplitRole::folded;
  return {{partial, combine}};
}

}  // namespace attnscope
