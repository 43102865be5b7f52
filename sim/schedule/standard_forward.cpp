#include "sim/schedule/schedules.h"

#include "sim/ops/tile_loop.h"

namespace attnscope {

namespace {

// clang-format off
enum ScoresLine : std::uint8_t { for_tiles, load_qk, compute_scores, store_s };
enum SoftmaxLine : std::uint8_t {
  for_row_groups, load_s, cap_s, bias_s, mask_s, find_m, compute_p, find_l, normalize_p, write_lse,
  store_p, store_dropped,
};
enum SweepLine : std::uint8_t {
  sweep_rows, sweep_start, first_sweep, first_load, first_cap, first_bias, first_mask, first_max,
  first_exp, first_sum, second_sweep, second_load, second_cap, second_bias, second_mask, second_exp,
  second_normalize, second_store, second_dropped, sweep_lse,
};
enum OutputLine : std::uint8_t {
  for_rows, start_o, for_columns, load_pv, load_dropped, add_product, add_dropped, store_o,
};
// clang-format on

constexpr std::string_view kWhyMask = "Hidden keys must not take part in the maximum or the sum.";

constexpr PseudoLine kScoresPseudoCode[] = {
    {0, Step::outer_loop, "for each tile (i, j) of S, in parallel",
     "A tiled matrix product: every thread block makes one tile."},
    {1, Step::load, "load Q_i, K_j",
     "Every tile of S reads its rows of Q and K again; the paper counts Q and K once."},
    {1, Step::scores, "S_ij = scale · Q_i K_jᵀ", "The first of two matrix products."},
    {1, Step::store, "store S_ij", "N × N scores are stored, for the next kernel to read."},
};
static_assert(has_each_step_once(kScoresPseudoCode));

constexpr PseudoLine dropped_line(int indent) {
  return {indent, Step::dropout, "P~ = dropout(P); store P~",
          "N × N more values: the products read P~, the softmax's gradient needs P.",
          ScoreStep::fused_dropout};
}
constexpr auto kRawScoresPseudoCode =
    with_lines(kScoresPseudoCode, {{compute_scores,
                                    {1, Step::scores, "S_ij = Q_i K_jᵀ",
                                     "Only the product: a separate launch scales the scores."}}});
static_assert(has_each_step_once(kRawScoresPseudoCode));

constexpr PseudoLine kSoftmaxPseudoCode[] = {
    {0, Step::outer_loop, "for each group of rows i, in parallel",
     "No group of rows needs another's result."},
    {1, Step::load, "load S_i (whole rows)", "All N × N scores are read again."},
    soft_cap_line(1),
    alibi_line(1),
    {1, Step::mask, "mask S_i", kWhyMask, ScoreStep::fused_mask},
    {1, Step::update_max, "m = rowmax S_i",
     "Subtracting the row's largest score keeps every exponential at most 1."},
    {1, Step::exponentiate, "P_i = exp(S_i - m), in place", "The numerators of the softmax."},
    {1, Step::update_sum, "l = rowsum P_i",
     "The denominator of the softmax: the whole row is available."},
    {1, Step::normalize, "P_i = P_i / l", "Every row of P sums to 1."},
    {1, Step::log_sum_exp, "store LSE_i = m + log l",
     "Requested by the caller; the paper's algorithm has no LSE.", ScoreStep::asked_lse},
    {1, Step::store, "store P_i", "N × N probabilities are stored."},
    dropped_line(1),
};
static_assert(has_each_step_once(kSoftmaxPseudoCode));

constexpr PseudoLine kTwoSweepPseudoCode[] = {
    {0, Step::outer_loop, "for each group of rows i, in parallel",
     "No group of rows needs another's result."},
    {1, Step::start, "l = 0; m = -inf",
     "A row of S is too long for the registers, so it is swept in panels."},
    {1, Step::inner_loop, "for each column tile j", "First sweep: the maximum and the sum."},
    {2, Step::load, "load S_ij", "First read of S."},
    soft_cap_line(2),
    alibi_line(2),
    {2, Step::mask, "mask S_ij", kWhyMask, ScoreStep::fused_mask},
    {2, Step::update_max, "m_prev = m; m = max(m_prev, rowmax S_ij); alpha = exp(m_prev - m)",
     "The online softmax, because the row does not fit."},
    {2, Step::exponentiate, "P = exp(S_ij - m)", "Only its sum is needed in this sweep."},
    {2, Step::update_sum, "l = alpha · l + rowsum P",
     "The old sum, scaled to the new maximum, plus the new one."},
    {1, Step::inner_loop_again, "for each column tile j", "Second sweep: the probabilities."},
    {2, Step::load_again, "load S_ij", "Second read of S."},
    soft_cap_line(2, Step::soft_cap_again),
    alibi_line(2, Step::alibi_again),
    {2, Step::mask_again, "mask S_ij", kWhyMask, ScoreStep::fused_mask},
    {2, Step::exponentiate_again, "P_ij = exp(S_ij - m)",
     "The numerators, with the final maximum."},
    {2, Step::normalize, "P_ij = P_ij / l", "Every row of P sums to 1."},
    {2, Step::store, "store P_ij", "N × N probabilities are stored."},
    dropped_line(2),
    {1, Step::log_sum_exp, "store LSE_i = m + log l",
     "Requested by the caller; the paper's algorithm has no LSE.", ScoreStep::asked_lse},
};
static_assert(has_each_step_once(kTwoSweepPseudoCode));

constexpr PseudoLine kOutputPseudoCode[] = {
    {0, Step::outer_loop, "for each row tile i, in parallel", "A tiled matrix product again."},
    {1, Step::start, "O_i = 0", "The sum over the keys starts empty."},
    {1, Step::inner_loop, "for each column tile j", "The sum over the keys."},
    {2, Step::load, "load P_ij, V_j",
     "All N × N probabilities come back; V is read by every row tile.", ScoreStep::no_dropout},
    {2, Step::load, "load P~_ij, V_j", "N × N probabilities after dropout are read back.",
     ScoreStep::dropout},
    {2, Step::update_output, "O_i = O_i + P_ij V_j", "The second of two matrix products.",
     ScoreStep::no_dropout},
    {2, Step::update_output, "O_i = O_i + P~_ij V_j", "The second of two matrix products.",
     ScoreStep::dropout},
    {1, Step::store_output, "store O_i", "The output."},
};
static_assert(has_each_step_once(kOutputPseudoCode));

/// Stores P, and with dropout P~ as well.
void store_probabilities(const TileGrid& g, Tile on_chip, std::uint8_t line,
                         std::uint8_t dropped_line_number, Program& program) {
  const Tile P = g.P(on_chip.i, on_chip.j).in_hbm();
  const bool drops = g.problem().score.has_dropout() && !drops_apart(g.options());
  program.at(line).store(drops ? on_chip : last_use(on_chip), P);
  if (!drops) return;
  drop(g, on_chip, dropped_line_number, program);
  program.store(last_use(on_chip), g.P_drop(on_chip.i, on_chip.j).in_hbm());
}

bool masks_here(const TileGrid& g) {
  return g.hides_keys() && !masks_apart(g.options());
}

void write_lse_if_asked(const TileGrid& g, std::int32_t i, std::uint8_t line, Program& program) {
  if (!g.options().standard_writes_lse) return;
  program.at(line).log_sum_exp(g.LSE(i), g.m(i), g.l(i));
  program.store(last_use(g.LSE(i)));
}

/// "scores": tile (i, j) of S = scale Q K^T, one thread block each. Every block reads a row panel
/// of Q and a column panel of K, so Q is read Tc times and K Tr times: the paper's accounting omits
/// these repeated reads.
void standard_scores(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block / g.Tc());
  const auto j = static_cast<std::int32_t>(block % g.Tc());
  program.at(load_qk).load({g.Q(i), g.K(j)});
  program.at(compute_scores);
  if (scales_apart(g.options())) {
    program.product_transposed(g.S(i, j), last_use(g.Q(i)), last_use(g.K(j)));
  } else {
    program.scores(g.S(i, j), last_use(g.Q(i)), last_use(g.K(j)));
  }
  program.at(store_s).store(last_use(g.S(i, j)));
}

/// "softmax": a few whole rows per thread block; S is read once and P written once.
void standard_softmax(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block);
  const Tile rows = g.S(i, kAllColumns);
  program.at(load_s).load(rows);
  shape_scores(g, rows, masks_here(g), {cap_s, bias_s, mask_s}, program);
  program.at(find_m).row_max(g.m(i), rows);
  program.at(compute_p).exp(rows, rows, g.m(i));
  program.at(find_l).row_sum(g.l(i), rows);
  program.at(normalize_p).normalize(rows, g.l(i));
  write_lse_if_asked(g, i, write_lse, program);
  store_probabilities(g, rows, store_p, store_dropped, program);
}

