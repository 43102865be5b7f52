#include "sim/schedule/standard_forward.h"

namespace attnscope {

namespace {

// clang-format off
enum ScoresLine : std::uint8_t { for_tiles, load_qk, compute_scores, store_s };
enum SoftmaxLine : std::uint8_t {
  for_row_groups, load_s, mask_s, find_m, compute_p, find_l, normalize_p, write_lse, store_p,
};
enum SweepLine : std::uint8_t {
  sweep_rows, sweep_start, first_sweep, first_load, first_mask, first_max, first_exp, first_sum,
  second_sweep, second_load, second_mask, second_exp, second_normalize, second_store, sweep_lse,
};
enum OutputLine : std::uint8_t {
  for_rows, start_o, for_columns, load_pv, add_product, store_o,
};
// clang-format on

constexpr std::string_view kWhyMask = "Hidden keys must not take part in the maximum or the sum.";

constexpr PseudoLine kScoresPseudoCode[] = {
    {0, "for each tile (i, j) of S, in parallel",
     "A tiled matrix product: every thread block makes one tile.", true},
    {1, "load Q_i, K_j", "Every tile reads its panels again; the paper counts Q and K once."},
    {1, "S_ij = scale · Q_i K_jᵀ", "The first of two matrix products."},
    {1, "store S_ij", "N × N scores go to HBM: the traffic that FlashAttention removes."},
};

constexpr PseudoLine kSoftmaxPseudoCode[] = {
    {0, "for each group of rows i, in parallel", "Rows are independent.", true},
    {1, "load S_i (whole rows)", "All N × N scores come back from HBM."},
    {1, "mask S_i", kWhyMask},
    {1, "m = rowmax S_i", "Subtracting the row's largest score keeps every exponential at most 1."},
    {1, "P_i = exp(S_i - m), in place", "The numerators of the softmax."},
    {1, "l = rowsum P_i", "The denominator of the softmax: the whole row is at hand."},
    {1, "P_i = P_i / l", "Every row of P sums to 1."},
    {1, "store LSE_i = m + log l", "Asked for by the caller; the paper's algorithm has no LSE."},
    {1, "store P_i", "N × N probabilities go to HBM."},
};

constexpr PseudoLine kTwoSweepPseudoCode[] = {
    {0, "for each group of rows i, in parallel", "Rows are independent.", true},
    {1, "l = 0; m = -inf", "A row of S is too long for the registers, so it is swept in panels."},
    {1, "for each column tile j", "First sweep: the maximum and the sum.", true},
    {2, "load S_ij", "First read of S."},
    {2, "mask S_ij", kWhyMask},
    {2, "m_prev = m; m = max(m_prev, rowmax S_ij); alpha = exp(m_prev - m)",
     "The online softmax, because the row does not fit."},
    {2, "P = exp(S_ij - m)", "Only its sum is needed in this sweep."},
    {2, "l = alpha · l + rowsum P", "The old sum, brought to the new maximum, and the new one."},
    {1, "for each column tile j", "Second sweep: the probabilities.", true},
    {2, "load S_ij", "Second read of S."},
    {2, "mask S_ij", kWhyMask},
    {2, "P_ij = exp(S_ij - m)", "The numerators, against the final maximum."},
    {2, "P_ij = P_ij / l", "Every row of P sums to 1."},
    {2, "store P_ij", "N × N probabilities go to HBM."},
    {1, "store LSE_i = m + log l", "Asked for by the caller; the paper's algorithm has no LSE."},
};

constexpr PseudoLine kOutputPseudoCode[] = {
    {0, "for each row tile i, in parallel", "A tiled matrix product again.", true},
    {1, "O_i = 0", "The sum over the keys starts empty."},
    {1, "for each column tile j", "The sum over the keys.", true},
    {2, "load P_ij, V_j", "All N × N probabilities come back; V is read by every row tile."},
    {2, "O_i = O_i + P_ij V_j", "The second of two matrix products."},
    {1, "store O_i", "The output."},
};

void write_lse_if_asked(const TileGrid& g, std::int32_t i, std::uint8_t line, Program& program) {
  if (!g.options().standard_writes_lse) return;
  program.at(line);
  program.log_sum_exp(g.LSE(i), g.m(i), g.l(i));
  program.store(last_use(g.LSE(i)));
}

}  // namespace

void standard_scores(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block / g.Tc());
  const auto j = static_cast<std::int32_t>(block % g.Tc());
  program.at(load_qk);
  program.load(g.Q(i));
  program.load(g.K(j));
  program.at(compute_scores);
  program.scores(g.S(i, j), last_use(g.Q(i)), last_use(g.K(j)));
  program.at(store_s);
  program.store(last_use(g.S(i, j)));
}

