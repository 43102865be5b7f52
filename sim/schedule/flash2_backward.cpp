#include "sim/schedule/schedules.h"

#include "sim/ops/tile_loop.h"
#include "sim/ops/tile_ring.h"

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
     "Equal to rowsum(P ∘ dP), without whole rows of either."},
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
     "Two numbers per row replace whole rows: LSE of the forward pass, D of the first launch."},
    {2, Step::scores, "S = scale · Q_i K_jᵀ",
     "Recomputed: storing N × N scores would cost more than this product."},
    soft_cap_slope_line(2),
    alibi_line(2),
    {2, Step::mask, "mask S", "Only tiles that the edge of the mask cuts."},
    {2, Step::exponentiate, "P = exp(S - LSE_i)",
     "The normalised probabilities at once: no second pass over the row."},
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

/// The tiles that stay on chip while a column tile, or a consumer's share of its keys, visits the
/// rows that see it.
struct KeysOnChip {
  const TileGrid& g;
  std::int32_t j;
  Index share = -1;  ///< number of the share; -1: all keys

  /// own(): a tile in registers, of which a consumer has only its share; within(): one in shared
  /// memory.
  Tile own(const Tile& tile) const { return share < 0 ? tile : key_share(tile, share); }
  Tile within(const Tile& tile) const { return share < 0 ? tile : keys_within(tile, share); }
  Tile K() const { return within(g.K(j)); }
  Tile V() const { return within(g.V(j)); }
  Tile dK() const { return own(g.dK(j)); }
  Tile dV() const { return own(g.dV(j)); }
  Tile S(std::int32_t i) const { return own(g.S(i, j)); }
  Tile P(std::int32_t i) const { return own(g.P(i, j)); }
  Tile dP(std::int32_t i) const { return own(g.dP(i, j)); }
  bool any() const { return g.keys_of(K()).size() > 0; }

  void begin(Program& program) const { program.at(start).fill_zero({dK(), dV()}); }

  // Recompute P
  void score(std::int32_t i, const Tile& Q, Program& program) const {
    program.at(compute_scores).scores(S(i), Q, K());
    shape_scores_keeping_slope(g, S(i), g.edge(S(i)), {cap_s, bias_s, apply_mask}, program);
  }
  void exponentiate(std::int32_t i, const Tile& LSE, Program& program) const {
    program.at(compute_p).exp(P(i), last_use(S(i)), LSE);
  }

  // Propagate dO back through O = P V and through the softmax
  void add_value_gradient(std::int32_t i, const Tile& dO, Program& program) const {
    add_to_dv(g, dV(), P(i), dO, {drop_p, update_dv, update_dv_dropped}, program);
  }
  void make_probability_gradient(std::int32_t i, const Tile& dO, Program& program) const {
    program.at(compute_dp).product_transposed(dP(i), dO, V());
    drop(g, dP(i), drop_dp, program);
  }
  void make_score_gradient(const Tile& dS, const Tile& D, Program& program) const {
    program.at(compute_ds).softmax_gradient(within(dS), last_use(P(dS.i)), last_use(dP(dS.i)), D);
    apply_cap_slope(g, within(dS), S(dS.i), slope_ds, program);
  }
  void add_key_gradient(const Tile& dS, const Tile& Q, Program& program) const {
    program.at(update_dk).gradient_product_transposed(dK(), within(dS), Q);
  }

  void store(Program& program) const {
    program.at(write_back);
    store_key_gradient(g, dK(), program);
    store_key_gradient(g, dV(), program);
  }
};

/// "backward", the program of one thread block: column tile j of one head. dK_j, dV_j stay on chip
/// for the whole sweep over i; every block whose keys row tile i sees adds to dQ_i in fp32,
/// atomically (in L2). Without a mask, per head: reads 2 N_kv d + Tc (2 N d + 2 N), adds Tc N d in
/// fp32.
void flash2_backward(const TileGrid& g, Index block, Program& program) {
  const auto j = static_cast<std::int32_t>(block);
  const KeysOnChip keys{g, j};
  program.at(load_kv);
  load_keys(g, j, program);
  keys.begin(program);

  for (const std::int32_t i : rows_of_column(g, j, g.row_tiles_for(j), program)) {
    if (g.empty(i, j)) continue;
    const Tile dQ_part = g.row_tile(Tensor::dQ_accum, i), dS = g.dS(i, j);
    program.at(load_row).load({g.Q(i), g.dO(i), g.LSE(i), g.D(i)});
    keys.score(i, g.Q(i), program);
    keys.exponentiate(i, last_use(g.LSE(i)), program);
    keys.add_value_gradient(i, g.dO(i), program);
    keys.make_probability_gradient(i, last_use(g.dO(i)), program);
    keys.make_score_gradient(dS, last_use(g.D(i)), program);
    program.at(update_dq).fill_zero(dQ_part);
    program.gradient_product(dQ_part, dS, g.K(j));
    program.atomic_add(last_use(dQ_part), dQ_part.in_hbm());
    keys.add_key_gradient(last_use(dS), last_use(g.Q(i)), program);
  }
  keys.store(program);
}

