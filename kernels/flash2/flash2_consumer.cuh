/// The work of a consumer of flash2_forward_hopper on a row tile. A consumer is a group of four
/// warps that multiplies 64 rows of the tile by all keys of each column tile.
///
/// The loop is skewed: the products S = Qi Kj^T and O += P Vj-1 are started together, and the
/// softmax of tile j is computed while the second one is running. With knob::kPingPong two
/// consumers start their products in turn, so that the softmax of one overlaps the products of the
/// other.
#pragma once

#include "kernels/device/gradient_products.cuh"
#include "kernels/device/tile_ring.cuh"
#include "kernels/device/wide_products.cuh"
#include "kernels/flash2/flash2_forward.cuh"
#include "kernels/flash2/flash2_hopper_parameters.cuh"

namespace attnscope::kernels {

/// A consumer's 64 rows of a row tile, and the column tiles that they visit. `n` is a position
/// among the column tiles, j = column_tiles[n].
template <typename Block>
struct Flash2Rows {
  static constexpr int Br = Block::kRows, Bc = Block::kKeys;
  static constexpr bool kTakesTurns = knob::kPingPong && knob::kOverlap && Block::kConsumers == 2;
  /// Whether the consumer skips column tiles that only the block's other rows see. Not with turns,
  /// which require both consumers to have the same number of tiles.
  static constexpr bool kTrims = knob::kTrim && !kTakesTurns && !knob::kVisitHidden;

  RowTile tile;
  int turn;         ///< number of the row tile in its block
  int first_row;    ///< of the warp, in its head: the consumers' warps come first
  int first_visit;  ///< number of visits to column tiles by earlier row tiles
  typename Block::Tiles column_tiles;
  int past_last_own;  ///< after the last column tile that the consumer's rows see
  int unmasked_keys;  ///< the keys that each of its rows sees

  __device__ Flash2Rows(const Block& block, const RowTile& tile_, int warpgroup, int turn_,
                        int visits)
      : tile(tile_),
        turn(turn_),
        first_row(tile.i * Br + warp_row()),
        first_visit(visits),
        column_tiles(block.column_tiles(tile)),
        past_last_own(past_last_tile(block, warpgroup)),
        unmasked_keys(block.parameters.shape.keys_end(tile.i * Br + warpgroup * 64)) {}

  /// False for the turn after the last row tile.
  __device__ bool exist() const { return tile.rows != 0; }
  __device__ static int warp_row() { return device::thread_index() / 32 * device::kFragmentRows; }
  __device__ int visit(int n) const { return first_visit + n - column_tiles.first; }
  __device__ bool is_masked(int n) const {
    return Block::kFeatures.any() || knob::kMaskAll || (column_tiles[n] + 1) * Bc > unmasked_keys;
  }
  __device__ auto own_tiles() const { return device::tiles_before(column_tiles, past_last_own); }

 private:
  __device__ int past_last_tile(const Block& block, int warpgroup) const {
    constexpr int kEveryTile = 0x7fffffff;
    if constexpr (!kTrims) return kEveryTile;
    const int first = warpgroup * 64;
    const int past_last = device::tiles_seen_by<Block::kFeatures, Bc>(
                              block.parameters.shape, block.parameters.scores, tile.batch,
                              tile.i * Br + first, min(64, tile.rows - first))
                              .past_last;
    return __shfl_sync(0xffffffffU, past_last, 0);
  }
};

/// A consumer's state between row tiles, and the start of a row tile: S = Qi Kj^T is in the
/// registers of four warps, and `features` are those of the warp's 16 rows.
template <typename T, typename Block>
struct Flash2Scores {
  static constexpr int d = Block::kHeadDim, Bc = Block::kKeys;
  using Rows = Flash2Rows<Block>;
  using Features = device::ScoreRows<Block::kFeatures, device::kFragmentRows, Bc>;

  const Block& block;
  const int warpgroup;
  const Features features;
  device::Accumulator<1, Bc> S;

  __device__ Flash2Scores(const Block& block_, int warpgroup_)
      : block(block_),
        warpgroup(warpgroup_),
        features(block.parameters, 0, 0,
                 block.shared + Block::kLayout.scores +
                     device::thread_index() / 32 * Features::kSharedBytes) {}

