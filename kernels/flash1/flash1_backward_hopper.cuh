/// FlashAttention-1, backward, on Hopper's tensor cores: flash1_backward's program, tile by tile
/// and copy by copy, in the instructions of compute capability 9.0.
///
/// Two warpgroups multiply. Of the third one a thread starts bulk copies, a row tile ahead, and two
/// warps compute D and m + log l of each row tile when it has arrived.
///
/// No mask and a causal one; d = 128.
#pragma once

#include "kernels/device/warpgroup_gradients.cuh"
#include "kernels/flash1/flash1_backward.cuh"

namespace attnscope::kernels {

/// Beside what flash1_backward has, how bulk copies find the tensors: rows in boxes of Br, columns
/// in boxes of Bc.
struct Flash1HopperParameters : Flash1BackwardParameters {
  CUtensorMap Q_rows, O_rows, dO_rows, dQ_rows;
  CUtensorMap K_columns, V_columns;
  CUtensorMap dK_columns, dV_columns;  ///< each query head's
};

/// Where things lie in the shared memory of one block, in bytes.
template <int Br, int Bc, int d>
struct Flash1HopperShared {
  static constexpr int kRowTileBytes = Br * d * 2;
  static constexpr int kColumnTileBytes = Bc * d * 2;
  static constexpr int kScoreTileBytes = Br * Bc * 2;
  static constexpr int kStageBytes = 4 * kRowTileBytes;
  static constexpr int K = 0;
  static constexpr int V = K + kColumnTileBytes;
  static constexpr int stages = V + kColumnTileBytes;          ///< two of Qi, Oi, dOi and dQi
  static constexpr int dS = stages + 2 * kStageBytes;          ///< two, transposed
  static constexpr int statistics = dS + 2 * kScoreTileBytes;  ///< two of (m + log l) log2(e), D
  static constexpr int barriers = statistics + 2 * 2 * Br * 4;
  static constexpr int kBytes = barriers + 10 * 8;
};

/// One thread block's place in the problem and in shared memory. A visit is a row tile in a pass
/// over a column tile; visits are counted through all passes, and their slots alternate.
template <int Br, int Bc, int d>
struct Flash1HopperBlock {
  using Shared = Flash1HopperShared<Br, Bc, d>;
  using TileQ = device::PanelTile<Br, d>;
  using TileKV = device::PanelTile<Bc, d>;
  using TileS = device::SharedTile<Bc, Br>;

  const Flash1HopperParameters& parameters;
  unsigned char* shared;
  std::uint32_t base;  ///< address of `shared`
  int head, batch;

  __device__ Flash1HopperBlock(const Flash1HopperParameters& parameters_, unsigned char* shared_)
      : parameters(parameters_),
        shared(shared_),
        base(device::shared_address(shared_)),
        head(device::block_index() % parameters_.shared.shape.heads),
        batch(device::block_index() / parameters_.shared.shape.heads) {}

  __device__ const ForwardShape& shape() const { return parameters.shared.shape; }
  __device__ int Tr() const { return (shape().N + Br - 1) / Br; }
  __device__ int Tc() const { return (shape().N_kv + Bc - 1) / Bc; }
  __device__ PlainFlash1Columns<Br, Bc> columns(int j) const {
    return {parameters.shared, j, 0, head, batch, nullptr};
  }

  __device__ device::MeetingTiles<Br, Bc, d> tiles(int visit) const {
    return {Q(visit),  dO(visit),           K(),      V(),
            dS(visit), log_sum_log2(visit), D(visit), statistics_read(visit)};
  }
  __device__ TileKV K() const { return {base + Shared::K}; }
  __device__ TileKV V() const { return {base + Shared::V}; }
  __device__ TileQ Q(int visit) const { return row_tile(visit, 0); }
  __device__ TileQ O(int visit) const { return row_tile(visit, 1); }
  __device__ TileQ dO(int visit) const { return row_tile(visit, 2); }
  __device__ TileQ dQ(int visit) const { return row_tile(visit, 3); }
  __device__ TileS dS(int visit) const {
    return {base + Shared::dS + visit % 2 * Shared::kScoreTileBytes};
  }
  __device__ float* log_sum_log2(int visit) const {
    return reinterpret_cast<float*>(shared + Shared::statistics) + visit % 2 * 2 * Br;
  }
  __device__ float* D(int visit) const { return log_sum_log2(visit) + Br; }

