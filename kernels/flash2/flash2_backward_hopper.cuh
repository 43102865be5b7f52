/// FlashAttention-2, backward, in Hopper's own instructions: flash2_backward's program, tile by
/// tile and byte by byte, for compute capability 9.0.
///
/// Two warpgroups multiply. Of the third one a thread starts bulk copies of Qi and dOi, a row tile
/// ahead, and two warps bring LSEi and Di. With Visits::listed it is block_sparse2's.
///
/// No mask and a causal one; d = 128; dQ is added up in an arbitrary order.
#pragma once

#include "kernels/device/visited_tiles.cuh"
#include "kernels/device/warpgroup_gradients.cuh"
#include "kernels/flash2/flash2_backward.cuh"
#include "kernels/flash2/flash2_backward_shared.cuh"
#include "kernels/flash2/flash2_hopper_parameters.cuh"

namespace attnscope::kernels {

/// One thread block's place in the problem, and its slots.
template <int Br, int Bc, int d, device::Visits kVisits>
struct Flash2HopperBlock : device::GradientSlots<Br, Bc, d, 2> {
  const Flash2HopperParameters& parameters;
  int j, head, batch;

  __device__ Flash2HopperBlock(const Flash2HopperParameters& parameters_, unsigned char* shared_)
      : device::GradientSlots<Br, Bc, d, 2>(shared_), parameters(parameters_) {
    const auto tile = device::column_tile_of_block<Bc>(parameters.shape);
    j = tile.j;
    head = tile.head;
    batch = tile.batch;
  }

