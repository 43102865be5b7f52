/// FlashAttention-2, forward, in Hopper's own instructions: flash2_forward's program, tile by tile
/// and byte by byte, for compute capability 9.0.
///
/// Every consumer, a group of four warps, has 64 rows of the row tile and all keys of every column
/// tile. One more group serves them: a thread loads Qi and each Kj, another each Vj, into rings of
/// knob::kStages slots.
///
/// The loop is skewed: the products S = Qi Kj^T and O += P Vj-1 are started together, and the
/// softmax of tile j is computed while the second one is under way. Two consumers start their
/// products in turn, so that one's softmax meets the other's products.
///
/// No mask and a causal one. With Visits::listed it is block_sparse2's.
#pragma once

#include "kernels/device/gradient_products.cuh"
#include "kernels/device/tile_ring.cuh"
#include "kernels/device/wide_products.cuh"
#include "kernels/flash2/flash2_forward.cuh"
#include "kernels/flash2/flash2_hopper_parameters.cuh"

namespace attnscope::kernels {

/// One thread block's place in the problem, its slots and its barriers. The tiles on chip are as
/// wide as their panels.
template <int d, int Br, int Bc, device::Visits kVisits>
struct Flash2ForwardBlock {
  static constexpr int kConsumers = flash2_hopper_consumers({Br, Bc});
  static constexpr int kServer = kConsumers;  ///< number of the warpgroup behind the consumers
  static constexpr int kThreads = (kConsumers + 1) * device::kWarpgroupThreads;
  static constexpr int kWidth = flash2_hopper_width(d);
  using TileQ = device::PanelTile<Br, kWidth>;
  using Ring = device::TileRing<device::PanelTile<Bc, kWidth>, knob::kStages>;
  using Scores = device::ScoreRows<ScoreFeatures{}, Br, Bc>;

  const Flash2HopperForwardParameters& parameters;
  uint32_t base;  ///< address of shared memory
  int i, head, batch, rows;

  __device__ Flash2ForwardBlock(const Flash2HopperForwardParameters& parameters_,
                                unsigned char* shared)
      : parameters(parameters_), base(device::shared_address(shared)) {
    const RowTile tile = row_tile_of_block<Br>(parameters.shape);
    i = tile.i, head = tile.head, batch = tile.batch, rows = tile.rows;
  }

  __device__ TileQ Q() const { return {base}; }
  __device__ Ring K() const { return {base + TileQ::kBytes, base + kBarriers}; }
  __device__ Ring V() const {
    return {base + TileQ::kBytes + Ring::kBytes, base + kBarriers + Ring::kBarriers * 8};
  }
  /// Consumers wait for Qi.
  __device__ device::ArrivalBarrier Q_arrived() const {
    return {base + kBarriers + 2 * Ring::kBarriers * 8};
  }
  /// The watching thread waits for the last warp of the consumers.
  __device__ device::ArrivalBarrier finished() const { return {Q_arrived().address + 8}; }

  /// By one thread, before a barrier of the block.
  __device__ void initialise_barriers() const {
    K().initialise(kConsumers * kWarps);
    V().initialise(kConsumers * kWarps);
    Q_arrived().initialise(1);
    finished().initialise(kConsumers * kWarps);
    device::show_barriers();
  }

  __device__ Scores scores() const { return {parameters, i, rows, head, batch, nullptr}; }
  __device__ device::VisitedTiles<kVisits> column_tiles() const {
    return device::visited_tiles<kVisits>(parameters.column_tiles, i, scores().first_tile(),
                                          scores().past_last_tile());
  }
  __device__ device::TilePlace columns(int j) const {
    return {0, j * Bc, head / parameters.shape.heads_per_kv_head, batch};
  }

 private:
  static constexpr int kWarps = device::kWarpgroupThreads / 32;  ///< of a warpgroup
  static constexpr int kBarriers = TileQ::kBytes + 2 * Ring::kBytes;

