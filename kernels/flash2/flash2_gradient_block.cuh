/// The shared memory of a block of flash2's backward pass with Hopper's instructions: the slots of
/// its tiles, and the barriers by which its warps pass them to each other.
#pragma once

#include "kernels/device/backward_parts.cuh"
#include "kernels/device/score_columns.cuh"
#include "kernels/device/slot_barriers.cuh"
#include "kernels/device/tile_ring.cuh"
#include "kernels/device/visited_tiles.cuh"
#include "kernels/flash2/flash2_backward_shared.cuh"
#include "kernels/flash2/flash2_forward_shared.cuh"
#include "kernels/flash2/flash2_hopper_parameters.cuh"

namespace attnscope::kernels {

/// A thread block's position in the problem. A visit is the work on one row tile; a block numbers
/// its visits from 0.
template <int d, int Br, int Bc, device::Visits kVisits>
struct Flash2GradientPlace {
  static constexpr int kHeadDim = d, kRows = Br, kKeys = Bc;
  static constexpr int kConsumers = kFlash2GradientConsumers;
  static constexpr int kServer = kConsumers;  ///< number of the warpgroup after the consumers
  static constexpr int kConsumerWarps = device::kWarpgroupThreads / 32;
  static constexpr int kWidth = flash2_hopper_width(d);
  using TileKV = device::PanelTile<Bc, kWidth>;
  using TileQ = device::PanelTile<Br, kWidth>;
  using TileS = device::PanelTile<Bc, Br>;
  using Columns = device::PlainColumns<Br, Bc>;
  using Tiles = device::VisitedTiles<kVisits>;
  /// dQ is stored in fp32, in pieces of 16 rows and 8 columns, as in dQ_accum.
  static constexpr int kPieceBytes = 16 * 8 * 4;

  const Flash2HopperParameters& parameters;
  unsigned char* shared;
  uint32_t base;  ///< address of `shared`
  int j;

  __device__ Flash2GradientPlace(const Flash2HopperParameters& parameters_, unsigned char* shared_)
      : parameters(parameters_), shared(shared_), base(device::shared_address(shared_)) {
    j = place().j;
  }
  /// The block's column tile, and its query head among those of all batch entries. In the grid, the
  /// column tiles of a head are neighbours, the first one first. With turns, the last one comes
  /// first, and the tiles of several heads with the same index are neighbours.
  struct ColumnTileOfHead {
    int j, head_index;
  };
  __device__ ColumnTileOfHead place() const {
    const int Tc = this->Tc();
    const int block = device::block_index();
    if (!in_turns()) return {block % Tc, block / Tc};
    const int group = block / (parameters.heads_in_turn * Tc);
    const int first_head = group * parameters.heads_in_turn;
    const int heads = min(parameters.heads_in_turn, head_count() - first_head);
    const int number = block - first_head * Tc;
    return {Tc - 1 - number / heads, first_head + number % heads};
  }
  /// Recomputed at each call: registers are scarce.
  __device__ Index head_index() const { return place().head_index; }
  /// Heads of all batch entries.
  __device__ int head_count() const { return device::block_count() / Tc(); }
  /// The number of the block's trace: head by head, in the order of the column tiles.
  __device__ int record() const { return place().head_index * Tc() + j; }
  __device__ int head() const { return place().head_index % parameters.shape.heads; }
  __device__ int batch() const { return place().head_index / parameters.shape.heads; }

  __device__ Columns columns() const { return {parameters, j, 0, 0, 0, nullptr}; }
  __device__ Tiles row_tiles() const {
    return device::visited_tiles<kVisits>(parameters.row_tiles, j, columns().first_tile(),
                                          columns().past_last_tile());
  }
  /// Whether dQ is summed in a fixed order.
  __device__ bool in_turns() const {
    return kVisits == device::Visits::all && parameters.dQ_turns != nullptr;
  }
  __device__ int Tc() const { return (parameters.shape.N_kv + Bc - 1) / Bc; }
  __device__ int Tr() const { return (parameters.shape.N + Br - 1) / Br; }
  /// The block's turn to add to dQi: the last column tile that row tile i sees has the first turn.
  __device__ int turn_at(int i) const {
    const ForwardShape& shape = parameters.shape;
    const int last_row = min((i + 1) * Br, shape.N) - 1;
    const int keys = knob::kVisitHidden ? shape.N_kv : shape.keys_end(last_row);
    return (keys + Bc - 1) / Bc - 1 - j;
  }
};

/// The slots and the barriers of a block whose consumers share the keys of the column tile.
template <int d, int Br, int Bc, device::Visits kVisits>
struct Flash2GradientBlock : Flash2GradientPlace<d, Br, Bc, kVisits> {
  using Place = Flash2GradientPlace<d, Br, Bc, kVisits>;
  using Place::base, Place::shared, Place::Place;
  using typename Place::TileKV, typename Place::TileQ, typename Place::TileS;
  using Ring = device::TileRing<TileQ, 2>;
  static constexpr int kRowPieceBytes = Place::kWidth / 8 * Place::kPieceBytes;  ///< 16 rows of dQ
  static constexpr bool kStatisticsWarpWatches = false;  ///< another warp does

