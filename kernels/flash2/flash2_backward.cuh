/// FlashAttention-2, backward, on the tensor cores (arXiv 2307.08691, Algorithm 2).
/// It follows the schedule sim/schedule/flash2_backward.cpp, launch "backward".
///
/// A thread block owns column tile j of one head and sweeps the row tiles i that see it, ascending.
/// dKj and dVj stay on the chip until they are complete. Each row tile's dQ is a sum over the
/// blocks of all column tiles: each block adds its part to dQ_accum atomically, in L2, so the last
/// bits of dQ depend on the order of the blocks; those of dK and dV do not. With dQ_turns, the
/// blocks add to a row tile in the order of j: the same bytes, and the same bits on every run, at
/// the cost of waiting.
///
/// Requested from memory by one block, valid rows only: Kj, Vj once; Qi, dOi, LSEi, Di of each row
/// tile that sees column tile j; dQi, added in fp32, for each; dKj and dVj, written once.
///
/// d is the width of the tiles. Where the problem's is smaller (Columns::first), the columns beyond
/// it are zero on chip and are never transferred.
///
/// On chip: Kj, Vj, two stages of (Qi, dOi, LSEi, Di), P and dS in shared memory; S, dP, dKj and
/// dVj in registers. In each of the five products, every warp computes a near-square part of the
/// result, since reads from shared memory, not the products, limit the speed.
///
/// device/score_columns.cuh handles the problem's score features and determines which keys a row
/// sees. With Visits::listed this is block_sparse2, which follows sim/schedule/block_sparse.cpp:
/// the same program on the row tiles that the block mask lists.
#pragma once

#include "kernels/device/backward_parts.cuh"
#include "kernels/device/score_columns.cuh"
#include "kernels/device/trace.cuh"
#include "kernels/device/turns.cuh"
#include "kernels/device/visited_tiles.cuh"
#include "kernels/flash2/flash2_backward_shared.cuh"

namespace attnscope::kernels {

/// The layout of one block's shared memory, in bytes.
template <int Br, int Bc, int d>
struct Flash2BackwardShared {
  static constexpr int kRowTileBytes = Br * d * 2;
  static constexpr int kColumnTileBytes = Bc * d * 2;
  static constexpr int kScoreTileBytes = Br * Bc * 2;
  static constexpr int K = 0;
  static constexpr int V = K + kColumnTileBytes;
  static constexpr int Q = V + kColumnTileBytes;  ///< two stages
  static constexpr int dO = Q + 2 * kRowTileBytes;
  static constexpr int P = dO + 2 * kRowTileBytes;  ///< transposed, as is dS
  static constexpr int dS = P + kScoreTileBytes;
  static constexpr int statistics = dS + kScoreTileBytes;  ///< two stages of LSE log2(e), D
  static constexpr int kBytes = statistics + 2 * 2 * Br * 4;
};

/// One value of LSEi (threads 0 to Br - 1) or Di (the next Br), as written by the forward pass or
/// "preprocess". Rows that do not exist are treated as empty.
template <int Br>
__device__ inline float load_row_statistic(const BackwardParameters& parameters, Index head_row,
                                           int i, int thread) {
  const bool is_LSE = thread < Br;
  const int row = i * Br + thread % Br;
  if (thread >= 2 * Br || row >= parameters.shape.N) return is_LSE ? device::kMinusInfinity : 0.0f;
  return __ldcg((is_LSE ? parameters.LSE : parameters.D) + head_row + row);
}

/// Writes the value to shared memory: LSE in the exponent's unit, or infinity for an empty row,
/// which makes its P zero.
template <int Br>
__device__ inline void store_row_statistic(float* statistics, float value, int thread) {
  constexpr float kLog2e = 1.4426950408889634f;
  if (thread < Br) value = value == device::kMinusInfinity ? -value : value * kLog2e;
  if (thread < 2 * Br) statistics[thread] = value;
}

/// The row tiles that a block visits, in order: two stages of Qi and dOi in shared memory, the
/// copies into them, and this thread's value of LSEi or Di of the tile in flight.
template <typename T, int kThreads, device::Columns kColumns, device::Visits kVisits, int Br,
          int Bc, int d>
class Flash2RowTiles {
  using Shared = Flash2BackwardShared<Br, Bc, d>;
  using Tile = device::SharedTile<Br, d>;

