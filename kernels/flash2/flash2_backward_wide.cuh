/// FlashAttention-2, backward, with Hopper's own instructions, for wide heads: replaces the program
/// of flash2_backward_hopper.cuh where dKj and dVj of 128 keys would fill the registers.
///
/// Two consumers, groups of four warps, share the work on all 64 keys of the column tile:
///   consumer 0: S and P; dVj; the first panels of dQi;
///   consumer 1: dP and dS; dKj; the other panels of dQi.
/// P and dS go straight from registers into the products for dVj and dKj. Through shared memory, P
/// also goes to consumer 1, and dS goes to both for dQi. Consumer 0 is up to a row tile ahead, so
/// that the softmax of one consumer overlaps the products of the other.
///
/// For problems with no mask or a causal one. With Visits::listed this is block_sparse2's program.
#pragma once

#include "kernels/device/warpgroup_gradients.cuh"
#include "kernels/device/wide_products.cuh"
#include "kernels/flash2/flash2_gradient_block.cuh"
#include "kernels/flash2/flash2_gradient_serving.cuh"

namespace attnscope::kernels {

/// Registers of a thread of the serving group, and of a consumer.
inline constexpr HopperRegisters kFlash2WideRegisters{40, 232, true};

/// Adds a consumer's panels of dQi of each visit. Called by one thread for each consumer.
template <int kConsumer, typename Block>
__device__ inline void add_query_gradients(const Block& block) {
  constexpr int kPanels = Block::dQ_panels(kConsumer), kRowPieces = Block::kRows / 16;
  const TurnsOfBlock<Block> turns(block, kConsumer);
  float* const dQ_head = dQ_of_head(block);
  const auto row_tiles = block.row_tiles();
#pragma unroll 1
  for (int n = row_tiles.first; row_tiles.has(n); ++n) {
    const int first = (n - row_tiles.first) * kPanels;
    turns.await(row_tiles[n]);  // while the consumers compute
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      block.dQ_slot(kConsumer).await_filled(first + panel);
      add_pieces(block, dQ_head, row_tiles[n] * kRowPieces, kRowPieces, block.dQ(kConsumer),
                 (Block::first_dQ_panel(kConsumer) + panel) * 8, 8);
      block.dQ_slot(kConsumer).emptied(first + panel).arrive();
    }
    turns.pass_on(row_tiles[n]);
  }
  device::wait_bulk_stores();
}

/// The common part of both consumers: computing dQ panel by panel, and storing a sum in HBM.
template <typename T, typename Block, int kConsumer>
struct Flash2WideConsumer {
  static constexpr int d = Block::kHeadDim, Br = Block::kRows, Bc = Block::kKeys;
  using Part = device::WarpgroupScores<Br>;
  using PanelSum = device::Accumulator<1, device::kPanelColumns>;

  const Block& block;
  const typename Block::Tiles row_tiles;
  device::Accumulator<1, d> gradient{};  ///< dVj = 0, or dKj = 0
  device::ScoreOperand<Br> operand;      ///< P or dS, transposed

  __device__ explicit Flash2WideConsumer(const Block& block_)
      : block(block_), row_tiles(block.row_tiles()) {}

  __device__ int visit(int n) const { return n - row_tiles.first; }
  __device__ static int lane() { return device::thread_index() % 32; }
  __device__ static int warp() { return device::thread_index() / 32 % 4; }  ///< of the consumer

  /// dQ = dS Kj, without the scale: the consumer's panels, one after another.
  __device__ void add_query_gradient(int n) {
    using namespace device;
    constexpr int kCount = Block::dQ_panels(kConsumer);
#pragma unroll
    for (int panel = 0; panel < kCount; ++panel) {
      PanelSum dQ;
      open_products();
      start_query_gradient<T>(dQ, block.dS(visit(n)).panel(0), block.K(),
                              Block::first_dQ_panel(kConsumer) + panel);
      wait_products<0>(dQ, gradient);
      if (panel == kCount - 1) block.dS_slots().empty(visit(n));
      hand_over(dQ, n, panel);
    }
  }
  /// Passes a panel of dQ to the thread that adds it.
  __device__ void hand_over(const PanelSum& dQ, int n, int panel) {
    using namespace device;
    const int handed_over = visit(n) * Block::dQ_panels(kConsumer) + panel;
    block.dQ_slot(kConsumer).await_emptied(handed_over);
    leave_fragments(block.dQ(kConsumer) + warp() * 8 * Block::kPieceBytes, dQ, lane());
    show_to_async_units();
    block.dQ_slot(kConsumer).fill(handed_over);
  }