  /// Kj and Vj are there; nothing of the pass before is on its way any more.
  __device__ device::ArrivalBarrier columns_arrived() const { return barrier(0); }
  __device__ device::ArrivalBarrier columns_free() const { return barrier(1); }
  /// The visit's rows are there; so are their statistics; the slots may be overwritten.
  __device__ device::ArrivalBarrier rows_arrived(int visit) const { return barrier(2 + visit % 2); }
  __device__ device::ArrivalBarrier statistics_ready(int visit) const {
    return barrier(4 + visit % 2);
  }
  __device__ device::ArrivalBarrier rows_free(int visit) const { return barrier(6 + visit % 2); }
  /// The visit's statistics may be overwritten.
  __device__ device::ArrivalBarrier statistics_read(int visit) const {
    return barrier(8 + visit % 2);
  }

  static constexpr int kStatisticThreads = Br;  ///< one for each row

  /// By one thread.
  __device__ void initialise_barriers() const {
    columns_arrived().initialise(1);
    columns_free().initialise(device::kMultiplyingWarpgroups);
    for (int visit = 0; visit < 2; ++visit) {
      rows_arrived(visit).initialise(1);
      statistics_ready(visit).initialise(kStatisticThreads);
      rows_free(visit).initialise(device::kMultiplyingWarpgroups);
      statistics_read(visit).initialise(device::kMultiplyingThreads);
    }
  }

