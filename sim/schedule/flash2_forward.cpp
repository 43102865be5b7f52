#include "sim/schedule/schedules.h"

#include "sim/ops/tile_loop.h"
#include "sim/ops/tile_ring.h"

namespace attnscope {

namespace {

// clang-format off
enum Line : std::uint8_t {
  for_rows, load_q, start, for_columns, load_kv, compute_scores, cap_s, bias_s, apply_mask, update_m,
  compute_p, update_l, drop_p, update_o, finish_o, finish_lse, write_back,
};
// clang-format on

constexpr PseudoLine kPseudoCode[] = {
    {0, Step::outer_loop, "for each row tile i, in parallel",
     "No row tile needs another's result, so each gets a thread block; they share K and V."},
    {1, Step::load_row_tile, "load Q_i",
     "Q_i is read once and stays in SRAM for the whole sweep over the keys."},
    {1, Step::start, "O_i = 0; l_i = 0; m_i = -inf",
     "No key has been read yet: the sum is empty and the maximum is below every score."},
    {1, Step::inner_loop, "for each column tile j that row tile i sees",
     "The sweep over the keys is the inner loop, so O_i never leaves the chip."},
    {2, Step::load_column_tile, "load K_j, V_j",
     "Every row tile reads K and V again: this is the traffic that the L2 cache absorbs."},
    {2, Step::scores, "S = scale · Q_i K_jᵀ",
     "The scores of one tile live on chip only; the N × N matrix is never stored."},
    soft_cap_line(2),
    alibi_line(2),
    {2, Step::mask, "mask S",
     "Only tiles that the edge of the mask cuts; fully masked tiles were skipped."},
    {2, Step::update_max, "m_prev = m_i; m_i = max(m_prev, rowmax S); alpha = exp(m_prev - m_i)",
     "Subtracting the largest score seen so far keeps every exponential at most 1."},
    {2, Step::exponentiate, "P = exp(S - m_i)",
     "The numerators of the softmax, relative to the maximum so far."},
    {2, Step::update_sum, "l_i = alpha · l_i + rowsum P",
     "alpha makes the old sum relative to the new maximum; the sum of this tile joins it."},
    drop_probabilities_line(2),
    {2, Step::update_output, "O_i = alpha · O_i + P V_j",
     "O is relative to the old row maximum; alpha converts it to the new one, so P never has to "
     "exist as a whole row."},
    {1, Step::normalize, "O_i = O_i / l_i",
     "One division at the end instead of one in every step, as in FlashAttention-1."},
    {1, Step::log_sum_exp, "LSE_i = m_i + log l_i",
     "One number per row replaces m and l; the backward pass recomputes P from it."},
    {1, Step::store_output, "store O_i, LSE_i", "The only writes of the whole sweep."},
};
static_assert(has_each_step_once(kPseudoCode));

/// The ring of buffers for K_j and V_j: loads run stages - 1 tiles ahead of the computation.
class KvStages {
 public:
  KvStages(const TileGrid& g, std::int32_t i, const TileRange& visited)
      : g_(g), i_(i), visited_(visited) {}

  /// Fills all buffers but one with the first tiles that row tile i sees.
  void load_first(Program& program) {
    for (Index ahead = 1; ahead < stages(); ++ahead) load(visited_, ahead - 1, program);
  }

  /// Loads the tile stages - 1 tiles after j among those that row tile i sees, if there is one,
  /// into its buffer, whose previous tile becomes invalid.
  void load_ahead(std::int32_t j, Program& program) {
    TileRange from_j = visited_;
    from_j.first = visited_.position_of(j);
    load(from_j, stages() - 1, program);
  }

  /// K_j and V_j of the next tile to process.
  std::pair<Tile, Tile> take(std::int32_t j) {
    const Index stage = taken_++;
    return {in_stage(g_.K(j), stage), in_stage(g_.V(j), stage)};
  }

 private:
  Index stages() const { return g_.options().variant.stages; }

  /// Loads the tile `count` tiles after the first of `tiles`, among those that row tile i sees.
  void load(const TileRange& tiles, Index count, Program& program) {
    for (const std::int32_t j : tiles) {
      if (g_.empty(i_, j) || count-- > 0) continue;
      program.at(load_kv).load({in_stage(g_.K(j), loaded_), in_stage(g_.V(j), loaded_)});
      ++loaded_;
      return;
    }
  }

  Tile in_stage(Tile tile, Index count) const {
    tile.slot = static_cast<std::uint8_t>(1 + count % stages());
    return tile;
  }

  const TileGrid& g_;
  std::int32_t i_;
  TileRange visited_;
  Index loaded_ = 0, taken_ = 0;
};

/// The tiles that stay on chip while a row tile, or a share of its rows, visits its keys.
struct RowsOnChip {
  const TileGrid& g;
  std::int32_t i;
  Index share = -1;  ///< number of the share; -1: all rows

  Tile own(const Tile& tile) const { return share < 0 ? tile : query_share(tile, share); }
  Tile Q() const { return own(g.Q(i)); }
  Tile O() const { return own(g.O(i)); }
  Tile m() const { return own(g.m(i)); }
  Tile l() const { return own(g.l(i)); }
  Tile alpha() const { return own(g.alpha(i)); }
  Tile LSE() const { return own(g.LSE(i)); }
  Tile S(std::int32_t j) const { return own(g.S(i, j)); }
  Tile P(std::int32_t j) const { return own(g.P(i, j)); }
  bool any() const { return g.rows_of(Q()).size() > 0; }

