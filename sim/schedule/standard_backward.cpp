#include "sim/schedule/schedules.h"

#include <algorithm>
#include <iterator>

#include "reference/check.h"
#include "sim/ops/tile_loop.h"

namespace attnscope {

namespace {

// clang-format off
enum DvLine : std::uint8_t { dv_columns, dv_start, dv_rows, dv_load, dv_load_dropped, dv_product, dv_product_dropped, dv_store };
enum DpLine : std::uint8_t { dp_tiles, dp_load, dp_product, dp_store };
enum DsLine : std::uint8_t {
  ds_rows, ds_load, ds_drop, ds_dot, ds_gradient, ds_load_s, ds_cap, ds_slope, ds_store,
};
enum DsSweepLine : std::uint8_t {
  sweep_rows, sweep_start, first_sweep, first_load, first_drop, first_dot, second_sweep,
  second_load, second_drop, second_gradient, second_load_s, second_cap, second_slope, second_store,
};
enum DqLine : std::uint8_t { dq_rows, dq_start, dq_columns, dq_load, dq_product, dq_store };
enum DkLine : std::uint8_t { dk_columns, dk_start, dk_rows, dk_load, dk_product, dk_store };
// clang-format on

constexpr PseudoLine kDvPseudoCode[] = {
    {0, Step::outer_loop, "for each column tile j, in parallel", "A tiled matrix product."},
    {1, Step::start, "dV_j = 0", "The sum over the queries starts empty."},
    {1, Step::inner_loop, "for each row tile i", "The sum over the queries."},
    {2, Step::load, "load P_ij, dO_i",
     "The stored probabilities are read again, with the gradient of O.", ScoreStep::no_dropout},
    {2, Step::load, "load P~_ij, dO_i", "P after dropout is read again, with the gradient of O.",
     ScoreStep::dropout},
    {2, Step::update_dV, "dV_j = dV_j + P_ijᵀ dO_i",
     "O = P V: row k of dV sums the rows of dO, weighted by column k of P.", ScoreStep::no_dropout},
    {2, Step::update_dV, "dV_j = dV_j + P~_ijᵀ dO_i",
     "O = P~ V: row k of dV sums the rows of dO, weighted by column k of P~.", ScoreStep::dropout},
    {1, Step::store_key_gradients, "store dV_j", "The first gradient."},
};
static_assert(has_each_step_once(kDvPseudoCode));
constexpr PseudoLine kDpPseudoCode[] = {
    {0, Step::outer_loop, "for each tile (i, j), in parallel", "A tiled matrix product."},
    {1, Step::load, "load dO_i, V_j",
     "Every tile reads its operands again; the paper counts them once."},
    {1, Step::product_dP, "dP_ij = dO_i V_jᵀ", "The gradient of the probabilities."},
    {1, Step::store, "store dP_ij", "N × N more values to store."},
};
static_assert(has_each_step_once(kDpPseudoCode));
constexpr PseudoLine load_scores_line(int indent) {
  return {indent, Step::load_scores, "load S",
          "The cap's derivative needs the N × N scores once more.", ScoreStep::soft_cap};
}
/// A line of dropout that is omitted if dropout is a separate launch.
constexpr PseudoLine fused(PseudoLine line) {
  line.when = ScoreStep::fused_dropout;
  return line;
}

constexpr PseudoLine kDsPseudoCode[] = {
    {0, Step::outer_loop, "for each group of rows i, in parallel",
     "No group of rows needs another's result."},
    {1, Step::load, "load P_i, dP_i (whole rows)", "Two N × N matrices are read again."},
    fused(drop_gradient_line(1)),
    {1, Step::row_dot, "D = rowsum(P_i ∘ dP_i)", "The row's contribution to each of its elements."},
    {1, Step::softmax_gradient, "dS_i = P_i ∘ (dP_i - D)", "The softmax's gradient."},
    load_scores_line(1),
    soft_cap_slope_line(1),
    cap_gradient_line(1),
    {1, Step::store, "store dS_i", "N × N values to store again."},
};
static_assert(has_each_step_once(kDsPseudoCode));
constexpr PseudoLine kDsSweepPseudoCode[] = {
    {0, Step::outer_loop, "for each group of rows i, in parallel",
     "No group of rows needs another's result."},
    {1, Step::start, "D = 0",
     "The rows are too long for the registers, so they are swept in panels."},
    {1, Step::inner_loop, "for each panel j", "First sweep: the row sums."},
    {2, Step::load, "load P_ij, dP_ij", "First read."},
    fused(drop_gradient_line(2)),
    {2, Step::row_dot, "D = D + rowsum(P_ij ∘ dP_ij)",
     "The row's contribution to each of its elements."},
    {1, Step::inner_loop_again, "for each panel j", "Second sweep: the gradient."},
    {2, Step::load_again, "load P_ij, dP_ij", "Second read."},
    fused(drop_gradient_line(2, Step::drop_dP_again)),
    {2, Step::softmax_gradient, "dS_ij = P_ij ∘ (dP_ij - D)", "The softmax's gradient."},
    load_scores_line(2),
    soft_cap_slope_line(2),
    cap_gradient_line(2),
    {2, Step::store, "store dS_ij", "N × N values to store again."},
};
static_assert(has_each_step_once(kDsSweepPseudoCode));
constexpr PseudoLine kDqPseudoCode[] = {
    {0, Step::outer_loop, "for each row tile i, in parallel", "A tiled matrix product."},
    {1, Step::start, "dQ_i = 0", "The sum over the keys starts empty."},
    {1, Step::inner_loop, "for each column tile j", "The sum over the keys."},
    {2, Step::load, "load dS_ij, K_j", "N × N values are read again."},
    {2, Step::update_dQ, "dQ_i = dQ_i + scale · dS_ij K_j",
     "The gradient of S = scale · Q Kᵀ with respect to Q."},
    {1, Step::store_dQ, "store dQ_i", "The second gradient."},
};
static_assert(has_each_step_once(kDqPseudoCode));
constexpr PseudoLine kDkPseudoCode[] = {
    {0, Step::outer_loop, "for each column tile j, in parallel", "A tiled matrix product."},
    {1, Step::start, "dK_j = 0", "The sum over the queries starts empty."},
    {1, Step::inner_loop, "for each row tile i", "The sum over the queries."},
    {2, Step::load, "load dS_ij, Q_i", "The same N × N values once more."},
    {2, Step::update_dK, "dK_j = dK_j + scale · dS_ijᵀ Q_i",
     "The gradient of S = scale · Q Kᵀ with respect to K."},
    {1, Step::store_key_gradients, "store dK_j", "The third gradient."},
};
static_assert(has_each_step_once(kDkPseudoCode));

constexpr auto kUnscaledDqPseudoCode = with_lines(
    kDqPseudoCode,
    {{dq_product,
      {2, Step::update_dQ, "dQ_i = dQ_i + dS_ij K_j", "dS was scaled in a separate launch."}}});
static_assert(has_each_step_once(kUnscaledDqPseudoCode));
constexpr auto kUnscaledDkPseudoCode = with_lines(
    kDkPseudoCode,
    {{dk_product,
      {2, Step::update_dK, "dK_j = dK_j + dS_ijᵀ Q_i", "dS was scaled in a separate launch."}}});
static_assert(has_each_step_once(kUnscaledDkPseudoCode));

void standard_dv(const TileGrid& g, Index block, Program& program) {
  const auto j = static_cast<std::int32_t>(block / g.d_parts());
  const Tile dV = part_of(g.dV(j), block % g.d_parts());
  program.at(dv_start).fill_zero(dV);
  for (const std::int32_t i : rows_of_column(g, j, g.row_tiles(), program)) {
    const bool drops = g.problem().score.has_dropout();
    const Tile P = drops ? g.P_drop(i, j) : g.P(i, j);
    const Tile dO = part_of(g.dO(i), dV.part);
    program.at(drops ? dv_load_dropped : dv_load).load({P, dO});
    program.at(drops ? dv_product_dropped : dv_product)
        .accumulate_transposed(dV, last_use(P), last_use(dO));
  }
  program.at(dv_store);
  store_key_gradient(g, dV, program);
}

/// dS = dS o T, from the scores that the forward pass stored; `dS` may be in another slot.
void pass_through_cap(const TileGrid& g, Tile dS, std::uint8_t load_line, std::uint8_t cap_line,
                      std::uint8_t slope_line, Program& program) {
  if (!g.problem().score.soft_cap) return;
  const Tile S = g.S(dS.i, dS.j);
  program.at(load_line).load(S);
  cap_keeping_slope(g, S, cap_line, program);
  apply_cap_slope(g, dS, S, slope_line, program);
}

void standard_dp(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block / g.Tc());
  const auto j = static_cast<std::int32_t>(block % g.Tc());
  program.at(dp_load).load({g.dO(i), g.V(j)});
  program.at(dp_product).product_transposed(g.dP(i, j), last_use(g.dO(i)), last_use(g.V(j)));
  program.at(dp_store).store(last_use(g.dP(i, j)));
}

/// dP = dropout(dP), unless a separate launch has applied it.
void drop_gradient(const TileGrid& g, Tile dP, std::uint8_t line, Program& program) {
  if (!drops_apart(g.options())) drop(g, dP, line, program);
}

void standard_ds(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block);
  const Tile P = g.P(i, kAllColumns);
  const Tile dP = g.dP(i, kAllColumns);
  program.at(ds_load).load({P, dP});
  drop_gradient(g, dP, ds_drop, program);
  program.at(ds_dot).row_dot(g.D(i), P, dP);
  program.at(ds_gradient).softmax_gradient(dP, last_use(P), dP, last_use(g.D(i)));  // in place
  pass_through_cap(g, dP, ds_load_s, ds_cap, ds_slope, program);
  program.at(ds_store).store(last_use(dP), g.dS(i, kAllColumns).in_hbm());
}