 public:
  static constexpr int kBytes = kBarriers + (2 * Ring::kBarriers + 2) * 8;
};

/// What the serving warpgroup does: the first thread of three of its warps has a task each.
template <typename Block>
__device__ inline void serve_tiles(const Block& block) {
  using namespace device;
  const int task = thread_index() - Block::kServer * kWarpgroupThreads;
  const ForwardMaps& maps = block.parameters.maps;
  const auto column_tiles = block.column_tiles();
  if (task == 0) {  // load Qi, and every Kj
    block.Q_arrived().expect(Block::TileQ::kBytes);
    load_panels(block.Q(), maps.Q_rows, {0, block.i * Block::TileQ::kRows, block.head, block.batch},
                block.Q_arrived());
    for (int n = column_tiles.first; column_tiles.has(n); ++n) {
      block.K().load(n - column_tiles.first, maps.K_columns, block.columns(column_tiles[n]));
    }
  } else if (task == 32) {  // load every Vj
    for (int n = column_tiles.first; column_tiles.has(n); ++n) {
      block.V().load(n - column_tiles.first, maps.V_columns, block.columns(column_tiles[n]));
    }
  } else if (task == 64 && kTrapsWhenStuck) {
    trap_if_stuck(block.finished());
  }
}

/// O = diag(1 / l) O; LSE = m + log l; store Oi, LSEi: a consumer's rows. O passes through its rows
/// of Qi's slot; each warp starts the store of its own.
template <typename T, int d, typename Block, typename Trace>
__device__ inline void finish_rows(const Block& block, int warpgroup, device::Accumulator<1, d>& O,
                                   const device::RowStatistic<1>& m, device::RowStatistic<1>& l,
                                   Trace& trace) {
  using namespace device;
  const ForwardShape& shape = block.parameters.shape;
  const int lane = thread_index() % 32;
  const int warp_row = thread_index() / 32 * kFragmentRows;  // the consumers' warps come first
  const int first_row = block.i * Block::TileQ::kRows + warp_row;
  RowStatistic<1> inverse_l;
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    l[row] = quad_sum(l[row]);
    inverse_l[row] = l[row] == 0.0f ? 0.0f : 1.0f / l[row];  // a row without keys has O = 0
    const int query = first_row + row * 8 + lane / 4;
    if (lane % 4 == 0 && query < shape.N) {
      const Index head_row = (Index{block.batch} * shape.heads + block.head) * shape.N;
      __stcg(block.parameters.LSE + head_row + query,
             log_sum_exp(m[row], l[row], shape.softmax_scale));
    }
  }
  trace.did(TraceStep::store_LSEi, block.i, 0);
  rescale<1, d>(O, inverse_l);
  trace.did(TraceStep::normalize, block.i, 0);

  warpgroup_barrier(warpgroup);  // Barrier A: no warp of the group multiplies with Qi any more.
  write_part<T, 1, d>(block.Q(), warp_row, 0, O, lane);
  show_to_async_units();
  __syncwarp();  // Barrier B: the fragments of all lanes are written before the store reads them.
  if (lane == 0) {
#pragma unroll
    for (int n = 0; n < Block::TileQ::kPanels; ++n) {
      start_bulk_store(block.parameters.maps.O_rows,
                       {n * kPanelColumns, first_row, block.head, block.batch},
                       block.Q().panel(n).address + warp_row * 128);
    }
    close_bulk_stores();
    wait_bulk_stores_read();
    block.finished().arrive();
  }
  trace.did(TraceStep::store_Oi, block.i, 0);
}