  void begin(Program& program) const {
    program.at(start).fill_zero({O(), l()});
    program.fill_minus_inf(m());
  }
  void score(std::int32_t j, const Tile& K, Program& program) const {
    program.at(compute_scores).scores(S(j), Q(), K);
  }
  /// Updates the running softmax with the new scores, which become P.
  void soften(std::int32_t j, Program& program) const {
    shape_scores(g, S(j), g.edge(S(j)), {cap_s, bias_s, apply_mask}, program);
    program.at(update_m).running_max(m(), alpha(), S(j));
    program.at(compute_p).exp(P(j), last_use(S(j)), m());
    program.at(update_l).rescale(l(), alpha());  // l was summed relative to the old m
    program.add_row_sum(l(), P(j));
    drop(g, P(j), drop_p, program);
  }
  void add_values(std::int32_t j, const Tile& V, Program& program) const {
    program.at(update_o).rescale(O(), last_use(alpha()));
    program.accumulate(O(), last_use(P(j)), V);
  }
  void finish(Program& program) const {
    program.at(finish_o).normalize(O(), l());
    program.at(finish_lse).log_sum_exp(LSE(), last_use(m()), last_use(l()));
    program.at(write_back);
  }
  void store(Program& program) const { program.store({last_use(O()), last_use(LSE())}); }
};

}  // namespace

void flash2_sweep(const TileGrid& g, std::int32_t i, const TileRange& columns, Program& program) {
  const RowsOnChip rows{g, i};
  program.at(load_q).load(rows.Q());
  rows.begin(program);

  const TileRange visited = g.column_tiles_for(i).within(columns);
  KvStages stages(g, i, visited);
  stages.load_first(program);
  for (const std::int32_t j : columns_of_row(g, i, visited, program, g.options().variant.stages)) {
    if (g.empty(i, j)) continue;
    stages.load_ahead(j, program);
    const auto [K, V] = stages.take(j);
    rows.score(j, K, program);
    rows.soften(j, program);
    rows.add_values(j, V, program);
  }
  rows.finish(program);
}

namespace {

/// The program of one thread block: row tile `block` of one head. O_i, m_i, l_i stay on chip for
/// the whole sweep over j. Reads per head N d + 2 d (keys visited by each row tile); writes N d and
/// N row statistics.
void flash2_forward(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block);
  flash2_sweep(g, i, g.column_tiles(), program);
  RowsOnChip{g, i}.store(program);
}

// The same program as agents (kernels/flash2/flash2_forward_hopper.cuh). Each consumer has its
// share of the row tile's rows and all keys that the row tile sees; the producer loads K_j and V_j
// once for all. A row tile is one thread block here, so that no agent waits for Q_i's slot to
// become free.

struct KvRings {
  explicit KvRings(const TileGrid& g) : K(g.options().variant.stages, 1, g.shares()), V(K) {}
  TileRing K, V;
};

Barrier rows_arrived(const RowsOnChip& rows) {
  return {Barrier::Signals::full, 1, 0, rows.Q()};
}

void produce(const TileGrid& g, std::int32_t i, Program& program) {
  for (Index share = 0; share < g.shares(); ++share) {
    const RowsOnChip rows{g, i, share};
    if (!rows.any()) continue;
    program.at(load_q).load(rows.Q());
    program.arrive(rows_arrived(rows));
  }
  KvRings rings(g);
  const auto load = [&](std::int32_t j) {
    if (g.empty(i, j)) return;
    program.at(load_kv);
    rings.K.load(g.K(j), program);
    rings.V.load(g.V(j), program);
  };
  TileRange visited = g.column_tiles_for(i);
  for (; !rings.V.is_full() && !visited.empty(); ++visited.first) load(visited.at(visited.first));
  for (const std::int32_t j : columns_of_row(g, i, visited, program, g.options().variant.stages)) {
    load(j);
  }
}

/// A consumer without rows only arrives at the barriers, which count its arrivals.
void consume(const RowsOnChip& rows, Program& program) {
  const TileGrid& g = rows.g;
  if (rows.any()) {
    rows.begin(program);
    program.at(compute_scores).wait(rows_arrived(rows));
  }
  KvRings rings(g);
  const TileRange visited = g.column_tiles_for(rows.i);
  for (const std::int32_t j :
       columns_of_row(g, rows.i, visited, program, g.options().variant.stages)) {
    if (g.empty(rows.i, j)) continue;
    const Tile K = rings.K.await(g.K(j), program.at(compute_scores));
    if (rows.any()) rows.score(j, K, program);
    rings.K.release(K, program);
    if (rows.any()) rows.soften(j, program);
    const Tile V = rings.V.await(g.V(j), program.at(update_o));
    if (rows.any()) rows.add_values(j, V, program);
    rings.V.release(V, program);
  }
  if (!rows.any()) return;
  rows.finish(program);
  rows.store(program);
}

void flash2_forward_by_agents(const TileGrid& g, Index block, Program& program) {
  const auto i = static_cast<std::int32_t>(block);
  program.agent(Agent::producer);
  produce(g, i, program);
  for (Index n = 0; n < g.shares(); ++n) {
    program.agent(consumer(n));
    consume({g, i, n}, program);
  }
}

}  // namespace

Pass flash2_forward_pass(const ScheduleOptions& options) {
  if (options.variant.consumers == 0) {
    return {{{"forward", block_per_row_tile, flash2_forward, kPseudoCode}}};
  }
  Launch forward{"forward", block_per_row_tile, flash2_forward_by_agents, kPseudoCode, agents_grid};
  forward.agents = {Agent::producer};
  for (Index n = 0; n < options.variant.consumers; ++n) forward.agents.push_back(consumer(n));
  return {{forward}};
}

}  // namespace attnscope
