/// FlashAttention-2, backward, with Hopper's own instructions: the same tiles and bytes as
/// flash2_backward, for compute capability 9.0.
///
/// Each of two consumers, groups of four warps, owns 64 keys of the column tile. S and dP are
/// transposed, 64 keys by all queries, so that P and dS go straight from registers into the
/// products for dVj and dKj. Only dS passes through shared memory: dQi = dS Kj sums over the keys
/// of both consumers.
///
/// A third group loads and stores for them, one task per warp: loading Kj, Vj and every Qi, dOi;
/// loading LSEi and Di, and checking that no thread waits forever; adding dQi.
///
/// Products run while other work is done: dVj, dQi and dKj are started together; dQi is handed over
/// while dKj is computed, and S of the next row tile is started before dKj is complete. The
/// consumers wait for each other only for dS, before dQi.
///
/// For problems with no mask or a causal one. With Visits::listed this is block_sparse2's program.
#pragma once

#include "kernels/device/warpgroup_gradients.cuh"
#include "kernels/device/wide_products.cuh"
#include "kernels/flash2/flash2_gradient_block.cuh"
#include "kernels/flash2/flash2_gradient_serving.cuh"

namespace attnscope::kernels {

/// Adds dQi of each visit. Called by one thread.
template <typename Block>
__device__ inline void add_query_gradients(const Block& block) {
  constexpr int kRowPieces = Block::kRows / 16;
  const TurnsOfBlock<Block> turns(block, 0);
  float* const dQ_head = dQ_of_head(block);
  const auto row_tiles = block.row_tiles();
#pragma unroll 1
  for (int n = row_tiles.first; row_tiles.has(n); ++n) {
    const int visit = n - row_tiles.first;
    turns.await(row_tiles[n]);  // while the consumers compute
    block.dQ_slot().await_filled(visit);
    add_pieces(block, dQ_head, row_tiles[n] * kRowPieces, kRowPieces, block.dQ(), 0,
               Block::kWidth / 8);
    block.dQ_slot().emptied(visit).arrive();
    turns.pass_on(row_tiles[n]);
  }
  device::wait_bulk_stores();
}

/// A consumer: four warps, with 64 keys of S, dP, dKj and dVj in registers, and their operations.
/// `n` is a position among the row tiles, i = row_tiles[n].
template <typename T, typename Block, typename Trace>
struct Flash2GradientConsumer {
  static constexpr int d = Block::kHeadDim, Br = Block::kRows, Bc = Block::kKeys;
  using Part = device::WarpgroupScores<Br>;
  /// Whether each consumer computes 64 separate rows of dQ; otherwise each computes some columns of
  /// all rows.
  static constexpr bool kOwnRows = Br > device::kWarpgroupRows;

  const Block& block;
  const int warpgroup;
  Trace& trace;
  const typename Block::Tiles row_tiles;

  // dKj = 0, dVj = 0
  device::Accumulator<1, d> dK{}, dV{};
  typename Part::Registers P, dS;  ///< in place of S and dP, transposed
  device::ScoreOperand<Br> P_operand, dS_operand;
  device::Accumulator<1, device::kPanelColumns> dQ;

  __device__ Flash2GradientConsumer(const Block& block_, int warpgroup_, Trace& trace_)
      : block(block_), warpgroup(warpgroup_), trace(trace_), row_tiles(block.row_tiles()) {}

  __device__ int visit(int n) const { return n - row_tiles.first; }
  __device__ int first_key() const { return warpgroup * device::kWarpgroupRows; }

  __device__ void accumulate() {
    using namespace device;
    block.K_arrived().wait(0);
    trace.did(TraceStep::load_Kj, 0, block.j);
    block.V_arrived().wait(0);
    trace.did(TraceStep::load_Vj, 0, block.j);
    int n = row_tiles.first;
    if (row_tiles.has(n)) {
      start_scores(n);
      compute_score_gradient(n);
      for (; row_tiles.has(n + 1); ++n) {
        start_value_gradient(n);
        start_query_gradient(n);
        start_key_gradient(n);
        wait_products<1>(dQ);
        hand_over_query_gradient(n);
        start_scores(n + 1);
        wait_products<1>();
        release_rows(n);
        compute_score_gradient(n + 1);
      }
      start_value_gradient(n);
      start_query_gradient(n);
      start_key_gradient(n);
      wait_products<1>(dQ);
      hand_over_query_gradient(n);
      wait_products<0>(dV, dK);
    }
  }

  /// S = Qi Kj^T.
  __device__ void start_scores(int n) {
    using namespace device;
    block.Q().await(visit(n));
    trace.did(TraceStep::load_Qi, row_tiles[n], 0);
    open_products();
    start_row_scores<T, d>(P, block.K(), block.Q().tile(visit(n)), first_key());
  }

  /// dP = dOi Vj^T; P from S; dS from both, which is also written to shared memory.
  __device__ void compute_score_gradient(int n) {
    using namespace device;
    const int i = row_tiles[n], lane = thread_index() % 32, warp = thread_index() / 32;
    block.dO().await(visit(n));
    trace.did(TraceStep::load_dOi, i, 0);
    open_products();
    start_row_scores<T, d>(dS, block.V(), block.dO().tile(visit(n)), first_key());

    block.statistics().await_filled(visit(n));
    trace.did(TraceStep::load_statistics, i, 0);
    wait_products<1>(P);
    trace.did(TraceStep::scores, i, block.j);
    // masked where the mask's edge or the last key cuts the tile; P = exp(S - LSEi)
    if (block.columns().template shape_scores<Part>(P, SharedTile<Bc, Br>{}, i, 0, warp, lane)) {
      trace.did(TraceStep::mask, i, block.j);
    }
    exponentiate_transposed<1, Br>(P, block.LSE_log2(visit(n)),
                                   block.parameters.shape.softmax_scale_log2, lane);
    trace.did(TraceStep::exponentiate, i, block.j);

    // dS = P * (dP - Di)
    wait_products<0>(dS);
    trace.did(TraceStep::product_dP, i, block.j);
    softmax_gradient_transposed<1, Br>(dS, P, block.D(visit(n)), lane);
    block.statistics().empty(visit(n));
    round_scores<T, Br>(P_operand, P);
    round_scores<T, Br>(dS_operand, dS);
    block.dS_slots().await_emptied(visit(n));
    write_part<T, 1, Br>(block.dS(visit(n)), Part::first_row(warp), 0, dS, lane);
    show_to_async_units();
    block.dS_slots().fill(visit(n));
    trace.did(TraceStep::softmax_gradient, i, block.j);
  }

