/// The serving warps of flash2's backward pass with Hopper's instructions: they load the tiles and
/// row statistics for the consumers, and add dQ to its sum in HBM.
#pragma once

#include "kernels/device/bulk_adds.cuh"
#include "kernels/device/turns.cuh"
#include "kernels/flash2/flash2_backward.cuh"

namespace attnscope::kernels {

/// Loads Kj, Vj, and Qi and dOi of every visit. Called by one thread.
template <typename Block>
__device__ inline void load_tiles(const Block& block) {
  using namespace device;
  const GradientMaps& maps = block.parameters.maps;
  const auto row_tiles = block.row_tiles();
  const int head = block.head(), batch = block.batch();
  const TilePlace columns{0, block.j * Block::kKeys,
                          head / block.parameters.shape.heads_per_kv_head, batch};
  const auto load_column_tile = [&](const auto& tile, const TensorMap& map,
                                    ArrivalBarrier arrived) {
    arrived.expect(tile.kBytes);
    load_panels(tile, map, columns, arrived);
  };
  load_column_tile(block.K(), maps.K_columns, block.K_arrived());
  int n = row_tiles.first;
  const auto rows = [&] { return TilePlace{0, row_tiles[n] * Block::kRows, head, batch}; };
  if (row_tiles.has(n)) block.Q().load(0, maps.Q_rows, rows());
  load_column_tile(block.V(), maps.V_columns, block.V_arrived());
  for (; row_tiles.has(n); ++n) {
    const int visit = n - row_tiles.first;
    if (visit > 0) block.Q().load(visit, maps.Q_rows, rows());
    block.dO().load(visit, maps.dO_rows, rows());
  }
}

/// Loads LSEi and Di of each visit, as written by the forward pass and "preprocess", and converts
/// LSE to the exponent's unit. Rows that do not exist are treated as empty: their P is zero. Called
/// by one warp, which also checks that no thread waits forever, unless another warp does.
template <typename Block>
__device__ inline void load_statistics(const Block& block) {
  constexpr int Br = Block::kRows;
  const BackwardParameters& parameters = block.parameters;
  const auto row_tiles = block.row_tiles();
  const Index head_row = block.head_index() * parameters.shape.N;
#pragma unroll 1
  for (int n = row_tiles.first; row_tiles.has(n); ++n) {
    const int visit = n - row_tiles.first;
    if (Block::kStatisticsWarpWatches && visit >= 2) {
      device::trap_if_stuck(block.statistics().emptied(visit), visit / 2 - 1);
    }
    block.statistics().await_emptied(visit);
    const int i = row_tiles[n];
#pragma unroll 1
    for (int row = device::thread_index() % 32; row < Br; row += 32) {
      const float LSE = load_row_statistic<Br>(parameters, head_row, i, row);
      const float D = load_row_statistic<Br>(parameters, head_row, i, Br + row);
      store_row_statistic<Br>(block.LSE_log2(visit), LSE, row);
      store_row_statistic<Br>(block.LSE_log2(visit), D, Br + row);
    }
    block.statistics().fill(visit);
  }
  if (Block::kStatisticsWarpWatches) device::trap_if_stuck(block.finished());
}

/// The head's dQ_accum.
template <typename Block>
__device__ inline float* dQ_of_head(const Block& block) {
  const ForwardShape& shape = block.parameters.shape;
  return block.parameters.dQ_accum + block.head_index() * dQ_accum_row_pieces(shape.N) *
                                         (dQ_accum_pieces(shape.d) * device::kFragmentFloats);
}

/// Adds the parts of dQ that consumers have written from the shared address `source` on, with bulk
/// additions: `count` times 16 rows, from the head's row piece `first` on. They have `across`
/// pieces of 8 columns, from `first_piece` on. Called by one thread; returns when the slot has been
/// read.
template <typename Block>
__device__ inline void add_pieces(const Block& block, float* dQ_head, int first, int count,
                                  uint32_t source, int first_piece, int across) {
  using namespace device;
  const ForwardShape& shape = block.parameters.shape;
  const int pieces = dQ_accum_pieces(shape.d);
  const int past_last = min(first + count, dQ_accum_row_pieces(shape.N));
  const int bytes = min(across, pieces - first_piece) * Block::kPieceBytes;
  float* rows = dQ_head + (first * pieces + first_piece) * kFragmentFloats;
#pragma unroll 1
  for (int n = first; n < past_last && bytes > 0; ++n) {
    start_bulk_add(rows, source, bytes);
    rows += pieces * kFragmentFloats;
    source += across * Block::kPieceBytes;
  }
  close_bulk_stores();
  wait_bulk_stores_read();
}

/// The block's turns to add to row tiles. The column tiles that row tile i sees add to it from the
/// last to the first: a block waits only for blocks with lower numbers, which the hardware starts
/// before it, and under a causal mask these have reached row tile i by then. Without a fixed order,
/// nothing waits. If two threads each add a part of dQi, each part has its own turns.
template <typename Block>
struct TurnsOfBlock {
  const Block& block;
  const int first;  ///< number of the head's first turn

  __device__ TurnsOfBlock(const Block& block_, int part)
      : block(block_),
        first((static_cast<int>(block.head_index()) + part * block.head_count()) * block.Tr()) {}

  __device__ void await(int i) const {
    if (!block.in_turns()) return;
    device::await_turn_alone(block.parameters.dQ_turns + first + i, block.turn_at(i));
  }
  /// Ends the turn when the thread's adds are in L2.
  __device__ void pass_on(int i) const {
    if (!block.in_turns()) return;
    device::wait_bulk_stores();
    device::pass_turn_alone(block.parameters.dQ_turns + first + i);
  }
};

/// The serving warpgroup's program: each of its warps has one task. `first` and `second` are tasks
/// of a single thread each.
template <typename Block, typename First, typename Second>
__device__ inline void serve(const Block& block, const First& first, const Second& second) {
  const int task = device::thread_index() - Block::kServer * device::kWarpgroupThreads;
  if (task == 0) {
    load_tiles(block);
  } else if (task == 32) {
    first();
  } else if (64 <= task && task < 96) {
    load_statistics(block);
  } else if (task == 96) {
    second();
  }
}

/// Starts the store of a warp's 16 rows of a gradient, from `first_row` on. Called by one thread.
template <typename Tile>
__device__ inline void store_rows(const TensorMap& map, device::TilePlace place, const Tile& tile,
                                  int first_row) {
#pragma unroll
  for (int n = 0; n < tile.kPanels; ++n, place.column += device::kPanelColumns) {
    device::start_bulk_store(map, place, tile.panel(n).address + first_row * 128);
  }
  device::close_bulk_stores();
}

}  // namespace attnscope::kernels