void standard_ds_two_sweeps(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block);
  program.at(sweep_start).fill_zero(g.D(i));
  for (const std::int32_t j : columns_of_row(g, i, g.column_tiles(), program)) {
    program.at(first_load).load({g.P(i, j), g.dP(i, j)});
    drop_gradient(g, g.dP(i, j), first_drop, program);
    program.at(first_dot).add_row_dot(g.D(i), last_use(g.P(i, j)), last_use(g.dP(i, j)));
  }
  for (const std::int32_t j : columns_of_row(g, i, g.column_tiles(), program)) {
    program.at(second_load).load({g.P(i, j), g.dP(i, j)});
    drop_gradient(g, g.dP(i, j), second_drop, program);
    program.at(second_gradient)
        .softmax_gradient(g.dS(i, j), last_use(g.P(i, j)), last_use(g.dP(i, j)), g.D(i));
    pass_through_cap(g, g.dS(i, j), second_load_s, second_cap, second_slope, program);
    program.at(second_store).store(last_use(g.dS(i, j)));
  }
}

void standard_dq(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block / g.d_parts());
  const Tile dQ = part_of(g.dQ(i), block % g.d_parts());
  program.at(dq_start).fill_zero(dQ);
  for (const std::int32_t j : columns_of_row(g, i, g.column_tiles(), program)) {
    const Tile K = part_of(g.K(j), dQ.part);
    program.at(dq_load).load({g.dS(i, j), K});
    program.at(dq_product);
    if (scales_apart(g.options())) {
      program.accumulate(dQ, last_use(g.dS(i, j)), last_use(K));
    } else {
      program.gradient_product(dQ, last_use(g.dS(i, j)), last_use(K));
    }
  }
  program.at(dq_store).store(last_use(dQ));
}