  /// dVj = dVj + P^T dOi.
  __device__ void start_value_gradient(int n) {
    device::open_products();
    device::start_output<T, Br, d>(dV, P_operand, block.dO().tile(visit(n)));
    trace.did(TraceStep::accumulate_dV, row_tiles[n], block.j);
  }
  /// dKj = dKj + dS^T Qi, without the scale.
  __device__ void start_key_gradient(int n) {
    device::open_products();
    device::start_output<T, Br, d>(dK, dS_operand, block.Q().tile(visit(n)));
    trace.did(TraceStep::accumulate_dK, row_tiles[n], block.j);
  }
  /// Releases Qi and dOi, whose products are complete.
  __device__ void release_rows(int n) {
    block.Q().release(visit(n));
    block.dO().release(visit(n));
  }

  /// dQ = dS Kj, without the scale: 64 rows, or a panel of columns, of tile i.
  __device__ void start_query_gradient(int n) {
    using namespace device;
    block.dS_slots().await_filled(visit(n));
    open_products();
    device::start_query_gradient<T>(dQ, block.dS(visit(n)).panel(kOwnRows ? warpgroup : 0),
                                    block.K(), kOwnRows ? 0 : warpgroup);
  }
  /// Passes dQ to the thread that adds it; dS has been read.
  __device__ void hand_over_query_gradient(int n) {
    using namespace device;
    block.dS_slots().empty(visit(n));
    block.dQ_slot().await_emptied(visit(n));
    const int warp = thread_index() / 32 % 4;
    const int first_place = kOwnRows ? (warpgroup * 4 + warp) * Block::kRowPieceBytes
                                     : warp * Block::kRowPieceBytes +
                                           warpgroup * (kPanelColumns / 8) * Block::kPieceBytes;
    leave_fragments(block.dQ() + first_place, dQ, thread_index() % 32);
    show_to_async_units();
    block.dQ_slot().fill(visit(n));
    trace.did(TraceStep::add_dQi, row_tiles[n], block.j);
  }

  /// Stores dKj and dVj in HBM through the slots of Kj and Vj, each warp its 16 rows.
  __device__ void store() {
    using namespace device;
    const int lane = thread_index() % 32, warp = thread_index() / 32;
    const int first_row = warp * kFragmentRows;
    both_warpgroups_barrier();  // Barrier A: no warp multiplies by Kj any more.
    trace.did(TraceStep::wait, 0, block.j);
    scale_all(dK, block.parameters.shape.softmax_scale);
    write_part<T, 1, d>(block.K(), first_row, 0, dK, lane);
    write_part<T, 1, d>(block.V(), first_row, 0, dV, lane);
    show_to_async_units();
    __syncwarp();  // Barrier B: the rows of all lanes are written before the stores read them.
    const TilePlace place{0, block.j * Bc + first_row, block.head(), block.batch()};
    if (lane == 0) store_rows(block.parameters.maps.dK_columns, place, block.K(), first_row);
    trace.did(TraceStep::store_dKj, 0, block.j);
    if (lane == 0) store_rows(block.parameters.maps.dV_columns, place, block.V(), first_row);
    trace.did(TraceStep::store_dVj, 0, block.j);
    if (lane != 0) return;
    wait_bulk_stores_read();
    block.finished().arrive();
  }
};

template <typename T, int d, int Br, int Bc, device::Visits kVisits = device::Visits::all,
          typename Trace = device::NoTrace>
__global__ void __launch_bounds__(kFlash2HopperThreads, 1)
    flash2_backward_hopper(const __grid_constant__
                           typename Trace::template Parameters<Flash2HopperParameters>
                               parameters) {
  using namespace device;
  using Block = Flash2GradientBlock<d, Br, Bc, kVisits>;
  constexpr HopperRegisters kRegisters = flash2_hopper_registers(Block::kConsumers);
  static_assert(flash2_gradient_holds(d, {Br, Bc}));
  static_assert(Block::kBytes == flash2_backward_hopper_shared_bytes(d, {Br, Bc}));
  extern __shared__ __align__(1024) unsigned char shared[];
  const Block block(parameters, shared);
  if (thread_index() == 0) block.initialise_barriers();
  __syncthreads();  // Barrier C: no thread uses a barrier before it is initialised.

  const int warpgroup = __shfl_sync(0xffffffffu, thread_index() / kWarpgroupThreads, 0);
  if (warpgroup == Block::kServer) {
    give_up_registers<kRegisters.serving>();
    serve(
        block, [&] { add_query_gradients(block); },
        [&] {
          if (kTrapsWhenStuck) trap_if_stuck(block.finished());
        });
  } else {
    take_registers<kRegisters.consuming>();
    Trace trace(parameters, block.j, block.record());
    Flash2GradientConsumer<T, Block, Trace> consumer(block, warpgroup, trace);
    consumer.accumulate();
    consumer.store();
    trace.end();
  }
}

}  // namespace attnscope::kernels