/// A consumer's program.
template <typename T, int d, int Br, int Bc, device::Visits kVisits, typename Trace>
__device__ inline void attend(const Flash2ForwardBlock<d, Br, Bc, kVisits>& block, int warpgroup,
                              Trace& trace) {
  using namespace device;
  using Block = Flash2ForwardBlock<d, Br, Bc, kVisits>;
  constexpr bool kTurns = knob::kPingPong && knob::kOverlap && Block::kConsumers == 2;
  const ForwardShape& shape = block.parameters.shape;
  const auto scores = block.scores();
  const auto column_tiles = block.column_tiles();
  const int first_row = block.i * Br + warpgroup * kWarpgroupRows;  // of this consumer
  const int warp_row = thread_index() / 32 * kFragmentRows;
  const int unmasked_keys = shape.keys_end(first_row);

  // O = 0, m = -inf, l = 0 (l is this thread's part of the row sums until the end)
  Accumulator<1, d> O{};
  RowStatistic<1> m{kMinusInfinity, kMinusInfinity}, l{}, alpha;
  Accumulator<1, Bc> S;
  ScoreOperand<Bc> P;

  const auto start_S = [&](int n) __attribute__((always_inline)) {
    block.K().await(n - column_tiles.first);
    open_products();
    start_row_scores<T, d>(S, block.Q(), block.K().tile(n - column_tiles.first),
                           warpgroup * kWarpgroupRows);
  };
  const auto start_O = [&](int n) __attribute__((always_inline)) {
    block.V().await(n - column_tiles.first);
    trace.did_nth(TraceStep::load_Kj, 0, column_tiles, n);
    trace.did_nth(TraceStep::load_Vj, 0, column_tiles, n);
    open_products();
    start_output<T, Bc, d>(O, P, block.V().tile(n - column_tiles.first));
  };
  const auto is_masked = [&](int n) {
    return knob::kMaskAll || (column_tiles[n] + 1) * Bc > unmasked_keys;
  };
  // m, alpha; P = exp(S - m), in place of S; l = alpha l + rowsum(P)
  const auto soften = [&](int n, bool masked) __attribute__((always_inline)) {
    const int lane = thread_index() % 32;
    const int j = column_tiles[n];
    trace.did(TraceStep::scores, block.i, j);
    if (masked) {
      scores.shape_part(S, block.i * Br + warp_row, j * Bc, true, warp_row, lane);
      trace.did(TraceStep::mask, block.i, j);
    }
    const bool moved = update_max<1, Bc>(m, alpha, S, shape.softmax_scale_log2);
    trace.did(TraceStep::update_max, block.i, j);
    l[0] *= alpha[0];
    l[1] *= alpha[1];
    exponentiate<1, Bc>(S, l, m, shape.softmax_scale_log2);
    trace.did(TraceStep::exponentiate, block.i, j);
    trace.rows(block.i * Br + warp_row, j, m, alpha, [&l](int row) { return quad_sum(l[row]); });
    return moved || knob::kRescaleAlways;
  };
  // O = diag(alpha) O, and P rounded for its product
  const auto hand_over = [&](int n, bool rescales) __attribute__((always_inline)) {
    if (rescales) rescale<1, d>(O, alpha);
    trace.did_nth(TraceStep::rescale, block.i, column_tiles, n, rescales);
    round_scores<T, Bc>(P, S);
  };

  // S = Qi Kj^T and its softmax, with nothing under way; O = O + P Vj
  const auto scores_alone = [&](int n) __attribute__((always_inline)) {
    start_S(n);
    wait_products<0>(S);
    block.K().release(n - column_tiles.first);
    hand_over(n, soften(n, is_masked(n)));
  };
  const auto output_alone = [&](int n) __attribute__((always_inline)) {
    start_O(n);
    wait_products<0>(O);
    block.V().release(n - column_tiles.first);
    trace.did_nth(TraceStep::accumulate, block.i, column_tiles, n);
  };
  // S = Qi Kj^T; O = O + P Vj-1, meanwhile the softmax of tile j
  const auto step = [&](int n, bool masked) __attribute__((always_inline)) {
    const int visit = n - column_tiles.first;
    if (kTurns && (warpgroup == 1 || visit > 1)) ProductTurns::await(warpgroup);
    start_S(n);
    start_O(n - 1);
    if (kTurns && (warpgroup == 0 || column_tiles.has(n + 1))) ProductTurns::pass_on(warpgroup);
    wait_products<1>(S);
    block.K().release(visit);
    const bool rescales = soften(n, masked);
    wait_products<0>(O, S);
    block.V().release(visit - 1);
    trace.did_nth(TraceStep::accumulate, block.i, column_tiles, n - 1);
    hand_over(n, rescales);
  };

  block.Q_arrived().wait(0);
  trace.did(TraceStep::load_Qi, block.i, 0);
  int n = column_tiles.first;
  if constexpr (!knob::kOverlap) {
    for (; column_tiles.has(n); ++n) {
      scores_alone(n);
      output_alone(n);
    }
  } else if (column_tiles.has(n)) {
    scores_alone(n);
    for (++n; column_tiles.has(n) && !is_masked(n); ++n) step(n, false);
    for (; column_tiles.has(n); ++n) step(n, true);
    output_alone(n - 1);
  }
  finish_rows<T, d>(block, warpgroup, O, m, l, trace);
}

template <typename T, int d, int Br, int Bc, device::Visits kVisits = device::Visits::all,
          typename Trace = device::NoTrace>
__global__ void __launch_bounds__(Flash2ForwardBlock<d, Br, Bc, kVisits>::kThreads, 1)
    flash2_forward_hopper(const __grid_constant__
                          typename Trace::template Parameters<Flash2HopperForwardParameters>
                              parameters) {
  using namespace device;
  using Block = Flash2ForwardBlock<d, Br, Bc, kVisits>;
  constexpr HopperRegisters kRegisters = flash2_hopper_registers(Block::kConsumers);
  static_assert(flash2_hopper_holds(d, {Br, Bc}));
  static_assert(Block::kBytes == flash2_forward_hopper_shared_bytes(d, {Br, Bc}, knob::kStages));
  extern __shared__ __align__(1024) unsigned char shared[];
  const Block block(parameters, shared);
  if (thread_index() == 0) block.initialise_barriers();
  __syncthreads();  // Barrier C: no thread uses a barrier in shared memory before.

  const int warpgroup = __shfl_sync(0xffffffffu, thread_index() / kWarpgroupThreads, 0);
  if (warpgroup == Block::kServer) {
    if constexpr (kRegisters.moved) give_up_registers<kRegisters.serving>();
    serve_tiles(block);
  } else {
    if constexpr (kRegisters.moved) take_registers<kRegisters.consuming>();
    Trace trace(parameters, block.i);
    attend<T>(block, warpgroup, trace);
    trace.end();
  }
}

}  // namespace attnscope::kernels
