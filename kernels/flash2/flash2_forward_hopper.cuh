/// FlashAttention-2, forward, with Hopper's own instructions: the same tiles and bytes as
/// flash2_forward, for compute capability 9.0.
///
/// A block stays on its SM and computes one row tile after another (only one if knob::kPersistent
/// is off). Each consumer, a group of four warps, has 64 rows of the row tile and all keys of every
/// column tile: flash2_consumer.cuh. One more group, the producer, loads for them. One of its
/// threads chooses the next row tile and loads each Kj, another loads each Vj, both into rings of
/// knob::kStages slots, and a third loads each Qi; all run ahead, so that the first products of the
/// next row tile hardly wait.
///
/// With Visits::listed this is block_sparse2's program. The block has code and shared memory only
/// for the score features that the problem has.
#pragma once

#include "kernels/device/tile_queue.cuh"
#include "kernels/flash2/flash2_consumer.cuh"

namespace attnscope::kernels {

/// One thread block's slots and barriers. The tiles on chip are as wide as their panels.
template <int d, int Br, int Bc, device::Visits kVisits_, ScoreFeatures kFeatures_>
struct Flash2ForwardBlock {
  static constexpr int kHeadDim = d, kRows = Br, kKeys = Bc;
  static constexpr device::Visits kVisits = kVisits_;
  static constexpr ScoreFeatures kFeatures = kFeatures_;
  static constexpr int kConsumers = flash2_hopper_consumers({Br, Bc});
  static constexpr int kServer = kConsumers;  ///< number of the warpgroup after the consumers
  static constexpr int kThreads = (kConsumers + 1) * device::kWarpgroupThreads;
  static constexpr int kWidth = flash2_hopper_width(d);
  static constexpr Flash2HopperLayout kLayout =
      flash2_hopper_layout(d, {Br, Bc}, knob::kStages, knob::kPersistent, kFeatures);
  static constexpr bool kOutputHasSlot = kLayout.O != 0;  ///< otherwise Oi takes the place of Qi
  using RowsTile = device::PanelTile<Br, kWidth>;
  using Ring = device::TileRing<device::PanelTile<Bc, kWidth>, knob::kStages>;
  using Tiles = device::VisitedTiles<kVisits>;

  const Flash2HopperForwardParameters& parameters;
  uint32_t base;  ///< address of shared memory
  unsigned char* shared;

  __device__ Flash2ForwardBlock(const Flash2HopperForwardParameters& parameters_,
                                unsigned char* shared_)
      : parameters(parameters_), base(device::shared_address(shared_)), shared(shared_) {}

  __device__ RowsTile Q() const { return {base}; }
  __device__ RowsTile O() const { return {base + static_cast<uint32_t>(kLayout.O)}; }
  __device__ Ring K() const { return {base + static_cast<uint32_t>(kLayout.K), barriers()}; }
  __device__ Ring V() const {
    return {base + static_cast<uint32_t>(kLayout.V), barriers() + Ring::kBarriers * 8};
  }
  /// The consumer waits for its rows of Qi.
  __device__ device::ArrivalBarrier Q_arrived(int consumer) const {
    return {others() + consumer * 8};
  }
  /// The loading thread waits for the consumer's warps before it overwrites these rows.
  __device__ device::ArrivalBarrier Q_free(int consumer) const {
    return {others() + (kConsumers + consumer) * 8};
  }
  /// The watchdog thread waits for the last warp of the consumers, once per row tile.
  __device__ device::ArrivalBarrier finished() const { return {others() + 2 * kConsumers * 8}; }
  __device__ device::TileNews news() const {
    return {base + static_cast<uint32_t>(kLayout.news), finished().address + 8};
  }

  /// Called by one thread, before a barrier of the block.
  __device__ void initialise_barriers() const {
    K().initialise(kConsumers * kWarps);
    V().initialise(kConsumers * kWarps);
    for (int consumer = 0; consumer < kConsumers; ++consumer) {
      Q_arrived(consumer).initialise(1);
      Q_free(consumer).initialise(kWarps);
    }
    finished().initialise(kConsumers * kWarps);
    news().initialise(kConsumers * kWarps + kListeningServers);
    device::show_barriers();
  }