  /// Starts the product for the first scores of a turn's rows, if there are any; returns the rows.
  __device__ Rows begin(int turn, int visits) {
    const Rows rows(block, block.hear(turn, 0xffffffffU), warpgroup, turn, visits);
    if constexpr (Block::kFeatures.depend_on_place()) {
      features.note_head(rows.tile.head, rows.tile.batch);
      __syncwarp();  // Barrier D: head and batch entry, which the lanes read now, are written.
      features.note_rows(rows.first_row, device::thread_index() % 32);
      __syncwarp();  // Barrier E: the keys that each row sees are written.
    }
    if (rows.exist()) block.Q_arrived(warpgroup).wait(turn);
    start(rows, rows.column_tiles.first);
    return rows;
  }
  __device__ void start(const Rows& rows, int n) {
    features.template draw<1>(rows.column_tiles[n], 0, device::thread_index() % 32);
    if (rows.exist() && rows.column_tiles.has(n)) block.K().await(rows.visit(n));
    device::open_products();
    device::start_row_scores<T, d>(S, block.Q(), block.K().tile(rows.visit(n)), warpgroup * 64);
  }
};

/// The consumer's work on 64 rows: S, P, O, m and l are in the registers of four warps. Only the
/// first warp of the first consumer records (BlockTrace), so a trace has each operation once per
/// tile: P V of tile j comes after the scores of tile j + 1.
template <typename T, typename Block, typename Trace>
struct Flash2Consumer {
  static constexpr int d = Block::kHeadDim, Br = Block::kRows, Bc = Block::kKeys;
  using Rows = Flash2Rows<Block>;
  using Scores = Flash2Scores<T, Block>;

  const Block& block;
  const Rows& rows;
  Scores& scores;
  const int warpgroup;
  device::Accumulator<1, Bc>& S;
  Trace& trace;

  // O = 0, m = -inf, l = 0 (l is this thread's part of the row sums until the end)
  device::Accumulator<1, d> O{};
  device::RowStatistic<1> m{device::kMinusInfinity, device::kMinusInfinity}, l{}, alpha;
  device::ScoreOperand<Bc> P;

  __device__ Flash2Consumer(const Rows& rows_, Scores& scores_, Trace& trace_)
      : block(scores_.block),
        rows(rows_),
        scores(scores_),
        warpgroup(scores_.warpgroup),
        S(scores_.S),
        trace(trace_) {}

  /// Processes the rows from the product for the first scores, which has already been started, to
  /// the stores. Returns the rows of the next turn; their first product overlaps the end of these
  /// rows unless Oi is stored through the slot of their Qi or other consumers still have column
  /// tiles to multiply.
  __device__ Rows attend() {
    const auto own_tiles = rows.own_tiles();
    trace.did(TraceStep::load_Qi, rows.tile.i, 0);
    int n = rows.column_tiles.first;
    if (!rows.column_tiles.has(n)) return attend_nothing();
    soften_first(n);
    for (++n; own_tiles.has(n) && !rows.is_masked(n); ++n) step(n, false);
    for (; own_tiles.has(n); ++n) step(n, true);
    leave_Q();
    start_output(n - 1);
    const bool leaves_tiles = Rows::kTrims && rows.column_tiles.has(n);
    if (leaves_tiles) {  // these arrive only once Vj's slot is free
      device::wait_products<0>();
      leave_V(n - 1);
    }
    int past_last = n;
    for (; Rows::kTrims && rows.column_tiles.has(past_last); ++past_last) pass_over(past_last);
    if constexpr (Block::kOutputHasSlot) {
      const Rows next = scores.begin(rows.turn + 1, rows.visit(past_last));
      device::wait_products<1>(O);
      if (!leaves_tiles) leave_V(n - 1);
      finish(n);
      return next;
    } else {
      device::wait_products<0>(O);
      if (!leaves_tiles) leave_V(n - 1);
      finish(n);
      return scores.begin(rows.turn + 1, rows.visit(past_last));
    }
  }