void standard_dk(const TileGrid& g, Index block, Program& program) {
  const auto j = static_cast<std::int32_t>(block / g.d_parts());
  const Tile dK = part_of(g.dK(j), block % g.d_parts());
  program.at(dk_start).fill_zero(dK);
  for (const std::int32_t i : rows_of_column(g, j, g.row_tiles(), program)) {
    const Tile Q = part_of(g.Q(i), dK.part);
    program.at(dk_load).load({g.dS(i, j), Q});
    program.at(dk_product);
    if (scales_apart(g.options())) {
      program.accumulate_transposed(dK, last_use(g.dS(i, j)), last_use(Q));
    } else {
      program.gradient_product_transposed(dK, last_use(g.dS(i, j)), last_use(Q));
    }
  }
  program.at(dk_store);
  store_key_gradient(g, dK, program);
}

/// The launches of the forward pass, repeated under separate names: activation checkpointing.
std::vector<Launch> recomputed_forward(const ScheduleOptions& options) {
  using NamePair = std::pair<std::string_view, std::string_view>;
  constexpr NamePair kNames[] = {
      {"scores", "recompute_scores"},   {"scale", "recompute_scale"},
      {"mask", "recompute_mask"},       {"scale_mask", "recompute_scale_mask"},
      {"softmax", "recompute_softmax"}, {"dropout", "recompute_dropout"},
      {"output", "recompute_output"}};
  std::vector<Launch> launches = standard_forward_pass(options).launches;
  for (Launch& launch : launches) {
    const auto* const found = std::ranges::find(kNames, launch.name, &NamePair::first);
    ATTNSCOPE_CHECK(found != std::end(kNames), ==, true);
    launch.name = found->second;
  }
  return launches;
}

}  // namespace

Pass standard_backward_pass(const ScheduleOptions& options) {
  Launch ds =
      options.gradient_panel_cols > 0
          ? product_launch({"dS", block_per_row_tile, standard_ds_two_sweeps, kDsSweepPseudoCode})
          : product_launch({"dS", block_per_row_tile, standard_ds, kDsPseudoCode});
  ds.grid = gradient_row_grid;
  Launch dv = product_launch({"dV", block_per_column_tile, standard_dv, kDvPseudoCode});
  Launch dp = product_launch({"dP", block_per_tile, standard_dp, kDpPseudoCode});
  Launch dq = product_launch({"dQ", block_per_row_tile, standard_dq, kDqPseudoCode});
  Launch dk = product_launch({"dK", block_per_column_tile, standard_dk, kDkPseudoCode});
  dv.grid = product_grid<ResultOf::keys_by_d, &ProductTiles::dV>;
  dp.grid = product_grid<ResultOf::queries_by_keys, &ProductTiles::dP>;
  dq.grid = product_grid<ResultOf::queries_by_d, &ProductTiles::dQ>;
  dk.grid = product_grid<ResultOf::keys_by_d, &ProductTiles::dK>;
  if (scales_apart(options)) {
    dq.pseudo_code = kUnscaledDqPseudoCode;
    dk.pseudo_code = kUnscaledDkPseudoCode;
  }

  Pass pass;
  if (options.variant.checkpoint) pass.launches = recomputed_forward(options);
  append(pass, {dv, dp});
  append(pass, probability_gradient_launches(options));
  append(pass, {ds});
  append(pass, gradient_launches(options));
  append(pass, {dq, dk});
  add_head_sum_launch(options, pass);
  return pass;
}

}  // namespace attnscope