  __device__ TileKV K() const { return {base}; }
  __device__ TileKV V() const { return {base + TileKV::kBytes}; }
  __device__ Ring Q() const { return {base + kRings, barrier(Barrier::Q)}; }
  __device__ Ring dO() const { return {base + kRings + Ring::kBytes, barrier(Barrier::dO)}; }
  /// dS, transposed.
  __device__ TileS dS(int visit) const { return {base + kScores + visit % 2 * TileS::kBytes}; }
  __device__ uint32_t dQ() const { return base + kdQ; }
  /// Br values each of LSE, in the exponent's unit, and of D.
  __device__ float* LSE_log2(int visit) const {
    return reinterpret_cast<float*>(shared + kStatistics) + visit % 2 * 2 * Br;
  }
  __device__ float* D(int visit) const { return LSE_log2(visit) + Br; }

  /// Consumers wait here for Kj, and for Vj.
  __device__ device::ArrivalBarrier K_arrived() const { return {barrier(Barrier::K)}; }
  __device__ device::ArrivalBarrier V_arrived() const { return {barrier(Barrier::V)}; }
  /// Filled by the warp that loads them, emptied by the consumers.
  __device__ device::SlotBarriers<2, 32> statistics() const {
    return {barrier(Barrier::statistics)};
  }
  /// Filled and emptied by the consumers: each reads what both have written.
  __device__ device::SlotBarriers<2> dS_slots() const { return {barrier(Barrier::dS)}; }
  /// Filled by the consumers, emptied by the thread that adds.
  __device__ device::SlotBarriers<1> dQ_slot() const { return {barrier(Barrier::dQ)}; }
  /// The watchdog thread waits for the last warp of the consumers.
  __device__ device::ArrivalBarrier finished() const { return {barrier(Barrier::finished)}; }

  /// Called by one thread, before a barrier of the block.
  __device__ void initialise_barriers() const {
    constexpr int kAllWarps = Place::kConsumers * Place::kConsumerWarps;
    K_arrived().initialise(1);
    V_arrived().initialise(1);
    Q().initialise(kAllWarps);
    dO().initialise(kAllWarps);
    statistics().initialise(1, kAllWarps);
    dS_slots().initialise(kAllWarps, kAllWarps);
    dQ_slot().initialise(kAllWarps, 1);
    finished().initialise(kAllWarps);
    device::show_barriers();
  }

 private:
  /// Index of the first barrier of each kind.
  enum class Barrier {
    K,
    V,
    Q,
    dO = Q + 4,
    statistics = dO + 4,
    dS = statistics + 4,
    dQ = dS + 4,
    finished = dQ + 2,
    past_last
  };
  __device__ uint32_t barrier(Barrier first) const {
    return base + kBarriers + static_cast<int>(first) * 8;
  }

  static constexpr int kRings = 2 * TileKV::kBytes;
  static constexpr int kScores = kRings + 2 * Ring::kBytes;
  static constexpr int kdQ = kScores + 2 * TileS::kBytes;
  static constexpr int kStatistics = kdQ + Br / 16 * kRowPieceBytes;
  static constexpr int kBarriers = kStatistics + 2 * 2 * Br * 4;

 public:
  static constexpr int kBytes = kBarriers + static_cast<int>(Barrier::past_last) * 8;
};

/// The slots and the barriers of a block in which one consumer computes dKj, the other dVj.
template <int d, int Br, int Bc, device::Visits kVisits>
struct Flash2WideGradientBlock : Flash2GradientPlace<d, Br, Bc, kVisits> {
  using Place = Flash2GradientPlace<d, Br, Bc, kVisits>;
  using Place::base, Place::shared, Place::Place;
  using typename Place::TileKV, typename Place::TileQ, typename Place::TileS;
  using RingQ = device::TileRing<TileQ, 2>;
  using RingdO = device::TileRing<TileQ, flash2_wide_dO_stages(d)>;
  static constexpr int kPanels = TileKV::kPanels;
  static constexpr int kPanelBytes = Br * device::kPanelColumns * 4;  ///< of dQ
  static constexpr bool kStatisticsWarpWatches = device::kTrapsWhenStuck;

