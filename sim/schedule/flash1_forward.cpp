#include "sim/schedule/schedules.h"

#include <limits>

#include "sim/ops/tile_loop.h"

namespace attnscope {

namespace {

// clang-format off
enum Line : std::uint8_t {
  for_columns, load_kv, for_rows, load_row, compute_scores, cap_s, bias_s, apply_mask, compute_tile,
  update_m, rescale_old, update_l, drop_p, update_o, write_o, write_statistics,
};
// clang-format on

constexpr PseudoLine kPseudoCode[] = {
    {0, Step::outer_loop, "for each column tile j",
     "K and V are the outer loop: each of their tiles is read exactly once."},
    {1, Step::load_column_tile, "load K_j, V_j",
     "They stay in SRAM while every row tile passes by."},
    {1, Step::inner_loop, "for each row tile i that sees column tile j",
     "Q and O are the inner loop: they are streamed once for every column tile."},
    {2, Step::load_row_tile, "load Q_i, O_i, l_i, m_i",
     "O, l and m hold earlier column tiles' contributions to row tile i."},
    {2, Step::scores, "S = scale · Q_i K_jᵀ",
     "The scores of one tile live on chip only; the N × N matrix is never stored."},
    soft_cap_line(2),
    alibi_line(2),
    {2, Step::mask, "mask S",
     "Only tiles that the edge of the mask cuts; fully masked tiles were skipped."},
    {2, Step::exponentiate, "m~ = rowmax S; P~ = exp(S - m~); l~ = rowsum P~",
     "The softmax of this tile alone, as if no other keys existed."},
    {2, Step::update_max,
     "m_prev = m_i; m_i = max(m_prev, m~); alpha = exp(m_prev - m_i); beta = exp(m~ - m_i)",
     "The two factors that bring the old sums and the new ones to a common maximum."},
    {2, Step::rescale_output, "O_i = (alpha · l_i) · O_i",
     "O was stored normalised: its old sum and alpha make it a sum relative to the new maximum."},
    {2, Step::update_sum, "l_i = alpha · l_i + beta · l~",
     "alpha and beta make both sums relative to the new maximum, so that they can be added."},
    drop_probabilities_line(2),
    {2, Step::update_output, "O_i = (O_i + beta · P~ V_j) / l_i",
     "Normalised in every step; FlashAttention-2 leaves this division to the end."},
    {2, Step::store_output, "store O_i", "The whole of O is written back for every column tile."},
    {2, Step::store_statistics, "store l_i, m_i", "The statistics travel with it."},
};
static_assert(has_each_step_once(kPseudoCode));

constexpr auto kStartOnChipPseudoCode =
    with_lines(kPseudoCode,
               {{load_row,
                 {2, Step::load_row_tile,
                  "load Q_i, O_i, l_i, m_i; in the first visit of i, O_i = 0, l_i = 0, m_i = -inf",
                  "Nothing has been stored before the first visit, so nothing is read."}}});
static_assert(has_each_step_once(kStartOnChipPseudoCode));

// clang-format off
enum ConvertLine : std::uint8_t { convert_rows, load_carry, round_o, write_rounded };
// clang-format on

constexpr PseudoLine kConvertPseudoCode[] = {
    {0, Step::outer_loop, "for each row tile i, in parallel",
     "No row tile needs another's result."},
    {1, Step::load_fp32, "load O_i in fp32", "Between the column tiles O was kept in fp32."},
    {1, Step::round, "round O_i to the problem's precision",
     "Rounded once, not once for every column tile."},
    {1, Step::store_output, "store O_i", "The requested output."},
};
static_assert(has_each_step_once(kConvertPseudoCode));

void convert_carry(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block);
  const Tile carried = g.row_tile(Tensor::O_carry, i);
  program.at(load_carry).load(carried);
  program.at(round_o).convert(g.O(i), last_use(carried));
  program.at(write_rounded).store(last_use(g.O(i)));
}

Tensor carried_tensor(const ScheduleOptions& options) {
  return options.variant.carry == Carry::fp32 ? Tensor::O_carry : Tensor::O;
}

/// One step of the inner loop: row tile i with column tile j.
void visit_row_tile(const TileGrid& g, std::int32_t i, std::int32_t j, Program& program) {
  const Tile m_tile = g.row_tile(Tensor::m_tile, i);
  const Tile l_tile = g.row_tile(Tensor::l_tile, i);
  const Tile beta = g.row_tile(Tensor::beta, i);
  const Tile carried = g.row_tile(carried_tensor(g.options()), i).in_hbm();
  program.at(load_row).load(g.Q(i));
  if (g.options().variant.skip_first_reads && j == *g.column_tiles_for(i).begin()) {
    program.fill_zero({g.O(i), g.l(i)});
    program.fill_minus_inf(g.m(i));
  } else {
    program.load(g.O(i), carried);
    program.load({g.l(i), g.m(i)});
  }
  program.at(compute_scores).scores(g.S(i, j), last_use(g.Q(i)), g.K(j));
  shape_scores(g, g.S(i, j), g.edge(i, j), {cap_s, bias_s, apply_mask}, program);

  // Compute the softmax of this tile alone
  program.at(compute_tile).row_max(m_tile, g.S(i, j));
  program.exp(g.P(i, j), last_use(g.S(i, j)), m_tile);
  program.row_sum(l_tile, g.P(i, j));

  // Merge it with the result of the previous column tiles
  program.at(update_m).running_max(g.m(i), g.alpha(i), m_tile);
  program.exp(beta, last_use(m_tile), g.m(i));
  program.at(rescale_old).rescale(g.l(i), last_use(g.alpha(i)));
  program.rescale(g.O(i), g.l(i));
  program.at(update_l).rescale(l_tile, beta);
  program.add_row_sum(g.l(i), last_use(l_tile));
  drop(g, g.P(i, j), drop_p, program);
  program.at(update_o).rescale(g.P(i, j), last_use(beta));
  program.accumulate(g.O(i), last_use(g.P(i, j)), g.V(j));
  program.normalize(g.O(i), g.l(i));

  program.at(write_o).store(last_use(g.O(i)), carried);
  program.at(write_statistics).store({last_use(g.l(i)), last_use(g.m(i))});
}

/// The program of one thread block: one head. K_j, V_j stay on chip for a sweep over i; O_i, l_i,
/// m_i are read from and written to HBM in every sweep, O normalised. Line 2's O = 0, l = 0, m =
/// -inf is the state of HBM before the launch; the first sweep reads it like any other sweep,
/// unless the variant skips these reads. Without a mask, per head: reads 2 N_kv d + Tc (2 N d + 2
/// N), writes Tc (N d + 2 N) elements; skipping saves N d + 2 N.
void flash1_forward(const TileGrid& g, Index /*block*/, Program& program) {
  for (const std::int32_t j : whole_columns(g, program)) {
    const TileRange row_tiles = g.row_tiles_for(j);
    const bool unused =
        g.options().variant.skip_unused_kv ? row_tiles.empty() : g.row_tiles_in_band(j).empty();
    if (unused) continue;  // no query sees these keys
    program.at(load_kv).load({g.K(j), g.V(j)});
    for (const std::int32_t i : rows_of_column(g, j, row_tiles, program)) {
      if (!g.empty(i, j)) visit_row_tile(g, i, j, program);
    }
  }
}

}  // namespace

Pass flash1_forward_pass(const ScheduleOptions& options) {
  Pass pass{{{"forward", block_per_head, flash1_forward, kPseudoCode}},
            {{carried_tensor(options), 0.0},
             {Tensor::l, 0.0},
             {Tensor::m, -std::numeric_limits<double>::infinity()}}};
  if (options.variant.skip_first_reads) pass.launches[0].pseudo_code = kStartOnChipPseudoCode;
  if (options.variant.carry == Carry::fp32) {
    pass.launches.push_back(
        blind_launch({"convert", block_per_row_tile, convert_carry, kConvertPseudoCode}));
  }
  return pass;
}

}  // namespace attnscope