 public:
  /// Q and dO are the head's rows; `base` is the address of the block's shared memory.
  __device__ Flash2RowTiles(const BackwardParameters& parameters,
                            const device::VisitedTiles<kVisits>& visited, int head_index,
                            uint32_t base, const HeadRows<const T>& Q, const HeadRows<const T>& dO)
      : parameters_(parameters),
        shape_(parameters.shape),
        visited_(visited),
        head_index_(head_index),
        base_(base),
        Q_(Q),
        dO_(dO) {
    const Index first_query = Index{visited.first_tile()} * Br;
    Qi_source_ = Q.row(first_query);
    dOi_source_ = dO.row(first_query);
  }

  struct RowTile {
    Tile Qi, dOi;
  };
  /// The tiles of the n-th visit.
  __device__ RowTile operator[](int n) const {
    const uint32_t stage = base_ + n % 2 * Shared::kRowTileBytes;
    return {{stage + Shared::Q}, {stage + Shared::dO}};
  }

  /// Starts the copies of Qi and dOi, as one group, and reads LSEi, Di. Visits are loaded in order.
  template <typename Trace>
  __device__ void load(int n, Trace& trace) {
    const int i = visited_[n];
    const int rows = min(Br, shape_.N - i * Br);
    const uint32_t stage = base_ + n % 2 * Shared::kRowTileBytes;
    device::load_tile_async<kThreads, kColumns>(Tile{stage + Shared::Q}, Qi_source_, Q_.stride_row,
                                                rows, device::thread_index(), shape_.d);
    trace.did(TraceStep::load_Qi, i, 0);
    device::load_tile_async<kThreads, kColumns>(Tile{stage + Shared::dO}, dOi_source_,
                                                dO_.stride_row, rows, device::thread_index(),
                                                shape_.d);
    device::commit_copies();
    trace.did(TraceStep::load_dOi, i, 0);
    Qi_source_ += visited_.step(n) * Br * Q_.stride_row;
    dOi_source_ += visited_.step(n) * Br * dO_.stride_row;
    statistic_ = load_row_statistic<Br>(parameters_, Index{head_index_} * shape_.N, i,
                                        device::thread_index());
    trace.did(TraceStep::load_statistics, i, 0);
  }

  /// Writes the statistics of the tile loaded last.
  __device__ void write_statistics(float* statistics) const {
    store_row_statistic<Br>(statistics, statistic_, device::thread_index());
  }

