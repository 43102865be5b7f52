/// FlashAttention-1, backward, on Hopper's tensor cores: the same tiles and copies as
/// flash1_backward, with the instructions of compute capability 9.0.
///
/// Two warpgroups multiply. In the third, one thread starts bulk copies one row tile ahead, and two
/// warps compute D and m + log l of each row tile once it has arrived.
///
/// For no mask or a causal one; d = 128.
#pragma once

#include "kernels/device/warpgroup_gradients.cuh"
#include "kernels/flash1/flash1_backward.cuh"

namespace attnscope::kernels {

/// A thread block's position in the problem, and its slots.
template <int Br, int Bc, int d>
struct Flash1HopperBlock : device::GradientSlots<Br, Bc, d, 4> {
  using Slots = device::GradientSlots<Br, Bc, d, 4>;

  const Flash1HopperParameters& parameters;
  int head, batch;

  __device__ Flash1HopperBlock(const Flash1HopperParameters& parameters_, unsigned char* shared_)
      : Slots(shared_),
        parameters(parameters_),
        head(device::block_index() % parameters_.shared.shape.heads),
        batch(device::block_index() / parameters_.shared.shape.heads) {}

  __device__ const ForwardShape& shape() const { return parameters.shared.shape; }
  __device__ int Tr() const { return (shape().N + Br - 1) / Br; }
  __device__ int Tc() const { return (shape().N_kv + Bc - 1) / Bc; }
  __device__ device::PlainColumns<Br, Bc> columns(int j) const {
    return {parameters.shared, j, 0, head, batch, nullptr};
  }

  __device__ Slots::TileQ O(int visit) const { return this->row_tile(visit, 2); }
  __device__ Slots::TileQ dQ(int visit) const { return this->row_tile(visit, 3); }
};

/// Starts all copies to shared memory. Called by one thread.
template <int Br, int Bc, int d>
__device__ inline void load_tiles(const Flash1HopperBlock<Br, Bc, d>& block) {
  using namespace device;
  const Flash1HopperParameters& parameters = block.parameters;
  int visit = 0;
  for (int j = 0; j < block.Tc(); ++j) {
    // load Kj, Vj
    if (j > 0) block.columns_free().wait(j - 1);
    const ArrivalBarrier columns_arrived = block.columns_arrived();
    const TilePlace columns{0, j * Bc, block.head / block.shape().heads_per_kv_head, block.batch};
    columns_arrived.expect(block.kColumnsBytes);
    load_panels(block.K(), parameters.maps.K_columns, columns, columns_arrived);
    load_panels(block.V(), parameters.maps.V_columns, columns, columns_arrived);

    // load Qi, Oi, dOi, dQi
    for (int i = block.columns(j).first_tile(); i < block.Tr(); ++i, ++visit) {
      block.await_slot(block.rows_free(visit), visit);
      const ArrivalBarrier rows_arrived = block.rows_arrived(visit);
      const TilePlace rows{0, i * Br, block.head, block.batch};
      rows_arrived.expect(block.kRowsBytes);
      load_panels(block.Q(visit), parameters.maps.Q_rows, rows, rows_arrived);
      load_panels(block.dO(visit), parameters.maps.dO_rows, rows, rows_arrived);
      load_panels(block.O(visit), parameters.O_rows, rows, rows_arrived);
      load_panels(block.dQ(visit), parameters.dQ_rows, rows, rows_arrived);
    }
  }
}

/// rowsum(dO * O) of one row of a tile.
template <typename T, int Br, int d>
__device__ inline float row_dot(const device::PanelTile<Br, d>& O,
                                const device::PanelTile<Br, d>& dO, int row) {
  using namespace device;
  float2 sum{};
#pragma unroll 1
  for (int chunk = 0; chunk < PanelTile<Br, d>::kChunks; ++chunk) {
    uint32_t o[4], gradient[4];
    load_chunk_shared(o, O.chunk_address(row, chunk));
    load_chunk_shared(gradient, dO.chunk_address(row, chunk));
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const float2 a = unpack<T>(o[n]);
      const float2 b = unpack<T>(gradient[n]);
      sum.x = fmaf(a.x, b.x, sum.x);
      sum.y = fmaf(a.y, b.y, sum.y);
    }
  }
  return sum.x + sum.y;
}

/// Di = rowsum(dOi * Oi) and mi + log li of each visit. Called by one thread per row of a tile.
template <typename T, int Br, int Bc, int d>
__device__ inline void compute_statistics(const Flash1HopperBlock<Br, Bc, d>& block, int row) {
  const ForwardShape& shape = block.shape();
  int visit = 0;
  for (int j = 0; j < block.Tc(); ++j) {
    for (int i = block.columns(j).first_tile(); i < block.Tr(); ++i, ++visit) {
      // load li, mi
      RowStatistics statistics;
      if (i * Br + row < shape.N) {
        const Index head_row = Index{device::block_index()} * shape.N + i * Br + row;
        statistics = {__ldcg(block.parameters.m + head_row), __ldcg(block.parameters.l + head_row)};
      }
      block.await(block.rows_arrived(visit), visit);
      block.await_slot(block.statistics_free(visit), visit);
      block.LSE_log2(visit)[row] = statistics.log_sum_log2(shape.softmax_scale_log2);
      block.D(visit)[row] = row_dot<T>(block.O(visit), block.dO(visit), row);
      block.statistics_ready(visit).arrive();
    }
  }
}

