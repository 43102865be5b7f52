/// Steps of the kernels with Hopper's own instructions, like those of the other kernels in
/// forward_steps.cuh; the backward steps are never masked. Copies need no tensor map: a tile is a
/// contiguous range of bytes.
#pragma once

#include "kernels/flash1/flash1_backward_hopper.cuh"
#include "kernels/flash2/flash2_backward_hopper.cuh"
#include "kernels/flash2/flash2_backward_wide.cuh"
#include "kernels/flash2/flash2_forward_hopper.cuh"
#include "kernels/measure/calibrate/step_values.cuh"

namespace attnscope::kernels::steps {

/// Starts the copy of `bytes` to shared memory. Called by one thread.
__device__ inline void start_plain_load(uint32_t destination, const void* source, int bytes,
                                        device::ArrivalBarrier arrival) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\n" ::
          "r"(destination),
      "l"(source), "r"(bytes), "r"(arrival.address)
      : "memory");
}

/// Loads the column tiles, then the row tiles of each visit. There are row tiles for kTiles visits;
/// later visits reuse them in the same order.
template <int kTiles, typename Block>
__device__ inline void load_plain_tiles(const Block& block, const TensorView& columns,
                                        const TensorView& rows, int visits) {
  block.columns_arrived().expect(block.kColumnsBytes);
  start_plain_load(block.base, columns.data_dev, block.kColumnsBytes, block.columns_arrived());
  for (int visit = 0; visit < visits; ++visit) {
    block.await_slot(block.rows_free(visit), visit);
    const device::ArrivalBarrier rows_arrived = block.rows_arrived(visit);
    rows_arrived.expect(block.kRowsBytes);
    const char* const source = static_cast<const char*>(rows.data_dev) +
                               device::block_index() * rows.stride_head * 2 +
                               visit % kTiles * block.kRowsBytes;
    start_plain_load(block.Q(visit).address, source, block.kRowsBytes, rows_arrived);
  }
}

/// The number of visits for which a block has row tiles, its own or shared by all blocks. Later
/// visits reuse them.
inline constexpr int kPlainTiles = 32;

/// The same for flash2's block: Kj and Vj, then Qi and dOi of each visit.
template <int kTiles, typename Block>
__device__ inline void load_plain_rows(const Block& block, const TensorView& columns,
                                       const TensorView& rows, int visits) {
  const auto load = [](uint32_t destination, const TensorView& from, int tile, int bytes,
                       device::ArrivalBarrier arrived) {
    arrived.expect(bytes);
    start_plain_load(destination, static_cast<const char*>(from.data_dev) + tile * bytes, bytes,
                     arrived);
  };
  load(block.K().address, columns, 0, Block::TileKV::kBytes, block.K_arrived());
  load(block.V().address, columns, 1, Block::TileKV::kBytes, block.V_arrived());
  const auto load_row_tile = [&](const auto& ring, int visit, int tile) {
    ring.await_free(visit);
    load(ring.tile(visit).address, rows, tile, Block::TileQ::kBytes, ring.arrived(visit));
  };
  for (int visit = 0; visit < visits; ++visit) {
    const int tile = visit % kTiles * 2;
    load_row_tile(block.Q(), visit, tile);
    load_row_tile(block.dO(), visit, tile + 1);
  }
}

/// flash2_backward_hopper: a block's loop over the row tiles.
template <typename T, int d, int Br, int Bc, device::Visits kVisits = device::Visits::all,
          typename Trace = device::NoTrace>
__global__ void __launch_bounds__(kFlash2HopperThreads, 1)
    flash2_backward_hopper(const Flash2HopperParameters parameters, const StepKind kind,
                           BlockTime* __restrict__ times) {
  using namespace device;
  using Block = Flash2GradientBlock<d, Br, Bc, Visits::all>;
  constexpr HopperRegisters kRegisters = flash2_hopper_registers(Block::kConsumers);
  extern __shared__ __align__(1024) unsigned char shared[];
  const Block block(parameters, shared);
  if (thread_index() == 0) block.initialise_barriers();
  const Stopwatch stopwatch(times);
  const int warpgroup = __shfl_sync(0xffffffffu, thread_index() / kWarpgroupThreads, 0);
  if (warpgroup == Block::kServer) {
    give_up_registers<kRegisters.serving>();
    const int task = thread_index() - Block::kServer * kWarpgroupThreads;
    if (task == 0) {
      load_plain_rows<kPlainTiles>(block, parameters.K, parameters.Q, kind.count);
    } else if (task == 32) {
      add_query_gradients(block);
    } else if (64 <= task && task < 96) {
      load_statistics(block);
    }
  } else {
    take_registers<kRegisters.consuming>();
    NoTrace trace(parameters, block.j);
    Flash2GradientConsumer<T, Block, NoTrace> consumer(block, warpgroup, trace);
    consumer.accumulate();
    keep(__float_as_uint(sum_of<1, d>(consumer.dK) + sum_of<1, d>(consumer.dV)), times);
  }
  stopwatch.stop();
}