/// "softmax" for rows too long for the registers: S is read twice, first for m and l.
void standard_softmax_two_sweeps(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block);
  const bool masked = masks_here(g);
  program.at(sweep_start).fill_zero(g.l(i));
  program.fill_minus_inf(g.m(i));

  // First sweep: the online softmax finds m and l
  for (const std::int32_t j : columns_of_row(g, i, g.column_tiles(), program)) {
    program.at(first_load).load(g.S(i, j));
    shape_scores(g, g.S(i, j), masked, {first_cap, first_bias, first_mask}, program);
    program.at(first_max).running_max(g.m(i), g.alpha(i), g.S(i, j));
    program.at(first_exp).exp(g.P(i, j), last_use(g.S(i, j)), g.m(i));
    program.at(first_sum).rescale(g.l(i), last_use(g.alpha(i)));
    program.add_row_sum(g.l(i), last_use(g.P(i, j)));
  }

  // Second sweep: the probabilities, from the final m and l
  for (const std::int32_t j : columns_of_row(g, i, g.column_tiles(), program)) {
    program.at(second_load).load(g.S(i, j));
    shape_scores(g, g.S(i, j), masked, {second_cap, second_bias, second_mask}, program);
    program.at(second_exp).exp(g.P(i, j), last_use(g.S(i, j)), g.m(i));
    program.at(second_normalize).normalize(g.P(i, j), g.l(i));
    store_probabilities(g, g.P(i, j), second_store, second_dropped, program);
  }
  write_lse_if_asked(g, i, sweep_lse, program);
}