  /// Replaces attend() for rows without keys.
  __device__ Rows attend_nothing() {
    device::wait_products<0>();
    leave_Q();
    finish(rows.column_tiles.first);
    return scores.begin(rows.turn + 1, rows.first_visit);
  }
  /// The softmax of the first tile.
  __device__ void soften_first(int n) {
    device::wait_products<0>(S);
    block.K().release(rows.visit(n));
    hand_over(n, soften(n, rows.is_masked(n)));
  }
  /// S = Qi Kj^T; O = O + P Vj-1, overlapped with tile j's softmax if knob::kOverlap is set; P of
  /// tile j.
  __device__ void step(int n, bool masked, bool rescales = knob::kRescaleAlways) {
    const int nth = n - rows.column_tiles.first;
    if constexpr (!knob::kOverlap) {
      start_output(n - 1);
      end_output(n - 1);
    }
    if (Rows::kTakesTurns && (warpgroup == 1 || nth > 1)) device::ProductTurns::await(warpgroup);
    scores.start(rows, n);
    if constexpr (knob::kOverlap) start_output(n - 1);
    if (Rows::kTakesTurns && (warpgroup == 0 || rows.column_tiles.has(n + 1))) {
      device::ProductTurns::pass_on(warpgroup);
    }
    device::wait_products<(knob::kOverlap ? 1 : 0)>(S);
    block.K().release(rows.visit(n));
    const bool moved = soften(n, masked);
    if constexpr (knob::kOverlap) {
      end_output(n - 1);
      device::settle(S);
    }
    hand_over(n, moved || rescales);
  }
  /// Skips a column tile that only other consumers' rows see.
  __device__ void pass_over(int n) {
    block.K().await(rows.visit(n));
    block.K().release(rows.visit(n));
    block.V().await(rows.visit(n));
    block.V().release(rows.visit(n));
  }
  /// The consumer's products with its rows of Qi are complete. If Oi takes their place, they are
  /// released later.
  __device__ void leave_Q() {
    if constexpr (!Block::kOutputHasSlot) return;
    __syncwarp();
    if (device::thread_index() % 32 == 0) block.Q_free(warpgroup).arrive();
  }