void standard_softmax(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block);
  const Tile rows = g.S(i, kAllColumns);
  program.at(load_s);
  program.load(rows);
  if (!g.problem().mask.is_none()) {
    program.at(mask_s);
    program.mask(rows);
  }
  program.at(find_m);
  program.row_max(g.m(i), rows);
  program.at(compute_p);
  program.exp(rows, rows, g.m(i));
  program.at(find_l);
  program.row_sum(g.l(i), rows);
  program.at(normalize_p);
  program.normalize(rows, g.l(i));
  write_lse_if_asked(g, i, write_lse, program);
  program.at(store_p);
  program.store(last_use(rows), g.P(i, kAllColumns).in_hbm());
}

void standard_softmax_two_sweeps(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block);
  const bool masked = !g.problem().mask.is_none();
  program.at(sweep_start);
  program.fill_zero(g.l(i));
  program.fill_minus_inf(g.m(i));

  // First sweep: the online softmax finds m and l
  for (const std::int32_t j : g.column_tiles()) {
    program.at(first_load);
    program.load(g.S(i, j));
    if (masked) {
      program.at(first_mask);
      program.mask(g.S(i, j));
    }
    program.at(first_max);
    program.running_max(g.m(i), g.alpha(i), g.S(i, j));
    program.at(first_exp);
    program.exp(g.P(i, j), last_use(g.S(i, j)), g.m(i));
    program.at(first_sum);
    program.rescale(g.l(i), last_use(g.alpha(i)));
    program.add_row_sum(g.l(i), last_use(g.P(i, j)));
  }

  // Second sweep: the probabilities, against the final m and l
  for (const std::int32_t j : g.column_tiles()) {
    program.at(second_load);
    program.load(g.S(i, j));
    if (masked) {
      program.at(second_mask);
      program.mask(g.S(i, j));
    }
    program.at(second_exp);
    program.exp(g.P(i, j), last_use(g.S(i, j)), g.m(i));
    program.at(second_normalize);
    program.normalize(g.P(i, j), g.l(i));
    program.at(second_store);
    program.store(last_use(g.P(i, j)));
  }
  write_lse_if_asked(g, i, sweep_lse, program);
}

void standard_output(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block);
  program.at(start_o);
  program.fill_zero(g.O(i));
  for (const std::int32_t j : g.column_tiles()) {
    program.at(load_pv);
    program.load(g.P(i, j));
    program.load(g.V(j));
    program.at(add_product);
    program.accumulate(g.O(i), last_use(g.P(i, j)), last_use(g.V(j)));
  }
  program.at(store_o);
  program.store(last_use(g.O(i)));
}

Pass standard_forward_pass(const ScheduleOptions& options) {
  const Launch scores{.name = "scores",
                      .grid = plain_grid,
                      .blocks_per_head = block_per_tile,
                      .program = standard_scores,
                      .pseudo_code = kScoresPseudoCode,
                      .paper_counts_operands_once = true};
  Launch softmax{.name = "softmax",
                 .grid = softmax_row_grid,
                 .blocks_per_head = block_per_row_tile,
                 .program = standard_softmax,
                 .pseudo_code = kSoftmaxPseudoCode,
                 .paper_counts_operands_once = true};
  if (options.softmax_panel_cols > 0) {
    softmax.program = standard_softmax_two_sweeps;
    softmax.pseudo_code = kTwoSweepPseudoCode;
  }
  const Launch output{.name = "output",
                      .grid = output_grid,
                      .blocks_per_head = block_per_row_tile,
                      .program = standard_output,
                      .pseudo_code = kOutputPseudoCode,
                      .paper_counts_operands_once = true};
  return {.launches = {scores, softmax, output}, .initial_values = {}};
}

}  // namespace attnscope