  __device__ device::PlainColumns<Br, Bc> columns() const {
    return {parameters, j, 0, head, batch, nullptr};
  }
  __device__ device::VisitedTiles<kVisits> row_tiles() const {
    return device::visited_tiles<kVisits>(parameters.row_tiles, j, columns().first_tile(),
                                          columns().past_last_tile());
  }
  __device__ Index head_index() const { return Index{batch} * parameters.shape.heads + head; }
};

/// Starts all copies to shared memory. One thread.
template <int Br, int Bc, int d, device::Visits kVisits>
__device__ inline void load_tiles(const Flash2HopperBlock<Br, Bc, d, kVisits>& block) {
  using namespace device;
  const GradientMaps& maps = block.parameters.maps;

  // load Kj, Vj
  const ArrivalBarrier columns_arrived = block.columns_arrived();
  const TilePlace columns{0, block.j * Bc, block.head / block.parameters.shape.heads_per_kv_head,
                          block.batch};
  columns_arrived.expect(block.kColumnsBytes);
  load_panels(block.K(), maps.K_columns, columns, columns_arrived);
  load_panels(block.V(), maps.V_columns, columns, columns_arrived);

  // load Qi, dOi
  const auto row_tiles = block.row_tiles();
  for (int n = row_tiles.first; row_tiles.has(n); ++n) {
    const int visit = n - row_tiles.first;
    block.await_slot(block.rows_free(visit), visit);
    const ArrivalBarrier rows_arrived = block.rows_arrived(visit);
    const TilePlace rows{0, row_tiles[n] * Br, block.head, block.batch};
    rows_arrived.expect(block.kRowsBytes);
    load_panels(block.Q(visit), maps.Q_rows, rows, rows_arrived);
    load_panels(block.dO(visit), maps.dO_rows, rows, rows_arrived);
  }
}

/// LSEi and Di of each visit, as the forward pass and preprocess left them, LSE in the exponent's
/// unit. A thread for each row of a tile. Rows that do not exist look like empty ones, whose P is
/// zero.
template <int Br, int Bc, int d, device::Visits kVisits>
__device__ inline void load_statistics(const Flash2HopperBlock<Br, Bc, d, kVisits>& block,
                                       int row) {
  const BackwardParameters& parameters = block.parameters;
  const auto row_tiles = block.row_tiles();
  const Index head_row = block.head_index() * parameters.shape.N;
  int visit = 0;
  for (int n = row_tiles.first; row_tiles.has(n); ++n, ++visit) {
    const float LSE = load_row_statistic<Br>(parameters, head_row, row_tiles[n], row);
    const float D = load_row_statistic<Br>(parameters, head_row, row_tiles[n], Br + row);
    block.await_slot(block.statistics_free(visit), visit);
    store_row_statistic<Br>(block.LSE_log2(visit), LSE, row);
    store_row_statistic<Br>(block.LSE_log2(visit), D, Br + row);
    block.statistics_ready(visit).arrive();
  }
}

/// dQi += dQ_part atomically, in L2, without the scale: a warp's 16 rows of a panel of columns.
template <int Br, int Bc, int d, device::Visits kVisits>
__device__ inline void add_query_gradient_panel(
    const Flash2HopperBlock<Br, Bc, d, kVisits>& block, int i, int panel,
    const device::Accumulator<1, device::kPanelColumns>& dQ_part) {
  using namespace device;
  const ForwardShape& shape = block.parameters.shape;
  const int first_row = i * Br + thread_index() / 32 % 4 * kFragmentRows;
  const Index row_piece = block.head_index() * dQ_accum_row_pieces(shape.N) + first_row / 16;
  const Index first_piece = row_piece * (d / 8) + panel * (kPanelColumns / 8);
  atomic_add_fragments<Columns::all, d / 8, 1, kPanelColumns>(
      block.parameters.dQ_accum + first_piece * kFragmentFloats, dQ_part, d / 8,
      shape.N - first_row, kPanelColumns, thread_index() % 32);
}

/// What the two multiplying warpgroups do.
template <typename T, int Br, int Bc, int d, device::Visits kVisits, typename Trace>
__device__ inline void accumulate_gradients(const Flash2HopperBlock<Br, Bc, d, kVisits>& block,
                                            int warpgroup, Trace& trace) {
  using namespace device;
  const Flash2HopperParameters& parameters = block.parameters;
  const auto row_tiles = block.row_tiles();
  const int j = block.j;
  Accumulator<1, d> dK{}, dV{};
  block.columns_arrived().wait(0);
  trace.did(TraceStep::load_Kj, 0, j);
  trace.did(TraceStep::load_Vj, 0, j);
  for (int n = row_tiles.first; row_tiles.has(n); ++n) {
    const int visit = n - row_tiles.first;
    const int i = row_tiles[n];
    block.await(block.rows_arrived(visit), visit);
    trace.did(TraceStep::load_Qi, i, 0);
    trace.did(TraceStep::load_dOi, i, 0);

    // dVj, dKj; dQi's part of this tile, added atomically
    Accumulator<1, kPanelColumns> dQ_part;
    accumulate_meeting<T>(dK, dV, dQ_part, block, block.columns(), visit, i, j, warpgroup,
                          parameters.shape.softmax_scale_log2, trace, [&] {
                            block.await(block.statistics_ready(visit), visit);
                            trace.did(TraceStep::load_statistics, i, 0);
                          });
    __syncwarp();
    if (thread_index() % 32 == 0) block.rows_free(visit).arrive();
    add_query_gradient_panel(block, i, warpgroup, dQ_part);
    trace.did(TraceStep::add_dQi, i, j);
  }

  // store dKj, dVj
  store_key_gradients<T>(dK, dV, block, parameters.maps, {0, j * Bc, block.head, block.batch},
                         parameters.shape.softmax_scale, trace);
  wait_bulk_stores_read();
}

template <typename T, int d, int Br, int Bc, device::Visits kVisits = device::Visits::all,
          typename Trace = device::NoTrace>
__global__ void __launch_bounds__(device::kGradientThreads, 1)
    flash2_backward_hopper(const __grid_constant__
                           typename Trace::template Parameters<Flash2HopperParameters>
                               parameters) {
  using namespace device;
  static_assert(Bc == 2 * kWarpgroupRows && Br == kWarpgroupRows && d == 2 * kPanelColumns);
  static_assert(kGradientThreads == kFlash2HopperThreads);
  static_assert(Flash2HopperBlock<Br, Bc, d, kVisits>::kBytes ==
                flash2_backward_hopper_shared_bytes(d, {Br, Bc}));
  extern __shared__ __align__(1024) unsigned char shared[];
  const Flash2HopperBlock<Br, Bc, d, kVisits> block(parameters, shared);
  if (thread_index() == 0) block.initialise_barriers(kMultiplyingThreads / 32);
  __syncthreads();

  const int warpgroup = __shfl_sync(0xffffffffu, thread_index() / kWarpgroupThreads, 0);
  if (warpgroup == kMultiplyingWarpgroups) {
    give_up_registers<kServingRegisters>();
    const int thread = thread_index() - kMultiplyingWarpgroups * kWarpgroupThreads;
    if (thread == 0) load_tiles(block);
    if (thread >= kWarpgroupThreads - Br) {
      load_statistics(block, thread - (kWarpgroupThreads - Br));
    }
  } else {
    take_registers<kMultiplyingRegisters>();
    Trace trace(parameters, block.j);
    accumulate_gradients<T>(block, warpgroup, trace);
    trace.end();
  }
}

}  // namespace attnscope::kernels