// The same program as agents, as in kernels/flash2/flash2_backward_hopper.cuh, whose barriers are
// in flash2_gradient_block.cuh. Each consumer has its share of the column tile's keys, with dK_j
// and dV_j of these keys, and all rows that see the column tile. dQ_i sums over all keys: the
// consumers assemble dS in shared memory, and each multiplies a share of its rows by the whole K_j.
// Other agents load Q_i and dO_i, load LSE_i and D_i, and add dQ_i.
//
// A consumer runs the steps of a row tile in the order of the pseudo-code, whereas the kernel's
// products overlap other work. Here, dS and dQ_i have one slot on chip each and no copy in
// registers. The program of flash2_backward_wide.cuh, whose consumers share the products instead of
// the keys, is not modelled.

/// The slots of row tiles; each agent has its own copy.
struct RowRings {
  explicit RowRings(const TileGrid& g)
      : Q(g.options().variant.stages, 1, g.shares()),
        dO(Q),
        statistics(Q),
        dS_written(g.options().variant.stages, g.shares(), g.shares()),
        dS_read(dS_written),
        dQ(1, g.shares(), 1) {}
  TileRing Q, dO;
  TileRing statistics;           ///< of LSE_i, which also represents D_i
  TileRing dS_written, dS_read;  ///< the same slots: a consumer both writes and reads
  TileRing dQ;                   ///< filled by the consumers, emptied by the dQ adder
};

Barrier keys_arrived(const Tile& on_chip) {
  return {Barrier::Signals::full, 1, 0, on_chip};
}

/// Calls visit(i) for each row tile that the block visits. The first ones, for which every slot is
/// free, are not part of the counted loop.
template <typename Visit>
void for_each_row_tile(const TileGrid& g, std::int32_t j, Program& program, Visit visit) {
  const Index stages = g.options().variant.stages;
  TileRange rows = g.row_tiles_for(j);
  for (Index visited = 0; visited < stages && !rows.empty(); ++rows.first) {
    const std::int32_t i = rows.at(rows.first);
    if (g.empty(i, j)) continue;
    visit(i);
    ++visited;
  }
  for (const std::int32_t i : rows_of_column(g, j, rows, program, stages)) {
    if (!g.empty(i, j)) visit(i);
  }
}

void load_tiles(const TileGrid& g, std::int32_t j, Program& program) {
  if (loads_keys(g, j)) {
    for (const Tile& tile : {g.K(j), g.V(j)}) {
      program.at(load_kv).load(tile);
      program.arrive(keys_arrived(tile));
    }
  }
  RowRings rings(g);
  for_each_row_tile(g, j, program, [&](std::int32_t i) {
    program.at(load_row);
    rings.Q.load(g.Q(i), program);
    rings.dO.load(g.dO(i), program);
  });
}

Tile in_slot_of(const Tile& other, Tile tile) {
  tile.slot = other.slot;
  return tile;
}

void load_statistics(const TileGrid& g, std::int32_t j, Program& program) {
  RowRings rings(g);
  for_each_row_tile(g, j, program, [&](std::int32_t i) {
    const Tile LSE = rings.statistics.await_place(g.LSE(i), program.at(load_row));
    program.load({LSE, in_slot_of(LSE, g.D(i))});
    rings.statistics.announce(LSE, program);
  });
}

void add_query_gradients(const TileGrid& g, std::int32_t j, Program& program) {
  RowRings rings(g);
  for_each_row_tile(g, j, program, [&](std::int32_t i) {
    const Tile dQ = rings.dQ.await(g.row_tile(Tensor::dQ_accum, i), program.at(update_dq));
    program.atomic_add(last_use(dQ), dQ.in_hbm());
    rings.dQ.release(dQ, program);
  });
}