/// dQi += scale dS Kj in shared memory: a warp's 16 rows of a panel of columns.
template <typename T, int kRows>
__device__ inline void add_to_panel(const device::SharedTile<kRows, device::kPanelColumns>& dQi,
                                    const device::Accumulator<1, device::kPanelColumns>& part,
                                    float softmax_scale) {
  using namespace device;
  const int lane = thread_index() % 32;
  const int first_row = thread_index() / 32 % 4 * kFragmentRows;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int n = 0; n < kPanelColumns / 8; ++n) {
      const uint32_t address = dQi.chunk_address(first_row + half * 8 + lane / 4, n) + lane % 4 * 4;
      const FragmentC& c = part[0][n];
      uint32_t pair;
      asm volatile("ld.shared.u32 %0, [%1];\n" : "=r"(pair) : "r"(address) : "memory");
      const float2 carried = unpack<T>(pair);
      asm volatile("st.shared.u32 [%0], %1;\n" ::"r"(address),
                   "r"(pack<T>(fmaf(softmax_scale, c[half * 2], carried.x),
                               fmaf(softmax_scale, c[half * 2 + 1], carried.y)))
                   : "memory");
    }
  }
}

/// The loop of the two warpgroups that multiply.
template <typename T, int Br, int Bc, int d, typename Trace>
__device__ inline void accumulate_gradients(const Flash1HopperBlock<Br, Bc, d>& block,
                                            int warpgroup, Trace& trace) {
  using namespace device;
  const ForwardShape& shape = block.shape();
  const Flash1HopperParameters& parameters = block.parameters;
  const bool leads = thread_index() % kWarpgroupThreads == 0;  // stores the warpgroup's results
  const int Tr = block.Tr();
  int visit = 0;
  for (int j = 0; j < block.Tc(); ++j) {
    const device::PlainColumns<Br, Bc> columns = block.columns(j);
    Accumulator<1, d> dK{}, dV{};
    block.columns_arrived().wait(j);
    trace.did(TraceStep::load_Kj, 0, j);
    trace.did(TraceStep::load_Vj, 0, j);

    for (int i = columns.first_tile(); i < Tr; ++i, ++visit) {
      block.await(block.rows_arrived(visit), visit);
      trace.did(TraceStep::load_Qi, i, 0);
      trace.did(TraceStep::load_Oi, i, 0);
      trace.did(TraceStep::load_dOi, i, 0);
      trace.did(TraceStep::load_dQi, i, 0);

      // dVj, dKj; dQi's part of this tile
      Accumulator<1, kPanelColumns> dQ_part;
      accumulate_tile_gradients<T>(dK, dV, dQ_part, block, columns, visit, i, j, warpgroup,
                                   shape.softmax_scale_log2, trace, [&] {
                                     if (leads && visit > 0) {
                                       wait_bulk_stores_read();
                                       block.rows_free(visit - 1).arrive();
                                     }
                                     block.await(block.statistics_ready(visit), visit);
                                     trace.did(TraceStep::load_statistics, i, 0);
                                     trace.did(TraceStep::row_dot, i, j);
                                   });

      // dQi = dQi + scale dS Kj, stored: a panel of columns for each warpgroup
      const auto dQ_panel = block.dQ(visit).panel(warpgroup);
      add_to_panel<T>(dQ_panel, dQ_part, shape.softmax_scale);
      trace.did(TraceStep::product_dQ, i, j);
      show_to_async_units();
      warpgroup_barrier(warpgroup);  // Barrier D: all rows of the panel are added.
      trace.did(TraceStep::wait, i, j);
      if (leads) {
        start_bulk_store(parameters.dQ_rows,
                         {warpgroup * kPanelColumns, i * Br, block.head, block.batch},
                         dQ_panel.address);
        close_bulk_stores();
      }
      trace.did(TraceStep::store_dQi, i, 0);
    }

    // store dKj, dVj
    store_key_gradients<T>(dK, dV, block, parameters.maps, {0, j * Bc, block.head, block.batch},
                           shape.softmax_scale, trace);
    if (leads) {
      wait_bulk_stores();
      show_all_memory_to_async_units();
      block.columns_free().arrive();
    }
  }
}

template <typename T, int d, int Br, int Bc, typename Trace = device::NoTrace>
__global__ void __launch_bounds__(device::kGradientThreads, 1)
    flash1_backward_hopper(const __grid_constant__
                           typename Trace::template Parameters<Flash1HopperParameters>
                               parameters) {
  using namespace device;
  static_assert(Bc == 2 * kWarpgroupRows && Br == kWarpgroupRows && d == 2 * kPanelColumns);
  static_assert(kGradientThreads == kFlash1HopperThreads);
  static_assert(Flash1HopperBlock<Br, Bc, d>::kBytes ==
                flash1_backward_hopper_shared_bytes(d, {Br, Bc}));
  extern __shared__ __align__(1024) unsigned char shared[];
  const Flash1HopperBlock<Br, Bc, d> block(parameters, shared);
  if (thread_index() == 0) block.initialise_barriers(kMultiplyingWarpgroups);
  __syncthreads();

  const int warpgroup = __shfl_sync(0xffffffffu, thread_index() / kWarpgroupThreads, 0);
  if (warpgroup == kMultiplyingWarpgroups) {
    give_up_registers<kServingRegisters>();
    const int thread = thread_index() - kMultiplyingWarpgroups * kWarpgroupThreads;
    if (thread == 0) load_tiles(block);
    if (thread >= kWarpgroupThreads - Br) {
      compute_statistics<T>(block, thread - (kWarpgroupThreads - Br));
    }
  } else {
    take_registers<kMultiplyingRegisters>();
    Trace trace(parameters, 0);
    accumulate_gradients<T>(block, warpgroup, trace);
    trace.end();
  }
}

}  // namespace attnscope::kernels