  __device__ TileKV K() const { return {base}; }
  __device__ TileKV V() const { return {base + TileKV::kBytes}; }
  __device__ RingQ Q() const { return {base + kRings, barrier(Barrier::Q)}; }
  __device__ RingdO dO() const { return {base + kRings + RingQ::kBytes, barrier(Barrier::dO)}; }
  /// dS, transposed.
  __device__ TileS dS(int visit) const { return {base + kScores + visit % 2 * TileS::kBytes}; }
  /// P, in the layout of a consumer's registers.
  __device__ uint32_t P(int visit) const { return base + kP + visit % 2 * TileS::kBytes; }
  /// A panel of dQ.
  __device__ uint32_t dQ(int consumer) const { return base + kdQ + consumer * kPanelBytes; }
  /// Br values each of LSE, in the exponent's unit, and of D.
  __device__ float* LSE_log2(int visit) const {
    return reinterpret_cast<float*>(shared + kStatistics) + visit % 2 * 2 * Br;
  }
  __device__ float* D(int visit) const { return LSE_log2(visit) + Br; }

  /// Consumers wait here for Kj, and for Vj.
  __device__ device::ArrivalBarrier K_arrived() const { return {barrier(Barrier::K)}; }
  __device__ device::ArrivalBarrier V_arrived() const { return {barrier(Barrier::V)}; }
  /// Filled by the warp that loads them, emptied by the consumers.
  __device__ device::SlotBarriers<2, 32> statistics() const {
    return {barrier(Barrier::statistics)};
  }
  /// Filled by consumer 0, emptied by consumer 1.
  __device__ device::SlotBarriers<2, 32> P_slots() const { return {barrier(Barrier::P)}; }
  /// Filled by consumer 1, emptied by both.
  __device__ device::SlotBarriers<2> dS_slots() const { return {barrier(Barrier::dS)}; }
  /// The panels of dQ that a consumer computes: consumer 1, which finishes a tile earlier, has
  /// more.
  __device__ static constexpr int dQ_panels(int consumer) {
    return consumer == 0 ? kPanels / 2 : kPanels - kPanels / 2;
  }
  __device__ static constexpr int first_dQ_panel(int consumer) {
    return consumer == 0 ? 0 : kPanels / 2;
  }
  /// Filled by a consumer, emptied by the thread that adds.
  __device__ device::SlotBarriers<1> dQ_slot(int consumer) const {
    return {barrier(Barrier::dQ) + consumer * 16};
  }
  /// The watchdog thread waits for the last warp of the consumers.
  __device__ device::ArrivalBarrier finished() const { return {barrier(Barrier::finished)}; }

  /// Called by one thread, before a barrier of the block.
  __device__ void initialise_barriers() const {
    constexpr int kWarps = Place::kConsumerWarps, kAllWarps = Place::kConsumers * kWarps;
    K_arrived().initialise(1);
    V_arrived().initialise(1);
    Q().initialise(kAllWarps);
    dO().initialise(kAllWarps);
    statistics().initialise(1, kAllWarps);
    P_slots().initialise(kWarps, kWarps);
    dS_slots().initialise(kWarps, kAllWarps);
    dQ_slot(0).initialise(kWarps, 1);
    dQ_slot(1).initialise(kWarps, 1);
    finished().initialise(kAllWarps);
    device::show_barriers();
  }

 private:
  /// Index of the first barrier of each kind.
  enum class Barrier {
    K,
    V,
    Q,
    dO = Q + 4,
    statistics = dO + 4,
    P = statistics + 4,
    dS = P + 4,
    dQ = dS + 4,
    finished = dQ + 4,
    past_last
  };
  __device__ uint32_t barrier(Barrier first) const {
    return base + kBarriers + static_cast<int>(first) * 8;
  }

  static constexpr int kRings = 2 * TileKV::kBytes;
  static constexpr int kScores = kRings + RingQ::kBytes + RingdO::kBytes;
  static constexpr int kP = kScores + 2 * TileS::kBytes;
  static constexpr int kdQ = kP + 2 * TileS::kBytes;
  static constexpr int kStatistics = kdQ + Place::kConsumers * kPanelBytes;
  static constexpr int kBarriers = kStatistics + 2 * 2 * Br * 4;

 public:
  static constexpr int kBytes = kBarriers + static_cast<int>(Barrier::past_last) * 8;
};

}  // namespace attnscope::kernels