 private:
  __device__ TileQ row_tile(int visit, int number) const {
    return {base + Shared::stages + visit % 2 * Shared::kStageBytes +
            number * Shared::kRowTileBytes};
  }
  __device__ device::ArrivalBarrier barrier(int number) const {
    return {base + Shared::barriers + number * 8};
  }
};

/// Starts all copies to shared memory. One thread.
template <int Br, int Bc, int d>
__device__ inline void load_tiles(const Flash1HopperBlock<Br, Bc, d>& block) {
  using namespace device;
  using Shared = Flash1HopperShared<Br, Bc, d>;
  const Flash1HopperParameters& maps = block.parameters;
  int visit = 0;
  for (int j = 0; j < block.Tc(); ++j) {
    // load Kj, Vj
    if (j > 0) block.columns_free().wait(j - 1);
    const ArrivalBarrier columns_arrived = block.columns_arrived();
    const TilePlace columns{0, j * Bc, block.head / block.shape().heads_per_kv_head, block.batch};
    columns_arrived.expect(2 * Shared::kColumnTileBytes);
    load_panels(block.K(), maps.K_columns, columns, columns_arrived);
    load_panels(block.V(), maps.V_columns, columns, columns_arrived);

    // load Qi, Oi, dOi, dQi
    for (int i = block.columns(j).first_row_tile(block.Tr()); i < block.Tr(); ++i, ++visit) {
      if (visit >= 2) block.rows_free(visit).wait(visit / 2 - 1);
      const ArrivalBarrier rows_arrived = block.rows_arrived(visit);
      const TilePlace rows{0, i * Br, block.head, block.batch};
      rows_arrived.expect(Shared::kStageBytes);
      load_panels(block.Q(visit), maps.Q_rows, rows, rows_arrived);
      load_panels(block.dO(visit), maps.dO_rows, rows, rows_arrived);
      load_panels(block.O(visit), maps.O_rows, rows, rows_arrived);
      load_panels(block.dQ(visit), maps.dQ_rows, rows, rows_arrived);
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
    std::uint32_t o[4], gradient[4];
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

/// Di = rowsum(dOi * Oi) and mi + log li of each visit. A thread for each row of a tile.
template <typename T, int Br, int Bc, int d>
__device__ inline void compute_statistics(const Flash1HopperBlock<Br, Bc, d>& block, int row) {
  const ForwardShape& shape = block.shape();
  int visit = 0;
  for (int j = 0; j < block.Tc(); ++j) {
    for (int i = block.columns(j).first_row_tile(block.Tr()); i < block.Tr(); ++i, ++visit) {
      // load li, mi
      RowStatistics statistics;
      if (i * Br + row < shape.N) {
        const Index head_row = Index{device::block_index()} * shape.N + i * Br + row;
        statistics = {__ldcg(block.parameters.m + head_row), __ldcg(block.parameters.l + head_row)};
      }
      block.rows_arrived(visit).wait(visit / 2);
      if (visit >= 2) block.statistics_read(visit).wait(visit / 2 - 1);
      block.log_sum_log2(visit)[row] = statistics.log_sum_log2(shape.softmax_scale_log2);
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
      const std::uint32_t address =
          dQi.chunk_address(first_row + half * 8 + lane / 4, n) + lane % 4 * 4;
      const FragmentC& c = part[0][n];
      std::uint32_t pair;
      asm volatile("ld.shared.u32 %0, [%1];\n" : "=r"(pair) : "r"(address) : "memory");
      const float2 carried = unpack<T>(pair);
      asm volatile("st.shared.u32 [%0], %1;\n" ::"r"(address),
                   "r"(pack<T>(fmaf(softmax_scale, c[half * 2], carried.x),
                               fmaf(softmax_scale, c[half * 2 + 1], carried.y)))
                   : "memory");
    }
  }
}

/// What the two multiplying warpgroups do.
template <typename T, int Br, int Bc, int d, typename Trace>
__device__ inline void accumulate_gradients(const Flash1HopperBlock<Br, Bc, d>& block,
                                            int warpgroup, Trace& trace) {
  using namespace device;
  const ForwardShape& shape = block.shape();
  const Flash1HopperParameters& maps = block.parameters;
  const bool leads = thread_index() % kWarpgroupThreads == 0;  // stores what the warpgroup has
  const int Tr = block.Tr();
  int visit = 0;
  for (int j = 0; j < block.Tc(); ++j) {
    const PlainFlash1Columns<Br, Bc> columns = block.columns(j);
    Accumulator<1, d> dK{}, dV{};
    block.columns_arrived().wait(j);
    trace.did(TraceStep::load_Kj, 0, j);
    trace.did(TraceStep::load_Vj, 0, j);

    for (int i = columns.first_row_tile(Tr); i < Tr; ++i, ++visit) {
      block.rows_arrived(visit).wait(visit / 2);
      trace.did(TraceStep::load_Qi, i, 0);
      trace.did(TraceStep::load_Oi, i, 0);
      trace.did(TraceStep::load_dOi, i, 0);
      trace.did(TraceStep::load_dQi, i, 0);

      // dVj, dKj; dQi's part of this tile
      Accumulator<1, kPanelColumns> dQ_part;
      accumulate_meeting<T>(dK, dV, dQ_part, block.tiles(visit), columns, i, j, warpgroup,
                            shape.softmax_scale_log2, trace, [&] {
                              if (leads && visit > 0) {
                                wait_bulk_stores_read();
                                block.rows_free(visit - 1).arrive();
                              }
                              block.statistics_ready(visit).wait(visit / 2);
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
        start_bulk_store(maps.dQ_rows, {warpgroup * kPanelColumns, i * Br, block.head, block.batch},
                         dQ_panel.address);
        close_bulk_stores();
      }
      trace.did(TraceStep::store_dQi, i, 0);
    }

    // store dKj, dVj
    store_key_gradients<T>(dK, dV, block.K(), block.V(), maps.dK_columns, maps.dV_columns,
                           {0, j * Bc, block.head, block.batch}, shape.softmax_scale, trace);
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
  extern __shared__ __align__(1024) unsigned char shared[];
  const Flash1HopperBlock<Br, Bc, d> block(parameters, shared);
  if (thread_index() == 0) block.initialise_barriers();
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