 private:
  const BackwardParameters& parameters_;
  const ForwardShape& shape_;
  const device::VisitedTiles<kVisits>& visited_;
  int head_index_;
  uint32_t base_;
  HeadRows<const T> Q_;
  HeadRows<const T> dO_;
  const T* Qi_source_;  // of the next row tile to load
  const T* dOi_source_;
  float statistic_ = 0.0f;
};

/// dQi += dS Kj atomically, in L2, without the scale: a warp's part of row tile i. `head_piece` is
/// the number of row pieces of dQ_accum before the head.
template <typename T, int kWarps, device::Columns kColumns, device::Visits kVisits, int Br, int Bc,
          int d>
__device__ inline void add_query_gradient(const BackwardParameters& parameters, Index head_piece,
                                          int i, const device::SharedTile<Bc, Br>& dS,
                                          const device::SharedTile<Bc, d>& Kj) {
  using namespace device;
  using Part = WarpParts<Br, d, kWarps>;
  const int lane = thread_index() % 32;
  const int warp = thread_index() / 32;
  const int part_row = Part::first_row(warp);
  const int part_column = Part::first_column(warp);
  typename Part::Registers dQ{};
  accumulate_part<T, StoredA::transposed, Part::kRowPieces, Part::kPartColumns, Bc, Br, d>(
      dQ, dS.lane_address_columns(lane), part_row / 16, Kj.lane_address_rows(lane),
      part_column / 16);
  const ForwardShape& shape = parameters.shape;
  const int first_row = i * Br + part_row;
  const int pieces = kColumns == Columns::all ? d / 8 : dQ_accum_pieces(shape.d);
  const Index first_piece = (head_piece + first_row / 16) * Index{pieces} + part_column / 8;
  const bool in_turns = kVisits == Visits::all && parameters.dQ_turns != nullptr;
  if (in_turns) {
    await_turn(turn_of_row_tile<Br, Bc>(parameters, i), column_tile_of_block<Bc>(shape).j);
  }
  if (Part::is_first(warp)) {
    atomic_add_fragments<kColumns, d / 8, Part::kRowPieces, Part::kPartColumns>(
        parameters.dQ_accum + first_piece * kFragmentFloats, dQ, pieces, shape.N - first_row,
        shape.d - part_column, lane);
  }
  if (in_turns) pass_turn(turn_of_row_tile<Br, Bc>(parameters, i));
}

template <typename T, int d, int Br, int Bc, int kWarps,
          device::Columns kColumns = device::Columns::all,
          device::Visits kVisits = device::Visits::all, typename Trace = device::NoTrace,
          ScoreFeatures kFeatures = ScoreFeatures{}>
__global__ void __launch_bounds__(kWarps * 32, 1)
    flash2_backward(const typename Trace::template Parameters<BackwardParameters> parameters) {
  using namespace device;
  using Shared = Flash2BackwardShared<Br, Bc, d>;
  using Part = WarpParts<Bc, Br, kWarps>;
  using TileKV = SharedTile<Bc, d>;
  using TileS = SharedTile<Bc, Br>;
  constexpr int kThreads = kWarps * 32;
  static_assert(2 * Br <= kThreads);
  static_assert(Shared::kBytes == flash2_backward_shared_bytes(d, {Br, Bc}));
  extern __shared__ __align__(1024) unsigned char shared[];
  const uint32_t base = shared_address(shared);
  float* const statistics = reinterpret_cast<float*>(shared + Shared::statistics);

  const ForwardShape& shape = parameters.shape;
  const auto [j, head, batch, keys] = column_tile_of_block<Bc>(shape);
  const int thread = thread_index();
  const int kv_head = head / shape.heads_per_kv_head;
  const auto Q = rows_of_head<const T>(parameters.Q, batch, head);
  const auto dO = rows_of_head<const T>(parameters.dO, batch, head);
  const int head_index = batch * shape.heads + head;

  const ScoreColumns<kFeatures, Br, Bc, kWarps> scores(parameters, j, keys, head, batch,
                                                       shared + Shared::kBytes);
  const auto visited =
      visited_tiles<kVisits>(parameters.row_tiles, j, scores.first_tile(), scores.past_last_tile());
  // Registers are scarce: with score features the loop's end is recomputed in each step
  const auto has = [&](int n) {
    constexpr bool kRecomputed = kFeatures.any() && kVisits == Visits::all;
    return kRecomputed ? n < scores.past_last_tile() : visited.has(n);
  };
  Flash2RowTiles<T, kThreads, kColumns, kVisits, Br, Bc, d> row_tiles(parameters, visited,
                                                                      head_index, base, Q, dO);
  Trace trace(parameters, j);

  // load Kj, Vj; dKj = 0; dVj = 0 @load_column_tile
  const TileKV Kj{base + Shared::K}, Vj{base + Shared::V};
  const TileS P_tile{base + Shared::P}, dS_tile{base + Shared::dS};
  load_column_tile<T, kThreads, kColumns>(
      parameters, Kj, Vj, {j, kv_head, batch, keys}, scores, [thread] { return thread; }, trace);
  // load Qi, dOi, LSEi, Di of the first row tile @load_row_tile
  if (has(visited.first)) row_tiles.load(visited.first, trace);
  typename WarpParts<Bc, d, kWarps>::Registers dK{}, dV{};  // @start

  for (int n = visited.first; has(n); ++n) {
    // Barrier A: row tile i (and Kj, Vj) is in shared memory, and every warp is done with the
    // previous row tile and its P and dS before they are overwritten.
    wait_copies<0>();
    float* const LSE_log2 = statistics + n % 2 * 2 * Br;
    row_tiles.write_statistics(LSE_log2);
    scores.note_row_tile(visited[n], n % 2);
    __syncthreads();
    trace.did(TraceStep::wait, visited[n], j);
    if (has(n + 1)) row_tiles.load(n + 1, trace);

    // S = scale Qi Kj^T, masked where the mask's edge or the last key cuts the tile @scores
    const int lane = thread_index() % 32;
    const int warp = thread_index() / 32;
    const int part_key = Part::first_row(warp);
    const int part_query = Part::first_column(warp);
    const int i = visited[n];
    const auto [Qi, dOi] = row_tiles[n];
    typename Part::Registers P, dS;
    multiply_scores_transposed<T, Part>(P, Kj, Qi, part_key, part_query, lane);
    trace.did(TraceStep::scores, i, j);
    // @soft_cap @alibi @mask
    if (scores.template shape_scores<Part>(P, dS_tile, i, n % 2, warp, lane)) {
      trace.did(TraceStep::mask, i, j);
    }

    // dP = dOi Vj^T; P = exp(S - LSEi); dS = P * (dP - Di) @product_dP
    multiply_scores_transposed<T, Part>(dS, Vj, dOi, part_key, part_query, lane);
    trace.did(TraceStep::product_dP, i, j);
    // @exponentiate
    exponentiate_transposed<Part::kRowPieces, Part::kPartColumns>(P, LSE_log2 + part_query,
                                                                  shape.softmax_scale_log2, lane);
    scores.template drop<Part>(P, lane);  // @dropout
    if (Part::is_first(warp)) {
      write_part<T, Part::kRowPieces, Part::kPartColumns>(P_tile, part_key, part_query, P, lane,
                                                          [&](float p) { return scores.kept(p); });
    }
    trace.did(TraceStep::exponentiate, i, j);
    softmax_gradient_transposed<Part::kRowPieces, Part::kPartColumns>(  // @softmax_gradient
        dS, P, LSE_log2 + Br + part_query, lane,
        [&](float p, float dp, float D) { return scores.gradient(p, dp, D); });  // @drop_dP
    scores.template apply_slopes<Part>(dS, dS_tile, warp, lane);                 // @apply_slope
    if (Part::is_first(warp)) {
      write_part<T, Part::kRowPieces, Part::kPartColumns>(dS_tile, part_key, part_query, dS, lane);
    }
    trace.did(TraceStep::softmax_gradient, i, j);
    __syncthreads();  // Barrier B: P and dS of every warp are in shared memory.
    trace.did(TraceStep::wait, i, j);

    // dVj = dVj + P^T dOi; dKj = dKj + dS^T Qi, without the scale; dQi = dQi + dS Kj, atomically
    accumulate_key_gradient<T, kWarps, Br, Bc, d>(dV, P_tile, dOi);  // @update_dV
    trace.did(TraceStep::accumulate_dV, i, j);
    accumulate_key_gradient<T, kWarps, Br, Bc, d>(dK, dS_tile, Qi);  // @update_dK
    trace.did(TraceStep::accumulate_dK, i, j);
    add_query_gradient<T, kWarps, kColumns, kVisits, Br, Bc, d>(  // @update_dQ
        parameters, Index{head_index} * dQ_accum_row_pieces(shape.N), i, dS_tile, Kj);
    trace.did(TraceStep::add_dQi, i, j);
  }

  // store dKj, dVj @store_key_gradients
  wait_copies<0>();
  __syncthreads();  // Barrier C: no warp reads Kj or Vj any more; dKj and dVj take their slots.
  trace.did(TraceStep::wait, 0, j);
  scale_all(dK, shape.softmax_scale);
  scale_all(dV, scores.value_gradient_scale());
  store_key_gradient<T, kWarps, kColumns>(parameters.dK_heads, Kj, dK,
                                          column_tile_of_block<Bc>(shape), shape.d);
  trace.did(TraceStep::store_dKj, 0, j);
  store_key_gradient<T, kWarps, kColumns>(parameters.dV_heads, Vj, dV,
                                          column_tile_of_block<Bc>(shape), shape.d);
  trace.did(TraceStep::store_dVj, 0, j);
  trace.end();
}

}  // namespace attnscope::kernels