/// A consumer without keys takes no part in the scores, except for its arrivals, which the barriers
/// count; likewise for dQ if it has no rows.
class GradientConsumer {
 public:
  GradientConsumer(const TileGrid& g, std::int32_t j, Index number)
      : g_(g), keys_{g, j, number}, rings_(g) {}

  void consume(Program& program) {
    if (keys_.any()) keys_.begin(program);
    if (!g_.row_tiles_for(keys_.j).empty()) {
      program.at(compute_scores).wait(keys_arrived(g_.K(keys_.j)));
      program.at(compute_dp).wait(keys_arrived(g_.V(keys_.j)));
    }
    for_each_row_tile(g_, keys_.j, program, [&](std::int32_t i) { visit(i, program); });
    if (keys_.any()) keys_.store(program);
  }

 private:
  void visit(std::int32_t i, Program& program) {
    const Tile Q = rings_.Q.await(g_.Q(i), program.at(compute_scores));
    if (keys_.any()) keys_.score(i, Q, program);
    make_score_gradient(i, program);
    const Tile dS = rings_.dS_read.await(g_.dS(i, keys_.j), program.at(update_dq));
    add_query_gradient(dS, program);
    if (keys_.any()) keys_.add_key_gradient(dS, Q, program);
    program.at(update_dk);
    rings_.dS_read.release(dS, program);
    rings_.Q.release(Q, program);
  }

  /// Computes dS of the consumer's keys for all consumers, and also adds to dV.
  void make_score_gradient(std::int32_t i, Program& program) {
    const Tile LSE = rings_.statistics.await(g_.LSE(i), program.at(compute_p));
    if (keys_.any()) keys_.exponentiate(i, LSE, program);
    const Tile dO = rings_.dO.await(g_.dO(i), program.at(value_gradient_line()));
    if (keys_.any()) keys_.add_value_gradient(i, dO, program);
    program.at(compute_dp);
    if (keys_.any()) keys_.make_probability_gradient(i, dO, program);
    rings_.dO.release(dO, program.at(compute_dp));
    const Tile dS = rings_.dS_written.await_place(g_.dS(i, keys_.j), program.at(compute_ds));
    if (keys_.any()) keys_.make_score_gradient(dS, in_slot_of(LSE, g_.D(i)), program);
    program.at(compute_ds);
    rings_.statistics.release(LSE, program);
    rings_.dS_written.announce(dS, program);
  }

  /// Computes the consumer's rows of dQ_i for the agent that adds it.
  void add_query_gradient(const Tile& dS, Program& program) {
    const Index number = keys_.share;
    const Tile dQ = rings_.dQ.await_place(g_.row_tile(Tensor::dQ_accum, dS.i), program);
    const Tile own = queries_within(dQ, number);
    if (g_.rows_of(own).size() > 0) {
      program.fill_zero(own);
      program.gradient_product(own, queries_within(dS, number), g_.K(keys_.j));
    }
    rings_.dQ.announce(dQ, program);
  }

  std::uint8_t value_gradient_line() const {
    return g_.problem().score.has_dropout() ? update_dv_dropped : update_dv;
  }

  const TileGrid& g_;
  KeysOnChip keys_;
  RowRings rings_;
};

void flash2_backward_by_agents(const TileGrid& g, Index block, Program& program) {
  const auto j = static_cast<std::int32_t>(block);
  program.agent(Agent::producer);
  load_tiles(g, j, program);
  program.agent(Agent::statistics_loader);
  load_statistics(g, j, program);
  program.agent(Agent::dQ_adder);
  add_query_gradients(g, j, program);
  for (Index n = 0; n < g.shares(); ++n) {
    program.agent(consumer(n));
    GradientConsumer(g, j, n).consume(program);
  }
}

Launch backward_launch(const ScheduleOptions& options) {
  const Index consumers = options.variant.consumers;
  if (consumers == 0) return {"backward", block_per_column_tile, flash2_backward, kPseudoCode};
  Launch launch{"backward", block_per_column_tile, flash2_backward_by_agents, kPseudoCode,
                agents_grid};
  launch.agents = {Agent::producer, Agent::statistics_loader, Agent::dQ_adder};
  for (Index n = 0; n < consumers; ++n) launch.agents.push_back(consumer(n));
  return launch;
}

}  // namespace

Pass flash2_backward_pass(const ScheduleOptions& options) {
  Pass pass{
      {blind_launch({"preprocess", block_per_row_tile, flash2_preprocess, kPreprocessPseudoCode}),
       backward_launch(options), convert_dq_launch()}};
  add_head_sum_launch(options, pass);
  return pass;
}

}  // namespace attnscope