/// "output": row tile i of O = P V, one thread block each, or one per part of d. V is read once per
/// row tile, P once per part of d.
void standard_output(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block / g.d_parts());
  const Tile O = part_of(g.O(i), block % g.d_parts());
  program.at(start_o).fill_zero(O);
  for (const std::int32_t j : columns_of_row(g, i, g.column_tiles(), program)) {
    const bool drops = g.problem().score.has_dropout();
    const Tile P = drops ? g.P_drop(i, j) : g.P(i, j);
    const Tile V = part_of(g.V(j), O.part);
    program.at(drops ? load_dropped : load_pv).load({P, V});
    program.at(drops ? add_dropped : add_product).accumulate(O, last_use(P), last_use(V));
  }
  program.at(store_o).store(last_use(O));
}

}  // namespace

Pass standard_forward_pass(const ScheduleOptions& options) {
  const bool two_sweeps = options.softmax_panel_cols > 0;
  Launch scores =
      scales_apart(options)
          ? product_launch({"scores", block_per_tile, standard_scores, kRawScoresPseudoCode})
          : product_launch({"scores", block_per_tile, standard_scores, kScoresPseudoCode});
  Launch softmax =
      two_sweeps
          ? product_launch(
                {"softmax", block_per_row_tile, standard_softmax_two_sweeps, kTwoSweepPseudoCode})
          : product_launch({"softmax", block_per_row_tile, standard_softmax, kSoftmaxPseudoCode});
  softmax.grid = softmax_row_grid;
  Launch output =
      product_launch({"output", block_per_row_tile, standard_output, kOutputPseudoCode});
  scores.grid = product_grid<ResultOf::queries_by_keys, &ProductTiles::S>;
  output.grid = product_grid<ResultOf::queries_by_d, &ProductTiles::O>;

  Pass pass{{scores}};
  append(pass, score_launches(options));
  append(pass, {softmax});
  append(pass, probability_launches(options));
  append(pass, {output});
  return pass;
}

}  // namespace attnscope