  /// The row tile of a turn, counted from 0; a tile without rows if none is left. Called by a
  /// single listening thread of the producer, or by all lanes of a consumer's warp.
  __device__ RowTile hear(int turn, unsigned lanes = 1) const {
    if constexpr (!knob::kPersistent) {
      return turn == 0 ? row_tile(device::block_index()) : RowTile{};
    }
    const int4 heard = news().hear(turn, lanes);
    return {heard.x, heard.y, heard.z, heard.w};
  }
  __device__ void tell(int turn, const RowTile& tile) const {
    if constexpr (knob::kPersistent) news().tell(turn, {tile.i, tile.head, tile.batch, tile.rows});
  }
  /// The row tile with this number: the tiles of heads_at_once neighbouring heads alternate.
  __device__ RowTile row_tile(int number) const {
    const ForwardShape& shape = parameters.shape;
    if (number >= parameters.queue.tiles) return {};
    const int Tr = (shape.N + Br - 1) / Br;
    const int heads = parameters.heads_at_once;
    const int at = number % (heads * Tr) / heads;
    const int head = number / (heads * Tr) * heads + number % heads;
    const int i = knob::kAscending ? at : Tr - 1 - at;
    return {i, head % shape.heads, head / shape.heads, min(Br, shape.N - i * Br)};
  }
  /// The column tiles that some row of the row tile sees.
  __device__ Tiles column_tiles(const RowTile& tile) const {
    const device::TileSpan seen = device::tiles_seen_by<kFeatures, Bc>(
        parameters.shape, parameters.scores, tile.batch, tile.i * Br, tile.rows);
    return device::visited_tiles<kVisits>(parameters.column_tiles, tile.i, seen.first,
                                          seen.past_last);
  }

 private:
  static constexpr int kWarps = device::kWarpgroupThreads / 32;  ///< of a warpgroup
  static constexpr int kListeningServers = 3;  ///< the threads for Vj and Qi, and the watchdog
                                               ///< thread