  /// Stores dKj or dVj in HBM through the slot of Kj or Vj, each warp its 16 rows. Called once no
  /// warp multiplies by that tile any more.
  __device__ void store(const typename Block::TileKV& slot, const TensorMap& map) {
    using namespace device;
    const int first_row = warp() * kFragmentRows;
    write_part<T, 1, d>(slot, first_row, 0, gradient, lane());
    show_to_async_units();
    __syncwarp();  // Barrier A: the rows of all lanes are written before the stores read them.
    if (lane() != 0) return;
    TilePlace place{0, block.j * Bc + first_row, block.head(), block.batch()};
    store_rows(map, place, slot, first_row);
    wait_bulk_stores_read();
    block.finished().arrive();
  }
};

/// Consumer 0: S and P, dVj. `n` is a position among the row tiles, i = row_tiles[n]. Its first
/// warp records a trace: it records the steps of consumer 1 on a tile when dS of that tile has
/// arrived.
template <typename T, typename Block, typename Trace>
struct Flash2ValueConsumer : Flash2WideConsumer<T, Block, 0> {
  using Base = Flash2WideConsumer<T, Block, 0>;
  using Base::block, Base::row_tiles, Base::visit, Base::Base, Base::Br, Base::Bc, Base::d;

  __device__ void accumulate(Trace& trace) {
    using namespace device;
    block.K_arrived().wait(0);
    trace.did(TraceStep::load_Kj, 0, block.j);
    trace.did(TraceStep::load_Vj, 0, block.j);
    int n = row_tiles.first;
    if (row_tiles.has(n)) {
      accumulate_value_gradient(n, trace);
      for (++n; row_tiles.has(n); ++n) {
        accumulate_value_gradient(n, trace);
        add_query_gradient(n - 1, trace);
      }
      add_query_gradient(n - 1, trace);  // all of dS has arrived: no warp needs Vj any more
    }
  }

  /// Stores dVj.
  __device__ void store(Trace& trace) {
    using namespace device;
    block.V_arrived().wait(0);  // needed even if no row tile sees it
    Base::store(block.V(), block.parameters.maps.dV_columns);
    trace.did(TraceStep::store_dKj, 0, block.j);
    trace.did(TraceStep::store_dVj, 0, block.j);
  }

  /// Adds the consumer's panels of dQ when consumer 1 has written dS.
  __device__ void add_query_gradient(int n, Trace& trace) {
    using namespace device;
    block.dS_slots().await_filled(visit(n));
    trace.did(TraceStep::product_dP, row_tiles[n], block.j);
    trace.did(TraceStep::softmax_gradient, row_tiles[n], block.j);
    trace.did(TraceStep::accumulate_dK, row_tiles[n], block.j);
    Base::add_query_gradient(n);
    trace.did(TraceStep::add_dQi, row_tiles[n], block.j);
  }

  /// S = Qi Kj^T; P = exp(S - LSEi), also passed to consumer 1; dVj = dVj + P^T dOi.
  __device__ void accumulate_value_gradient(int n, Trace& trace) {
    using namespace device;
    const int i = row_tiles[n], j = block.j;
    typename Base::Part::Registers P;
    block.Q().await(visit(n));
    trace.did(TraceStep::load_Qi, i, 0);
    trace.did(TraceStep::load_dOi, i, 0);
    open_products();
    start_row_scores<T, d>(P, block.K(), block.Q().tile(visit(n)), 0);
    block.statistics().await_filled(visit(n));
    trace.did(TraceStep::load_statistics, i, 0);
    wait_products<0>(P);
    block.Q().release(visit(n));
    trace.did(TraceStep::scores, i, j);
    // masked where the mask's edge or the last key cuts the tile
    if (block.columns().template shape_scores<typename Base::Part>(P, SharedTile<Bc, Br>{}, i, 0,
                                                                   Base::warp(), Base::lane())) {
      trace.did(TraceStep::mask, i, j);
    }
    exponentiate_transposed<1, Br>(P, block.LSE_log2(visit(n)),
                                   block.parameters.shape.softmax_scale_log2, Base::lane());
    trace.did(TraceStep::exponentiate, i, j);
    block.statistics().empty(visit(n));
    round_scores<T, Br>(this->operand, P);
    block.P_slots().await_emptied(visit(n));
    leave_operand(block.P(visit(n)), this->operand, thread_index() % kWarpgroupThreads);
    block.P_slots().fill(visit(n));

    block.dO().await(visit(n));
    open_products();
    start_output<T, Br, d>(this->gradient, this->operand, block.dO().tile(visit(n)));
    wait_products<0>(this->gradient);
    block.dO().release(visit(n));
    trace.did(TraceStep::accumulate_dV, i, j);
  }
};