/// flash2_backward_wide, and block_sparse2's: a block's loop over the row tiles.
template <typename T, int d, int Br, int Bc, device::Visits kVisits = device::Visits::all,
          typename Trace = device::NoTrace>
__global__ void __launch_bounds__(kFlash2HopperThreads, 1)
    flash2_backward_wide(const Flash2HopperParameters parameters, const StepKind kind,
                         BlockTime* __restrict__ times) {
  using namespace device;
  using Block = Flash2WideGradientBlock<d, Br, Bc, Visits::all>;
  constexpr HopperRegisters kRegisters = kFlash2WideRegisters;
  extern __shared__ __align__(1024) unsigned char shared[];
  const Block block(parameters, shared);
  if (thread_index() == 0) block.initialise_barriers();
  const Stopwatch stopwatch(times);
  const int warpgroup = __shfl_sync(0xffffffffu, thread_index() / kWarpgroupThreads, 0);
  if (warpgroup == Block::kServer) {
    give_up_registers<kRegisters.serving>();
    const int task = thread_index() - Block::kServer * kWarpgroupThreads;
    if (task == 0) {
      load_plain_rows<kPlainTiles>(block, parameters.K, parameters.Q, kind.count);
    } else if (task == 32) {
      add_query_gradients<0>(block);
    } else if (64 <= task && task < 96) {
      load_statistics(block);
    } else if (task == 96) {
      add_query_gradients<1>(block);
    }
    return stopwatch.stop();  // Where the branches met again, the compiler would spill registers.
  }
  take_registers<kRegisters.consuming>();
  const auto finish = [&](const auto& consumer) {
    keep(__float_as_uint(sum_of<1, d>(consumer.gradient)), times);
    if (thread_index() % 32 == 0) block.finished().arrive();  // the statistics warp waits
  };
  if (warpgroup == 0) {
    NoTrace trace(parameters, block.j);
    Flash2ValueConsumer<T, Block, NoTrace> consumer(block);
    consumer.accumulate(trace);
    finish(consumer);
  } else {
    Flash2KeyConsumer<T, Block> consumer(block);
    consumer.accumulate();
    finish(consumer);
  }
  stopwatch.stop();
}

/// Loads the tiles of a tensor, kTiles of them in turn, into the ring. Called by one thread.
template <int kTiles, typename Ring>
__device__ inline void load_plain_ring(const Ring& ring, const TensorView& tensor, int tile_bytes,
                                       int visits) {
  const char* const tiles = static_cast<const char*>(tensor.data_dev) +
                            device::block_index() % 4 * tensor.stride_head * 2;
  for (int visit = 0; visit < visits; ++visit) {
    ring.await_free(visit);
    ring.arrived(visit).expect(tile_bytes);
    start_plain_load(ring.tile(visit).address, tiles + visit % kTiles * tile_bytes, tile_bytes,
                     ring.arrived(visit));
  }
}

/// flash2_forward_hopper, also for block_sparse2: a block's loop over the column tiles, which its
/// consumers share.
template <typename T, int d, int Br, int Bc, device::Visits kVisits = device::Visits::all,
          typename Trace = device::NoTrace, ScoreFeatures kFeatures = ScoreFeatures{}>
