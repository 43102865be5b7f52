#include "sim/schedule/schedules.h"

#include "sim/ops/tile_loop.h"

namespace attnscope {

namespace {

// clang-format off
enum Line : std::uint8_t {
  for_columns, load_kv, start, for_rows, load_row, compute_scores, cap_s, bias_s, apply_mask, compute_p,
  drop_p, update_dv, update_dv_dropped, compute_dp, drop_dp, compute_d, compute_ds, slope_ds,
  update_dq, store_dq, update_dk, write_back,
};
// clang-format on

constexpr PseudoLine kPseudoCode[] = {
    {0, Step::outer_loop, "for each column tile j",
     "K and V are the outer loop, as in the forward pass."},
    {1, Step::load_column_tile, "load K_j, V_j",
     "They stay in SRAM while every row tile passes by."},
    {1, Step::start, "dK_j = 0; dV_j = 0", "The sums over the rows start empty, on chip."},
    {1, Step::inner_loop, "for each row tile i that sees column tile j",
     "Rows that the mask hides from these keys contribute nothing."},
    {2, Step::load_row_tile, "load Q_i, O_i, dO_i, dQ_i, l_i, m_i",
     "Streamed once for every column tile."},
    {2, Step::scores, "S = scale · Q_i K_jᵀ",
     "Recomputed: storing N × N scores would cost more than this product."},
    soft_cap_slope_line(2),
    alibi_line(2),
    {2, Step::mask, "mask S", "Only tiles that the edge of the mask cuts."},
    {2, Step::exponentiate, "P = exp(S - m_i) / l_i",
     "The normalised probabilities, from the two saved statistics."},
    drop_again_line(2),
    {2, Step::update_dV, "dV_j = dV_j + Pᵀ dO_i",
     "O = P V: row k of dV sums the rows of dO, weighted by column k of P.", ScoreStep::no_dropout},
    {2, Step::update_dV, "dV_j = dV_j + P~ᵀ dO_i",
     "O = P~ V: row k of dV sums the rows of dO, weighted by column k of P~.", ScoreStep::dropout},
    {2, Step::product_dP, "dP = dO_i V_jᵀ", "The gradient of the probabilities."},
    drop_gradient_line(2),
    {2, Step::row_dot, "D_i = rowsum(dO_i ∘ O_i)",
     "Equal to rowsum(P ∘ dP); recomputed for every column tile, as in the paper."},
    {2, Step::softmax_gradient, "dS = P ∘ (dP - D_i)", "The softmax's gradient."},
    cap_gradient_line(2),
    {2, Step::update_dQ, "dQ_i = dQ_i + scale · dS K_j",
     "Added to the sum of earlier column tiles."},
    {2, Step::store_dQ, "store dQ_i", "The whole of dQ is written back for every column tile."},
    {2, Step::update_dK, "dK_j = dK_j + scale · dSᵀ Q_i", "Stays on chip."},
    {1, Step::store_key_gradients, "store dK_j, dV_j", "Written once."},
};
static_assert(has_each_step_once(kPseudoCode));

constexpr PseudoLine kDFromHbm = {2, Step::given, "(D_i was loaded)",
                                  "An earlier launch computed it, once for each row."};
constexpr auto kDOncePseudoCode =
    with_lines(kPseudoCode, {{load_row,
                              {2, Step::load_row_tile, "load Q_i, dO_i, dQ_i, l_i, m_i, D_i",
                               "Streamed once for every column tile, without O."}},
                             {compute_d, kDFromHbm}});
static_assert(has_each_step_once(kDOncePseudoCode));
constexpr auto kStartOnChipPseudoCode = with_lines(
    kPseudoCode, {{load_row,
                   {2, Step::load_row_tile,
                    "load Q_i, O_i, dO_i, dQ_i, l_i, m_i; in the first visit of i, dQ_i = 0",
                    "Streamed once for every column tile; dQ starts on chip."}}});
static_assert(has_each_step_once(kStartOnChipPseudoCode));
constexpr auto kBothRefinedPseudoCode = with_lines(
    kPseudoCode, {{load_row,
                   {2, Step::load_row_tile,
                    "load Q_i, dO_i, dQ_i, l_i, m_i, D_i; in the first visit of i, dQ_i = 0",
                    "Streamed once for every column tile, without O; dQ starts on chip."}},
                  {compute_d, kDFromHbm}});
static_assert(has_each_step_once(kBothRefinedPseudoCode));

std::span<const PseudoLine> pseudo_code_of(const ScheduleVariant& variant) {
  if (variant.d_once && variant.skip_first_reads) return kBothRefinedPseudoCode;
  if (variant.d_once) return kDOncePseudoCode;
  if (variant.skip_first_reads) return kStartOnChipPseudoCode;
  return kPseudoCode;
}

// clang-format off
enum RowDotLine : std::uint8_t { dot_rows, dot_load, dot_product, dot_store };
// clang-format on

constexpr PseudoLine kRowDotPseudoCode[] = {
    {0, Step::outer_loop, "for each row tile i, in parallel",
     "No row tile needs another's result."},
    {1, Step::load_row_tile, "load dO_i, O_i", "Both are read once, not for every column tile."},
    {1, Step::row_dot, "D_i = rowsum(dO_i ∘ O_i)",
     "Equal to rowsum(P ∘ dP), without either of them."},
    {1, Step::store_D, "store D_i", "One number per row."},
};
static_assert(has_each_step_once(kRowDotPseudoCode));

void row_dots(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block);
  program.at(dot_load).load({g.dO(i), g.O(i)});
  program.at(dot_product).row_dot(g.D(i), last_use(g.dO(i)), last_use(g.O(i)));
  program.at(dot_store).store(last_use(g.D(i)));
}

Tensor carried_gradient(const ScheduleOptions& options) {
  return options.variant.carry == Carry::fp32 ? Tensor::dQ_accum : Tensor::dQ;
}

/// One step of the inner loop: row tile i with column tile j.
void visit_row_tile(const TileGrid& g, std::int32_t i, std::int32_t j, Program& program) {
  const Tile carried = g.row_tile(carried_gradient(g.options()), i).in_hbm();
  program.at(load_row);
  const ScheduleVariant& variant = g.options().variant;
  program.load(g.Q(i));
  if (!variant.d_once) program.load(g.O(i));
  program.load(g.dO(i));
  if (variant.skip_first_reads && j == *g.column_tiles_for(i).begin()) {
    program.fill_zero(g.dQ(i));
  } else {
    program.load(g.dQ(i), carried);
  }
  program.load({g.l(i), g.m(i)});
  if (variant.d_once) program.load(g.D(i));

  // Recompute P
  program.at(compute_scores).scores(g.S(i, j), g.Q(i), g.K(j));
  shape_scores_keeping_slope(g, g.S(i, j), g.edge(i, j), {cap_s, bias_s, apply_mask}, program);
  program.at(compute_p).exp(g.P(i, j), last_use(g.S(i, j)), last_use(g.m(i)));
  program.normalize(g.P(i, j), last_use(g.l(i)));

  // Propagate dO back through O = P V and through the softmax
  add_to_dv(g, g.dV(j), g.P(i, j), g.dO(i), {drop_p, update_dv, update_dv_dropped}, program);
  program.at(compute_dp);
  const Tile dO = variant.d_once ? last_use(g.dO(i)) : g.dO(i);
  program.product_transposed(g.dP(i, j), dO, g.V(j));
  drop(g, g.dP(i, j), drop_dp, program);
  if (!variant.d_once) {
    program.at(compute_d).row_dot(g.D(i), last_use(g.dO(i)), last_use(g.O(i)));
  }
  program.at(compute_ds)
      .softmax_gradient(g.dS(i, j), last_use(g.P(i, j)), last_use(g.dP(i, j)), last_use(g.D(i)));
  apply_cap_slope(g, g.dS(i, j), g.S(i, j), slope_ds, program);
  program.at(update_dq).gradient_product(g.dQ(i), g.dS(i, j), g.K(j));
  program.at(store_dq).store(last_use(g.dQ(i)), carried);
  program.at(update_dk).gradient_product_transposed(g.dK(j), last_use(g.dS(i, j)),
                                                    last_use(g.Q(i)));
}

/// The program of one thread block: one head. dK_j, dV_j stay on chip for a sweep over i; dQ_i is
/// read from and written to HBM in every sweep; D_i is recomputed in every step, from O_i and dO_i.
/// dQ = 0 in HBM (line 5) is the state of HBM before the launch. Without a mask, per head: reads
/// 2 N_kv d + Tc (4 N d + 2 N), writes Tc N d + 2 N_kv d elements. Variants: D computed once, by a
/// launch "row_dots" (2 N d read, N written, and N in place of N d in every sweep); dQ not read at
/// a row tile's first visit (N d less).
void flash1_backward(const TileGrid& g, Index /*block*/, Program& program) {
  for (const std::int32_t j : whole_columns(g, program)) {
    program.at(load_kv);
    load_keys(g, j, program);
    program.at(start).fill_zero({g.dK(j), g.dV(j)});
    for (const std::int32_t i : rows_of_column(g, j, g.row_tiles_for(j), program)) {
      if (!g.empty(i, j)) visit_row_tile(g, i, j, program);
    }
    program.at(write_back);
    store_key_gradients(g, j, program);
  }
}

}  // namespace

Pass flash1_backward_pass(const ScheduleOptions& options) {
  Pass pass{{{"backward", block_per_head, flash1_backward, pseudo_code_of(options.variant)}},
            {{carried_gradient(options), 0.0}}};
  if (options.variant.d_once) {
    pass.launches.insert(pass.launches.begin(), blind_launch({"row_dots", block_per_row_tile,
                                                              row_dots, kRowDotPseudoCode}));
  }
  if (options.variant.carry == Carry::fp32) pass.launches.push_back(convert_dq_launch());
  add_head_sum_launch(options, pass);
  return pass;
}

}  // namespace attnscope
