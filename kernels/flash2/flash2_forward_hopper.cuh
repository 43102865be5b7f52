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
  static constexpr int kHeadDim = d, kRows = Br, kKeys = Bc;
  static constexpr int kConsumers = flash2_hopper_consumers({Br, Bc});
  static constexpr int kServer = kConsumers;  ///< number of the warpgroup behind the consumers
  static constexpr int kThreads = (kConsumers + 1) * device::kWarpgroupThreads;
  static constexpr int kWidth = flash2_hopper_width(d);
  using TileQ = device::PanelTile<Br, kWidth>;
  using Ring = device::TileRing<device::PanelTile<Bc, kWidth>, knob::kStages>;
  using Scores = device::ScoreRows<ScoreFeatures{}, Br, Bc>;
  using Tiles = device::VisitedTiles<kVisits>;

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
  __device__ Tiles column_tiles() const {
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

/// A consumer: 64 rows of S, P, O, m and l in the registers of four warps, and what they do. `n` is
/// a position among the column tiles, j = column_tiles[n]. A trace has each operation once a tile,
/// whatever the number of consumers, since only the first one's first warp records (BlockTrace):
/// that of tile j's P V stands after the scores of tile j + 1.
template <typename T, typename Block, typename Trace>
struct Flash2Consumer {
  static constexpr int d = Block::kHeadDim, Br = Block::kRows, Bc = Block::kKeys;
  static constexpr bool kTakesTurns = knob::kPingPong && knob::kOverlap && Block::kConsumers == 2;

  const Block& block;
  const int warpgroup;
  Trace& trace;
  const typename Block::Scores scores;
  const typename Block::Tiles column_tiles;
  const int unmasked_keys;  ///< that each of the consumer's rows sees

  // O = 0, m = -inf, l = 0 (l is this thread's part of the row sums until the end)
  device::Accumulator<1, d> O{};
  device::RowStatistic<1> m{device::kMinusInfinity, device::kMinusInfinity}, l{}, alpha;
  device::Accumulator<1, Bc> S;
  device::ScoreOperand<Bc> P;

  __device__ Flash2Consumer(const Block& block_, int warpgroup_, Trace& trace_)
      : block(block_),
        warpgroup(warpgroup_),
        trace(trace_),
        scores(block.scores()),
        column_tiles(block.column_tiles()),
        unmasked_keys(block.parameters.shape.keys_end(block.i * Br + warpgroup * 64)) {}

  __device__ int visit(int n) const { return n - column_tiles.first; }
  __device__ bool is_masked(int n) const {
    return knob::kMaskAll || (column_tiles[n] + 1) * Bc > unmasked_keys;
  }
  /// The warp's first row in the row tile: the consumers' warps come first.
  __device__ static int warp_row() { return device::thread_index() / 32 * device::kFragmentRows; }

  __device__ void attend() {
    block.Q_arrived().wait(0);
    trace.did(TraceStep::load_Qi, block.i, 0);
    int n = column_tiles.first;
    if constexpr (!knob::kOverlap) {
      for (; column_tiles.has(n); ++n) {
        compute_scores(n);
        accumulate_output(n);
      }
    } else if (column_tiles.has(n)) {
      compute_scores(n);
      for (++n; column_tiles.has(n) && !is_masked(n); ++n) overlap(n, false);
      for (; column_tiles.has(n); ++n) overlap(n, true);
      accumulate_output(n - 1);
    }
    finish();
  }

  /// S = Qi Kj^T; P of it.
  __device__ void compute_scores(int n) {
    start_scores(n);
    device::wait_products<0>(S);
    block.K().release(visit(n));
    const bool moved = soften(n, is_masked(n));
    hand_over(n, moved);
  }
  /// O = O + P Vj.
  __device__ void accumulate_output(int n) {
    start_output(n);
    device::wait_products<0>(O);
    block.V().release(visit(n));
    trace.did_nth(TraceStep::accumulate, block.i, column_tiles, n);
  }
  /// S = Qi Kj^T; O = O + P Vj-1, meanwhile the softmax of tile j; P of it.
  __device__ void overlap(int n, bool masked) {
    if (kTakesTurns && (warpgroup == 1 || visit(n) > 1)) device::ProductTurns::await(warpgroup);
    start_scores(n);
    start_output(n - 1);
    if (kTakesTurns && (warpgroup == 0 || column_tiles.has(n + 1))) {
      device::ProductTurns::pass_on(warpgroup);
    }
    device::wait_products<1>(S);
    block.K().release(visit(n));
    const bool moved = soften(n, masked);
    device::wait_products<0>(O, S);
    block.V().release(visit(n - 1));
    trace.did_nth(TraceStep::accumulate, block.i, column_tiles, n - 1);
    hand_over(n, moved);
  }

  __device__ void start_scores(int n) {
    block.K().await(visit(n));
    device::open_products();
    device::start_row_scores<T, d>(S, block.Q(), block.K().tile(visit(n)), warpgroup * 64);
  }
  __device__ void start_output(int n) {
    block.V().await(visit(n));
    trace.did_nth(TraceStep::load_Kj, 0, column_tiles, n);
    trace.did_nth(TraceStep::load_Vj, 0, column_tiles, n);
    device::open_products();
    device::start_output<T, Bc, d>(O, P, block.V().tile(visit(n)));
  }

  /// m, alpha; exp(S - m) in place of S; l = alpha l + rowsum(P). Whether some maximum moved.
  __device__ bool soften(int n, bool masked) {
    using namespace device;
    const float softmax_scale_log2 = block.parameters.shape.softmax_scale_log2;
    const int first_row = block.i * Br + warp_row();
    const int j = column_tiles[n];
    trace.did(TraceStep::scores, block.i, j);
    if (masked) {
      scores.shape_part(S, first_row, j * Bc, true, warp_row(), thread_index() % 32);
      trace.did(TraceStep::mask, block.i, j);
    }
    const bool moved = update_max<1, Bc>(m, alpha, S, softmax_scale_log2);
    trace.did(TraceStep::update_max, block.i, j);
    l[0] *= alpha[0];
    l[1] *= alpha[1];
    exponentiate<1, Bc>(S, l, m, softmax_scale_log2);
    trace.did(TraceStep::exponentiate, block.i, j);
    trace.rows(first_row, j, m, alpha, [this](int row) { return quad_sum(l[row]); });
    return moved;
  }
  /// O = diag(alpha) O where alpha is not 1; P rounded for its product.
  __device__ void hand_over(int n, bool moved) {
    const bool rescales = moved || knob::kRescaleAlways;
    if (rescales) device::rescale<1, d>(O, alpha);
    trace.did_nth(TraceStep::rescale, block.i, column_tiles, n, rescales);
    device::round_scores<T, Bc>(P, S);
  }

  /// O = diag(1 / l) O; LSE = m + log l; store Oi, LSEi.
  __device__ void finish() {
    using namespace device;
    const ForwardShape& shape = block.parameters.shape;
    const int lane = thread_index() % 32;
    RowStatistic<1> inverse_l;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      l[row] = quad_sum(l[row]);
      inverse_l[row] = l[row] == 0.0f ? 0.0f : 1.0f / l[row];  // a row without keys has O = 0
      const int query = block.i * Br + warp_row() + row * 8 + lane / 4;
      if (lane % 4 == 0 && query < shape.N) {
        const Index head_row = (Index{block.batch} * shape.heads + block.head) * shape.N;
        __stcg(block.parameters.LSE + head_row + query,
               log_sum_exp(m[row], l[row], shape.softmax_scale));
      }
    }
    trace.did(TraceStep::store_LSEi, block.i, 0);
    rescale<1, d>(O, inverse_l);
    trace.did(TraceStep::normalize, block.i, 0);
    store_rows(lane);
    trace.did(TraceStep::store_Oi, block.i, 0);
  }
  /// Oi passes through the consumer's rows of Qi's slot; each warp stores its 16 rows.
  __device__ void store_rows(int lane) {
    using namespace device;
    const int first_row = block.i * Br + warp_row();
    warpgroup_barrier(warpgroup);  // Barrier A: no warp of the group multiplies with Qi any more.
    write_part<T, 1, d>(block.Q(), warp_row(), 0, O, lane);
    show_to_async_units();
    __syncwarp();  // Barrier B: the fragments of all lanes are written before the store reads them.
    if (lane != 0) return;
#pragma unroll
    for (int panel = 0; panel < Block::TileQ::kPanels; ++panel) {
      start_bulk_store(block.parameters.maps.O_rows,
                       {panel * kPanelColumns, first_row, block.head, block.batch},
                       block.Q().panel(panel).address + warp_row() * 128);
    }
    close_bulk_stores();
    wait_bulk_stores_read();
    block.finished().arrive();
  }
};

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
    Flash2Consumer<T, Block, Trace>(block, warpgroup, trace).attend();
    trace.end();
  }
}

}  // namespace attnscope::kernels