  __device__ uint32_t barriers() const { return base + static_cast<uint32_t>(kLayout.barriers); }
  __device__ uint32_t others() const { return barriers() + 2 * Ring::kBarriers * 8; }
};

/// Loads every tile of K or V that a row tile's rows see, beginning with the given visit; returns
/// the visit after the last one.
template <typename Block>
__device__ inline int load_column_tiles(const Block& block, const typename Block::Ring& ring,
                                        const TensorMap& map, const RowTile& tile, int visit) {
  const int kv_head = tile.head / block.parameters.shape.heads_per_kv_head;
  const auto column_tiles = block.column_tiles(tile);
  for (int n = column_tiles.first; column_tiles.has(n); ++n, ++visit) {
    ring.load(visit, map, {0, column_tiles[n] * Block::kKeys, kv_head, tile.batch});
  }
  return visit;
}

/// Chooses the next row tile, and loads each Kj. The next number is requested only when the last Kj
/// is in flight: an earlier request could assign a long row tile to a block that is busy for longer
/// than the others.
template <typename Block>
__device__ inline void lead_tiles(const Block& block) {
  using namespace device;
  const TileQueueParameters& queue = block.parameters.queue;
  TileCounter counter{queue.next, queue.launch};
  const auto blocks = static_cast<int>(gridDim.x);
  if (knob::kPersistent && block_index() == 0) counter.open(blocks);
  int number = block_index(), visit = 0;
  for (int turn = 0;; ++turn) {
    const RowTile tile = block.row_tile(number);
    block.tell(turn, tile);
    if (tile.rows == 0) return;
    visit = load_column_tiles(block, block.K(), block.parameters.maps.K_columns, tile, visit);
    number = knob::kPersistent ? counter.take(queue.tiles, blocks) : queue.tiles;
  }
}

/// Loads each Vj.
template <typename Block>
__device__ inline void load_values(const Block& block) {
  int visit = 0;
  for (int turn = 0;; ++turn) {
    const RowTile tile = block.hear(turn);
    if (tile.rows == 0) return;
    visit = load_column_tiles(block, block.V(), block.parameters.maps.V_columns, tile, visit);
  }
}

/// Loads each Qi, a consumer's rows as soon as they are free. At the end of a head, a consumer may
/// have no rows. It then computes with whatever is in its slot and stores none of the results; a
/// copy from beyond the tensor would still request the bytes of its box.
template <typename Block>
__device__ inline void load_queries(const Block& block) {
  using namespace device;
  for (int turn = 0;; ++turn) {
    const RowTile tile = block.hear(turn);
    if (tile.rows == 0) return;
    for (int consumer = 0; consumer < Block::kConsumers; ++consumer) {
      const int first_row = consumer * kWarpgroupRows;
      if (turn > 0) block.Q_free(consumer).wait(turn - 1);
      if (first_row >= tile.rows) {
        block.Q_arrived(consumer).arrive();
        continue;
      }
      block.Q_arrived(consumer).expect(kWarpgroupRows * Block::kWidth * 2);
#pragma unroll
      for (int panel = 0; panel < Block::RowsTile::kPanels; ++panel) {
        start_bulk_load(
            block.Q().panel(panel).address + first_row * 128, block.parameters.maps.Q_rows,
            {panel * kPanelColumns, tile.i * Block::kRows + first_row, tile.head, tile.batch},
            block.Q_arrived(consumer));
      }
    }
  }
}

/// The watchdog: monitors the block's waits.
template <typename Block>
__device__ inline void watch_tiles(const Block& block) {
  for (int turn = 0; block.hear(turn).rows != 0; ++turn) {
    if (device::kTrapsWhenStuck) device::trap_if_stuck(block.finished(), turn);
  }
}

/// The producer's program: the first thread of each warp has one task.
template <typename Block>
__device__ inline void serve_tiles(const Block& block) {
  switch (device::thread_index() - Block::kServer * device::kWarpgroupThreads) {
    case 0:
      return lead_tiles(block);
    case 32:
      return load_values(block);
    case 64:
      return load_queries(block);
    case 96:
      return watch_tiles(block);
  }
}

/// A consumer's program: row tile after row tile.
template <typename T, typename Trace, typename Block, typename Parameters>
__device__ inline void consume_tiles(const Block& block, const Parameters& parameters,
                                     int warpgroup) {
  const ForwardShape& shape = parameters.shape;
  const int Tr = (shape.N + Block::kRows - 1) / Block::kRows;
  Flash2Scores<T, Block> scores(block, warpgroup);
  Flash2Rows<Block> rows = scores.begin(0, 0);
  while (rows.exist()) {
    const RowTile& tile = rows.tile;
    Trace trace(parameters, tile.i, (tile.batch * shape.heads + tile.head) * Tr + tile.i);
    Flash2Consumer<T, Block, Trace> consumer(rows, scores, trace);
    const Flash2Rows<Block> next = consumer.attend();
    trace.end();
    rows = next;
  }
  device::wait_products<0>(scores.S);
  // The block must keep its shared memory until its stores have read it
  if (device::thread_index() % 32 == 0) device::wait_bulk_stores_read();
}

template <typename T, int d, int Br, int Bc, device::Visits kVisits = device::Visits::all,
          typename Trace = device::NoTrace, ScoreFeatures kFeatures = ScoreFeatures{}>
__global__ void __launch_bounds__(Flash2ForwardBlock<d, Br, Bc, kVisits, kFeatures>::kThreads, 1)
    flash2_forward_hopper(const __grid_constant__
                          typename Trace::template Parameters<Flash2HopperForwardParameters>
                              parameters) {
  using namespace device;
  using Block = Flash2ForwardBlock<d, Br, Bc, kVisits, kFeatures>;
  constexpr HopperRegisters kRegisters = flash2_hopper_registers(Block::kConsumers);
  static_assert(flash2_hopper_holds(d, {Br, Bc}) && Block::kConsumers <= kMostWarpgroups);
  extern __shared__ __align__(1024) unsigned char shared[];
  const Block block(parameters, shared);
  if (thread_index() == 0) block.initialise_barriers();
  __syncthreads();  // Barrier C: no thread uses a barrier before it is initialised.

  const int warpgroup = __shfl_sync(0xffffffffu, thread_index() / kWarpgroupThreads, 0);
  if (warpgroup == Block::kServer) {
    if constexpr (kRegisters.moved) give_up_registers<kRegisters.serving>();
    serve_tiles(block);
  } else {
    if constexpr (kRegisters.moved) take_registers<kRegisters.consuming>();
    consume_tiles<T, Trace>(block, parameters, warpgroup);
  }
}

}  // namespace attnscope::kernels
