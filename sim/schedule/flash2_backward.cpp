#include "sim/schedule/schedules.h"

#include "sim/ops/tile_loop.h"

namespace attnscope {

namespace {

// clang-format off
enum PreprocessLine : std::uint8_t { pre_rows, load_o, compute_d, store_d, zero_dq };
enum Line : std::uint8_t {
  for_columns, load_kv, start, for_rows, load_row, compute_scores, cap_s, bias_s, apply_mask, compute_p,
  drop_p, update_dv, update_dv_dropped, compute_dp, drop_dp, compute_ds, slope_ds, update_dq,
  update_dk, write_back,
};
// clang-format on

constexpr PseudoLine kPreprocessPseudoCode[] = {
    {0, Step::outer_loop, "for each row tile i, in parallel",
     "No row tile needs another's result."},
    {1, Step::load_row_tile, "load O_i, dO_i",
     "Read once here, so that the main launch need not read O at all."},
    {1, Step::row_dot, "D_i = rowsum(dO_i ∘ O_i)",
     "Equal to rowsum(P ∘ dP), without an N-long row of either."},
    {1, Step::store_D, "store D_i", "One number per row."},
    {1, Step::zero_dQ, "dQ_i = 0, in fp32", "Many thread blocks will add to it."},
};
static_assert(has_each_step_once(kPreprocessPseudoCode));

constexpr PseudoLine kPseudoCode[] = {
    {0, Step::outer_loop, "for each column tile j, in parallel",
     "dK_j and dV_j are sums over the rows: a block for each column tile keeps them on chip."},
    {1, Step::load_column_tile, "load K_j, V_j",
     "They stay in SRAM for the whole sweep over the rows."},
    {1, Step::start, "dK_j = 0; dV_j = 0", "The sums over the rows start empty."},
    {1, Step::inner_loop, "for each row tile i that sees column tile j",
     "Rows that the mask hides from these keys contribute nothing."},
    {2, Step::load_row_tile, "load Q_i, dO_i, LSE_i, D_i",
     "Two numbers per row hold all of the softmax: LSE of the forward pass, D of the first "
     "launch."},
    {2, Step::scores, "S = scale · Q_i K_jᵀ",
     "Recomputed: storing N × N scores would cost more than this product."},
    soft_cap_slope_line(2),
    alibi_line(2),
    {2, Step::mask, "mask S", "Only tiles that the edge of the mask cuts."},
    {2, Step::exponentiate, "P = exp(S - LSE_i)",
     "The normalised probabilities at once: no second look at the row."},
    drop_again_line(2),
    {2, Step::update_dV, "dV_j = dV_j + Pᵀ dO_i",
     "O = P V: row k of dV sums the rows of dO, weighted by column k of P.", ScoreStep::no_dropout},
    {2, Step::update_dV, "dV_j = dV_j + P~ᵀ dO_i",
     "O = P~ V: row k of dV sums the rows of dO, weighted by column k of P~.", ScoreStep::dropout},
    {2, Step::product_dP, "dP = dO_i V_jᵀ", "The gradient of the probabilities."},
    drop_gradient_line(2),
    {2, Step::softmax_gradient, "dS = P ∘ (dP - D_i)",
     "The gradient of the scores; D_i = rowsum(P ∘ dP) is known in advance."},
    cap_gradient_line(2),
    {2, Step::update_dQ, "dQ_i = dQ_i + scale · dS K_j, atomically",
     "Every column tile's block adds its part, so the adds have to be atomic; L2 executes them."},
    {2, Step::update_dK, "dK_j = dK_j + scale · dSᵀ Q_i", "Stays on chip."},
    {1, Step::store_key_gradients, "store dK_j, dV_j", "Written once."},
};
static_assert(has_each_step_once(kPseudoCode));

/// "preprocess": row tile i of D = rowsum(dO * O), and dQ_accum = 0.
void flash2_preprocess(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block);
  const Tile dQ_accum = g.row_tile(Tensor::dQ_accum, i);
  program.at(load_o).load({g.O(i), g.dO(i)});
  program.at(compute_d).row_dot(g.D(i), last_use(g.dO(i)), last_use(g.O(i)));
  program.at(store_d).store(last_use(g.D(i)));
  program.at(zero_dq).fill_zero(dQ_accum);
  program.store(last_use(dQ_accum));
}

/// "backward", the program of one thread block: column tile j of one head. dK_j, dV_j stay on chip
/// for the whole sweep over i; every block that sees row tile i adds to dQ_i in fp32, atomically
/// (in L2). Without a mask, per head: reads 2 N_kv d + Tc (2 N d + 2 N), adds Tc N d in fp32.
void flash2_backward(const TileGrid& g, Index block, Program& program) {
  const auto j = static_cast<std::int32_t>(block);
  program.at(load_kv);
  load_keys(g, j, program);
  program.at(start).fill_zero({g.dK(j), g.dV(j)});

  for (const std::int32_t i : rows_of_column(g, j, g.row_tiles_for(j), program)) {
    if (g.empty(i, j)) continue;
    const Tile dQ_part = g.row_tile(Tensor::dQ_accum, i);
    program.at(load_row).load({g.Q(i), g.dO(i), g.LSE(i), g.D(i)});

    // Recompute P
    program.at(compute_scores).scores(g.S(i, j), g.Q(i), g.K(j));
    shape_scores_keeping_slope(g, g.S(i, j), g.edge(i, j), {cap_s, bias_s, apply_mask}, program);
    program.at(compute_p).exp(g.P(i, j), last_use(g.S(i, j)), last_use(g.LSE(i)));

    // Send dO back through O = P V and through the softmax
    add_to_dv(g, i, j, {drop_p, update_dv, update_dv_dropped}, program);
    program.at(compute_dp).product_transposed(g.dP(i, j), last_use(g.dO(i)), g.V(j));
    drop(g, g.dP(i, j), drop_dp, program);
    program.at(compute_ds)
        .softmax_gradient(g.dS(i, j), last_use(g.P(i, j)), last_use(g.dP(i, j)), last_use(g.D(i)));
    apply_cap_slope(g, g.dS(i, j), slope_ds, program);
    program.at(update_dq).fill_zero(dQ_part);
    program.gradient_product(dQ_part, g.dS(i, j), g.K(j));
    program.atomic_add(last_use(dQ_part), dQ_part.in_hbm());
    program.at(update_dk).gradient_product_transposed(g.dK(j), last_use(g.dS(i, j)),
                                                      last_use(g.Q(i)));
  }

  program.at(write_back);
  store_key_gradients(g, j, program);
}

}  // namespace

Pass flash2_backward_pass(const ScheduleOptions& options) {
  Pass pass{
      {blind_launch({"preprocess", block_per_row_tile, flash2_preprocess, kPreprocessPseudoCode}),
       {"backward", block_per_column_tile, flash2_backward, kPseudoCode},
       convert_dq_launch()}};
  add_head_sum_launch(options, pass);
  return pass;
}

}  // namespace attnscope