/// Consumer 1: dP and dS, dKj.
template <typename T, typename Block>
struct Flash2KeyConsumer : Flash2WideConsumer<T, Block, 1> {
  using Base = Flash2WideConsumer<T, Block, 1>;
  using Base::block, Base::row_tiles, Base::visit, Base::Base, Base::Br, Base::Bc, Base::d;

  __device__ void accumulate() {
    using namespace device;
    block.K_arrived().wait(0);
    block.V_arrived().wait(0);
    int n = row_tiles.first;
    for (; row_tiles.has(n); ++n) {
      compute_score_gradient(n);
      block.Q().await(visit(n));
      open_products();
      start_output<T, Br, d>(this->gradient, this->operand, block.Q().tile(visit(n)));
      block.dS_slots().await_filled(visit(n));
      this->add_query_gradient(n);
      block.Q().release(visit(n));
    }
    // Both consumers have multiplied the last dS by Kj.
    if (n > row_tiles.first) block.dS_slots().await_emptied(visit(n) + 1);
  }

  /// Stores dKj.
  __device__ void store() {
    device::scale_all(this->gradient, block.parameters.shape.softmax_scale);
    Base::store(block.K(), block.parameters.maps.dK_columns);
  }

  /// dP = dOi Vj^T; dS = P * (dP - Di), which is also written to shared memory.
  __device__ void compute_score_gradient(int n) {
    using namespace device;
    typename Base::Part::Registers dS, P;
    block.dO().await(visit(n));
    open_products();
    start_row_scores<T, d>(dS, block.V(), block.dO().tile(visit(n)), 0);
    block.statistics().await_filled(visit(n));
    block.P_slots().await_filled(visit(n));
    take_operand<T>(P, block.P(visit(n)), thread_index() % kWarpgroupThreads);
    block.P_slots().empty(visit(n));
    wait_products<0>(dS);
    block.dO().release(visit(n));
    softmax_gradient_transposed<1, Br>(dS, P, block.D(visit(n)), Base::lane());
    block.statistics().empty(visit(n));
    block.dS_slots().await_emptied(visit(n));
    write_part<T, 1, Br>(block.dS(visit(n)), Base::warp() * kFragmentRows, 0, dS, Base::lane());
    show_to_async_units();
    block.dS_slots().fill(visit(n));
    round_scores<T, Br>(this->operand, dS);
  }
};

template <typename T, int d, int Br, int Bc, device::Visits kVisits = device::Visits::all,
          typename Trace = device::NoTrace>
__global__ void __launch_bounds__(kFlash2HopperThreads, 1)
    flash2_backward_wide(const __grid_constant__
                         typename Trace::template Parameters<Flash2HopperParameters>
                             parameters) {
  using namespace device;
  using Block = Flash2WideGradientBlock<d, Br, Bc, kVisits>;
  constexpr HopperRegisters kRegisters = kFlash2WideRegisters;
  static_assert(flash2_wide_gradient_holds(d, {Br, Bc}));
  static_assert(Block::kBytes == flash2_backward_wide_shared_bytes(d, {Br, Bc}));
  extern __shared__ __align__(1024) unsigned char shared[];
  const Block block(parameters, shared);
  if (thread_index() == 0) block.initialise_barriers();
  __syncthreads();  // Barrier B: no thread uses a barrier before it is initialised.

  const int warpgroup = __shfl_sync(0xffffffffu, thread_index() / kWarpgroupThreads, 0);
  if (warpgroup == Block::kServer) {
    give_up_registers<kRegisters.serving>();
    serve(
        block, [&] { add_query_gradients<0>(block); }, [&] { add_query_gradients<1>(block); });
  } else {
    take_registers<kRegisters.consuming>();
    Trace trace(parameters, block.j, block.record());
    if (warpgroup == 0) {
      Flash2ValueConsumer<T, Block, Trace> consumer(block);
      consumer.accumulate(trace);
      consumer.store(trace);
    } else {
      Flash2KeyConsumer<T, Block> consumer(block);
      consumer.accumulate();
      consumer.store();
    }
    trace.end();
  }
}

}  // namespace attnscope::kernels