__global__ void __launch_bounds__(
    Flash2ForwardBlock<d, Br, Bc, device::Visits::all, kFeatures>::kThreads, 1)
    flash2_forward_hopper(const Flash2HopperForwardParameters parameters, const StepKind kind,
                          BlockTime* __restrict__ times) {
  using namespace device;
  using Block = Flash2ForwardBlock<d, Br, Bc, Visits::all, kFeatures>;
  constexpr HopperRegisters kRegisters = flash2_hopper_registers(Block::kConsumers);
  constexpr int kTileBytes = Bc * Block::kWidth * 2, kTiles = 4;  // the maxima soon stop changing
  extern __shared__ __align__(1024) unsigned char shared[];
  const Block block(parameters, shared);
  if (thread_index() == 0) block.initialise_barriers();
  __syncthreads();
  const int warpgroup = __shfl_sync(0xffffffffu, thread_index() / kWarpgroupThreads, 0);
  const Stopwatch stopwatch(times);
  if (warpgroup == Block::kServer) {
    if constexpr (kRegisters.moved) give_up_registers<kRegisters.serving>();
    const int thread = thread_index() - Block::kServer * kWarpgroupThreads;
    if (thread == 0) load_plain_ring<kTiles>(block.K(), parameters.K, kTileBytes, kind.count);
    if (thread == 32) load_plain_ring<kTiles>(block.V(), parameters.V, kTileBytes, kind.count);
    if (thread == 64) {
      block.Q_arrived(0).expect(Block::RowsTile::kBytes);
      start_plain_load(block.Q().address, parameters.Q.data_dev, Block::RowsTile::kBytes,
                       block.Q_arrived(0));
    }
  } else {
    if constexpr (kRegisters.moved) take_registers<kRegisters.consuming>();
    NoTrace trace(parameters, 0);
    Flash2Scores<T, Block> scores(block, warpgroup);
    Flash2Rows<Block> rows(block, RowTile{0, 0, 0, Br}, warpgroup, 0, 0);
    Flash2Consumer<T, Block, NoTrace> consumer(rows, scores, trace);
    const bool masked = kind.masked != 0, rescaled = kind.rescaled != 0;
    if (kind.one_consumer != 0 && warpgroup > 0) {
#pragma unroll 1
      for (int n = 0; n < kind.count; ++n) consumer.pass_over(n);
      return stopwatch.stop();
    }
    if (masked) rows.unmasked_keys = 0;  // the tiles are masked, although the mask hides nothing
    block.Q_arrived(0).wait(0);
    scores.start(rows, 0);
    consumer.soften_first(0);
    int n = 1;
#pragma unroll 1
    for (; n < kind.count; ++n) consumer.step(n, masked, rescaled);
    consumer.start_output(n - 1);
    wait_products<0>(consumer.O);
    keep(__float_as_uint(sum_of<1, d>(consumer.O) + consumer.l[0] + consumer.l[1]), times);
  }
  stopwatch.stop();
}

/// flash1_backward_hopper: the inner loop of a block, in the pass of one column tile.
template <typename T, int d, int Br, int Bc, typename Trace = device::NoTrace>
__global__ void __launch_bounds__(device::kGradientThreads, 1)
    flash1_backward_hopper(const Flash1HopperParameters parameters, const StepKind kind,
                           BlockTime* __restrict__ times) {
  using namespace device;
  extern __shared__ __align__(1024) unsigned char shared[];
  const Flash1HopperBlock<Br, Bc, d> block(parameters, shared);
  if (thread_index() == 0) block.initialise_barriers(kMultiplyingWarpgroups);
  const Stopwatch stopwatch(times);
  const int warpgroup = __shfl_sync(0xffffffffu, thread_index() / kWarpgroupThreads, 0);
  if (warpgroup == kMultiplyingWarpgroups) {
    give_up_registers<kServingRegisters>();
    const int thread = thread_index() - kMultiplyingWarpgroups * kWarpgroupThreads;
    if (thread == 0) {
      load_plain_tiles<kPlainTiles>(block, parameters.shared.K, parameters.shared.Q, kind.count);
    }
    if (thread >= kWarpgroupThreads - Br) {
      compute_statistics<T>(block, thread - (kWarpgroupThreads - Br));
    }
  } else {
    take_registers<kMultiplyingRegisters>();
    NoTrace trace(parameters, 0);
    const bool leads = thread_index() % kWarpgroupThreads == 0;
    const ForwardShape& shape = block.shape();
    char* const dQ_rows = static_cast<char*>(parameters.shared.dQ.data_dev) +
                          block_index() * parameters.shared.dQ.stride_head * 2;
    const auto dQ_tiles = static_cast<int>(parameters.shared.dQ.stride_head / (Br * d));
    Accumulator<1, d> dK{}, dV{};
    block.columns_arrived().wait(0);
#pragma unroll 1
    for (int visit = 0; visit < kind.count; ++visit) {
      block.await(block.rows_arrived(visit), visit);
      Accumulator<1, kPanelColumns> dQ_part;
      accumulate_tile_gradients<T>(dK, dV, dQ_part, block, block.columns(0), visit, visit, 0,
                                   warpgroup, shape.softmax_scale_log2, trace, [&] {
                                     if (leads && visit > 0) {
                                       wait_bulk_stores_read();
                                       block.rows_free(visit - 1).arrive();
                                     }
                                     block.await(block.statistics_ready(visit), visit);
                                   });
      const auto dQ_panel = block.dQ(visit).panel(warpgroup);
      add_to_panel<T>(dQ_panel, dQ_part, shape.softmax_scale);
      show_to_async_units();
      warpgroup_barrier(warpgroup);
      if (leads) {
        constexpr int kPanelBytes = Br * kPanelColumns * 2;
        char* const destination = dQ_rows + (visit % dQ_tiles * 2 + warpgroup) * kPanelBytes;
        asm volatile(
            "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n" ::"l"(destination),
            "r"(dQ_panel.address), "r"(kPanelBytes)
            : "memory");
        close_bulk_stores();
      }
    }
    if (leads) wait_bulk_stores();
    keep(__float_as_uint(sum_of<1, d>(dK) + sum_of<1, d>(dV)), times);
  }
  stopwatch.stop();
}

}  // namespace attnscope::kernels::steps