  /// Start and finish O = O + P Vj.
  __device__ void start_output(int n) {
    block.V().await(rows.visit(n));
    trace.did_nth(TraceStep::load_Kj, 0, rows.column_tiles, n);
    trace.did_nth(TraceStep::load_Vj, 0, rows.column_tiles, n);
    clear_padding(n);
    device::open_products();
    device::start_output<T, Bc, d>(O, P, block.V().tile(rows.visit(n)));
  }
  __device__ void end_output(int n) {
    device::wait_products<0>(O);
    leave_V(n);
  }
  __device__ void leave_V(int n) {
    block.V().release(rows.visit(n));
    trace.did_nth(TraceStep::accumulate, rows.tile.i, rows.column_tiles, n);
  }
  /// V = 0 beyond a key length: P is 0 there, but the bulk copy loads whatever is in memory, even
  /// NaN.
  __device__ void clear_padding(int n) {
    using namespace device;
    if constexpr (Block::kFeatures.key_ranges) {
      const int first_key = rows.column_tiles[n] * Bc;
      const int keys = max(0, scores.features.keys_to_load(rows.column_tiles[n]));
      if (keys >= min(Bc, block.parameters.shape.N_kv - first_key)) return;
      const auto V = block.V().tile(rows.visit(n));
      constexpr int kChunks = decltype(V)::kChunks;
      for (int chunk = keys * kChunks + thread_index() % kWarpgroupThreads; chunk < Bc * kChunks;
           chunk += kWarpgroupThreads) {
        asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};\n" ::"r"(
                         V.chunk_address(chunk / kChunks, chunk % kChunks)),
                     "r"(0)
                     : "memory");
      }
      show_to_async_units();
      warpgroup_barrier(warpgroup);  // Barrier F: all zeros are visible to the group's products.
    }
  }

  /// m, alpha; exp(S - m) in place of S; l = alpha l + rowsum(P). Returns whether any maximum has
  /// changed.
  __device__ bool soften(int n, bool masked) {
    using namespace device;
    const float softmax_scale_log2 = block.parameters.shape.softmax_scale_log2;
    const int lane = thread_index() % 32;
    const int j = rows.column_tiles[n];
    trace.did(TraceStep::scores, rows.tile.i, j);
    if (masked) {
      const bool crosses_edge = knob::kMaskAll || (j + 1) * Bc > rows.unmasked_keys;
      if (scores.features.shape_part(S, rows.first_row, j * Bc, crosses_edge, 0, lane)) {
        trace.did(TraceStep::mask, rows.tile.i, j);
      }
    }
    const bool moved = update_max<1, Bc>(m, alpha, S, softmax_scale_log2);
    trace.did(TraceStep::update_max, rows.tile.i, j);
    l[0] *= alpha[0];
    l[1] *= alpha[1];
    if (masked) {
      exponentiate<1, Bc>(S, l, m, softmax_scale_log2);
    } else {  // no S is -inf
      exponentiate<1, Bc, knob::kPolynomialEvery>(S, l, m, softmax_scale_log2);
    }
    trace.did(TraceStep::exponentiate, rows.tile.i, j);
    trace.rows(rows.first_row, j, m, alpha, [this](int row) { return quad_sum(l[row]); });
    scores.features.drop(S, 0, lane);
    return moved;
  }
  /// O = diag(alpha) O where alpha is not 1; P rounded for its product.
  __device__ void hand_over(int n, bool moved) {
    const bool rescales = moved || knob::kRescaleAlways;
    if (rescales) device::rescale<1, d>(O, alpha);
    trace.did_nth(TraceStep::rescale, rows.tile.i, rows.column_tiles, n, rescales);
    device::round_scores<T, Bc>(P, S);
  }
  /// Records m, l and alpha after a column tile that the rows do not see.
  __device__ void record_rows(int n) {
    const device::RowStatistic<1> unchanged{1.0f, 1.0f};
    trace.rows(rows.first_row, rows.column_tiles[n], m, unchanged,
               [this](int row) { return device::quad_sum(l[row]); });
  }

  /// O = diag(1 / l) O; LSE = m + log l; store Oi, LSEi.
  __device__ void finish(int n) {
    using namespace device;
    for (; Rows::kTrims && rows.column_tiles.has(n); ++n) record_rows(n);
    const ForwardShape& shape = block.parameters.shape;
    const int lane = thread_index() % 32;
    RowStatistic<1> inverse_l;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      l[row] = quad_sum(l[row]);
      // A row without keys has O = 0
      inverse_l[row] = l[row] == 0.0f ? 0.0f : scores.features.output_scale() / l[row];
      const int query = rows.first_row + row * 8 + lane / 4;
      if (lane % 4 == 0 && query < shape.N) {
        const Index head_row = (Index{rows.tile.batch} * shape.heads + rows.tile.head) * shape.N;
        __stcg(block.parameters.LSE + head_row + query,
               log_sum_exp(m[row], l[row], shape.softmax_scale));
      }
    }
    trace.did(TraceStep::store_LSEi, rows.tile.i, 0);
    rescale<1, d>(O, inverse_l);
    trace.did(TraceStep::normalize, rows.tile.i, 0);
    store_rows(lane);
    trace.did(TraceStep::store_Oi, rows.tile.i, 0);
  }
  /// Oi passes through a slot; each warp stores its 16 rows.
  __device__ void store_rows(int lane) {
    using namespace device;
    const auto slot = Block::kOutputHasSlot ? block.O() : block.Q();
    if constexpr (Block::kOutputHasSlot) {
      if (lane == 0) wait_bulk_stores_read();
      __syncwarp();  // Barrier A: the stores of the warp's previous rows have finished reading the
                     // slot.
    } else {
      warpgroup_barrier(warpgroup);  // Barrier A: no warp of the group multiplies by Qi any more.
    }
    write_part<T, 1, d>(slot, Rows::warp_row(), 0, O, lane);
    show_to_async_units();
    __syncwarp();  // Barrier B: the fragments of all lanes are written before the store reads them.
    if (lane == 0) {
#pragma unroll
      for (int panel = 0; panel < Block::RowsTile::kPanels; ++panel) {
        start_bulk_store(block.parameters.maps.O_rows,
                         {panel * kPanelColumns, rows.first_row, rows.tile.head, rows.tile.batch},
                         slot.panel(panel).address + Rows::warp_row() * 128);
      }
      close_bulk_stores();
      if constexpr (!Block::kOutputHasSlot) {
        wait_bulk_stores_read();
        block.Q_free(warpgroup).arrive();
      }
      block.finished().arrive();
    }
    __syncwarp();  // Barrier G: products are started and awaited by whole warps.
  }
};

}  // namespace attnscope::kernels
