/// FlashAttention-2, forward, on the tensor cores (arXiv 2307.08691, Algorithm 1).
/// It follows the schedule sim/schedule/flash2_forward.cpp.
///
/// Changed from flash1: the loops are swapped. A thread block owns row tile i of one head and
/// sweeps the column tiles j, ascending; O, m and l stay on the chip until they are complete, and
/// the blocks of one head are independent, so one head with many rows is enough to fill the GPU.
/// The cost: every row tile reads K and V again (mostly from L2).
///
/// Requested from memory by one block, valid rows only: Qi once; Kj and Vj of each column tile that
/// row tile i sees (causal: j < ceil(keys_end(last row) / Bc)); Oi and LSEi written once.
///
/// d is the width of the tiles. Where the problem's is smaller (Columns::first), the columns beyond
/// it are zero on chip and are never transferred.
///
/// On chip: Qi and two stages of (Kj, Vj) in shared memory, so that tile j + 1 is being copied
/// while tile j is multiplied (knob::kStages sets a different number of stages); S, P, O, m and l
/// in registers. Each warp owns 16 kRowPieces rows. With knob::kSlicedK, each warp instead has all
/// rows and a part of every column tile's keys, as in FlashAttention-1, and therefore its own m, l
/// and O, which merge_slices() merges into those of the first warp at the end.
///
/// device/score_rows.cuh handles the problem's score features and determines which keys a row sees.
/// With Visits::listed this is block_sparse2, which follows sim/schedule/block_sparse.cpp: the same
/// program on the column tiles that the block mask lists.
#pragma once

#include "kernels/device/online_softmax.cuh"
#include "kernels/device/place.cuh"
#include "kernels/device/score_rows.cuh"
#include "kernels/device/trace.cuh"
#include "kernels/device/visited_tiles.cuh"
#include "kernels/flash2/flash2_forward_shared.cuh"
#include "kernels/forward_parameters.cuh"

namespace attnscope::kernels {

/// The row tile that a block owns. A head's row tiles are neighbours in the grid, the last one
/// first (unless a switch requests the first): under a causal mask it has the most column tiles,
/// and starting long blocks first balances the end of the launch.
struct RowTile {
  int i, head, batch;
  int rows;  ///< valid rows of the tile
};

template <int Br>
__device__ inline RowTile row_tile_of_block(const ForwardShape& shape) {
  const int block = device::block_index();
  const int Tr = (shape.N + Br - 1) / Br;
  const int i = knob::kAscending ? block % Tr : Tr - 1 - block % Tr;
  const int head = block / Tr;
  return {i, head % shape.heads, head / shape.heads, min(Br, shape.N - i * Br)};
}

/// The end of a row tile's program: O = diag(1 / l) O; LSE = m + log l; store Oi, LSEi.
/// `Qi_address` is the slot of Qi, which the warps no longer need: O passes through it, so that the
/// stores to HBM are 16 bytes wide. `l` is each thread's part of the row sums; `output_scale` is a
/// further factor to apply to O.
template <typename T, int d, int Br, device::Columns kColumns, int kRowPieces, typename Trace>
__device__ inline void finish_row_tile(const ForwardParameters& parameters, uint32_t Qi_address,
                                       device::Accumulator<kRowPieces, d>& O,
                                       const device::RowStatistic<kRowPieces>& m,
                                       device::RowStatistic<kRowPieces>& l, float output_scale,
                                       Trace& trace) {
  using namespace device;
  constexpr int kWarpRows = 16 * kRowPieces;
  const ForwardShape& shape = parameters.shape;
  const auto [i, head, batch, rows] = row_tile_of_block<Br>(shape);
  const int lane = thread_index() % 32;
  const int warp_row = thread_index() / 32 * kWarpRows;

  RowStatistic<kRowPieces> inverse_l;
#pragma unroll
  for (int row = 0; row < 2 * kRowPieces; ++row) {
    l[row] = quad_sum(l[row]);
    inverse_l[row] = l[row] == 0.0f ? 0.0f : output_scale / l[row];  // a row without keys has O = 0
    const int tile_row = warp_row + row * 8 + lane / 4;
    if (lane % 4 == 0 && tile_row < rows) {
      const Index LSE_row = (Index{batch} * shape.heads + head) * shape.N + i * Br + tile_row;
      __stcg(parameters.LSE + LSE_row, log_sum_exp(m[row], l[row], shape.softmax_scale));
    }
  }
  trace.did(TraceStep::store_LSEi, i, 0);
  rescale<kRowPieces, d>(O, inverse_l);
  trace.did(TraceStep::normalize, i, 0);

  // Each warp writes only the rows of the slot that it has read itself
  const SharedTile<kWarpRows, d> Oi{Qi_address + warp_row * SharedTile<Br, d>::kRowBytes};
  __syncwarp();  // Barrier B: every lane is done reading the warp's rows of Qi.
  write_fragments<T, kRowPieces, d>(Oi, O, lane);
  __syncwarp();  // Barrier C: the fragments of all lanes are written before rows are read.
  const auto O_rows = rows_of_head<T>(parameters.O, batch, head);
  store_tile<32, kColumns>(O_rows.row(Index{i} * Br + warp_row), O_rows.stride_row, Oi,
                           rows - warp_row, lane, shape.d);
  trace.did(TraceStep::store_Oi, i, 0);
}

/// Merges m, l and O of all warps, each computed over the warp's part of the keys, into those of
/// warp 0. `slot` is shared memory that no warp uses any more.
template <int kWarps, int kRowPieces, int d>
__device__ inline void merge_slices(float* slot, device::Accumulator<kRowPieces, d>& O,
                                    device::RowStatistic<kRowPieces>& m,
                                    device::RowStatistic<kRowPieces>& l, float scale_log2) {
  using namespace device;
  constexpr int kThreads = 32, kStatistics = 2 * 2 * kRowPieces;
  const int warp = thread_index() / 32;
  float* const own = slot + thread_index() % 32;  // a thread's n-th number is at own[32 n]
  const auto O_number = [](int row, int n, int c) {
    return kThreads * (kStatistics + (row * (d / 8) + n) * 2 + c);
  };
  for (int other = 1; other < kWarps; ++other) {
    if (warp == other) {
#pragma unroll
      for (int row = 0; row < 2 * kRowPieces; ++row) {
        own[kThreads * 2 * row] = m[row];
        own[kThreads * (2 * row + 1)] = l[row];
#pragma unroll
        for (int n = 0; n < d / 8; ++n) {
#pragma unroll
          for (int c = 0; c < 2; ++c) own[O_number(row, n, c)] = O[row / 2][n][row % 2 * 2 + c];
        }
      }
    }
    __syncthreads();  // Barrier F: the other warp's numbers are in shared memory.
    if (warp == 0) {
#pragma unroll
      for (int row = 0; row < 2 * kRowPieces; ++row) {
        const float m_other = own[kThreads * 2 * row];
        const float m_both = fmaxf(m[row], m_other);
        const auto weight = [&](float m_part) {
          return m_part == kMinusInfinity ? 0.0f : rescaling_factor(m_part, m_both, scale_log2);
        };
        const float alpha = weight(m[row]), beta = weight(m_other);
        m[row] = m_both;
        l[row] = fmaf(beta, own[kThreads * (2 * row + 1)], alpha * l[row]);
#pragma unroll
        for (int n = 0; n < d / 8; ++n) {
#pragma unroll
          for (int c = 0; c < 2; ++c) {
            float& element = O[row / 2][n][row % 2 * 2 + c];
            element = fmaf(beta, own[O_number(row, n, c)], alpha * element);
          }
        }
      }
    }
    __syncthreads();  // Barrier G: warp 0 is done with the slot, which the next warp overwrites.
  }
}

template <typename T, int d, int Br, int Bc, int kWarps,
          device::Columns kColumns = device::Columns::all,
          device::Visits kVisits = device::Visits::all, typename Trace = device::NoTrace,
          ScoreFeatures kFeatures = ScoreFeatures{}>
__global__ void __launch_bounds__(kWarps * 32, kWarps <= 4 ? 2 : 1)
    flash2_forward(const typename Trace::template Parameters<ForwardParameters> parameters) {
  using namespace device;
  constexpr int kThreads = kWarps * 32;
  constexpr int kSlices = knob::kSlicedK ? kWarps : 1;  // of a column tile
  constexpr int kWarpRows = Br * kSlices / kWarps;
  constexpr int kWarpKeys = Bc / kSlices;
  constexpr int kRowPieces = kWarpRows / kFragmentRows;
  static_assert(kRowPieces * kFragmentRows * kWarps == Br * kSlices && d % 16 == 0);
  static_assert(kWarpKeys % 16 == 0);
  extern __shared__ __align__(1024) unsigned char shared[];

  const ForwardShape& shape = parameters.shape;
  const auto [i, head, batch, rows] = row_tile_of_block<Br>(shape);
  const int thread = thread_index();
  const int lane = thread % 32;
  const int slice = knob::kSlicedK ? thread / 32 : 0;  // this warp's part of a column tile
  const int warp_row = knob::kSlicedK ? 0 : thread / 32 * kWarpRows;  // its first row of the tile
  const int kv_head = head / shape.heads_per_kv_head;
  const auto Q = rows_of_head<const T>(parameters.Q, batch, head);
  const auto K = rows_of_head<const T>(parameters.K, batch, kv_head);
  const auto V = rows_of_head<const T>(parameters.V, batch, kv_head);

  using TileQ = SharedTile<Br, d>;
  using TileKV = SharedTile<Bc, d>;
  const uint32_t Qi_address = shared_address(shared);
  const uint32_t Kj_address = Qi_address + TileQ::kBytes;
  const uint32_t Vj_address = Kj_address + knob::kStages * TileKV::kBytes;
  const ScoreRows<kFeatures, Br, kWarpKeys> scores(  // its column tiles are the warps' parts
      parameters, i, rows, head, batch,
      shared + flash2_forward_shared_bytes(d, {Br, Bc}, knob::kStages));
  const auto column_tiles =
      visited_tiles<kVisits>(parameters.column_tiles, i, scores.template first_tile<kSlices>(),
                             scores.template past_last_tile<kSlices>());
  const Index first_key = Index{column_tiles.first_tile()} * Bc;
  const T* Kj_source = K.row(first_key);  // of the next tile to load
  const T* Vj_source = V.row(first_key);
  Trace trace(parameters, i);
  const auto load_column_tile = [&](int n) {
    const int keys = scores.template keys_to_load<Bc>(column_tiles[n]);
    const uint32_t stage = n % knob::kStages * TileKV::kBytes;
    // @load_column_tile
    load_tile_async<kThreads, kColumns>(TileKV{Kj_address + stage}, Kj_source, K.stride_row, keys,
                                        thread_index(), shape.d);
    trace.did_nth(TraceStep::load_Kj, 0, column_tiles, n);
    load_tile_async<kThreads, kColumns>(TileKV{Vj_address + stage}, Vj_source, V.stride_row, keys,
                                        thread_index(), shape.d);
    commit_copies();
    trace.did_nth(TraceStep::load_Vj, 0, column_tiles, n);
    Kj_source += column_tiles.step(n) * Bc * K.stride_row;
    Vj_source += column_tiles.step(n) * Bc * V.stride_row;
  };

  // With three stages, n is two positions ahead: where the list ends at n - 1, n is in the next
  // list. wait_copies() counts groups: once no tile is left, an empty group keeps the count right
  const auto load_if_any = [&](int n) {
    if ((knob::kStages < 3 || column_tiles.has(n - 1)) && column_tiles.has(n)) {
      load_column_tile(n);
    } else if constexpr (knob::kStages > 2) {
      commit_copies();
    }
  };

  // load Qi; load the first Kj, Vj @load_row_tile
  load_tile_async<kThreads, kColumns>(TileQ{Qi_address}, Q.row(Index{i} * Br), Q.stride_row, rows,
                                      thread, shape.d);
  commit_copies();
  trace.did(TraceStep::load_Qi, i, 0);
  if (knob::kStages > 1 && column_tiles.has(column_tiles.first)) {
    load_column_tile(column_tiles.first);
    if (knob::kStages > 2) load_if_any(column_tiles.first + 1);
  }

  // O = 0, m = -inf, l = 0 (l is this thread's part of the row sums until the end) @start
  Accumulator<kRowPieces, d> O{};
  RowStatistic<kRowPieces> m, l, alpha;
#pragma unroll
  for (int row = 0; row < 2 * kRowPieces; ++row) {
    m[row] = kMinusInfinity;
    l[row] = 0.0f;
  }

  const uint32_t Q_lane = TileQ{Qi_address}.lane_address_rows(lane) + warp_row * TileQ::kRowBytes;
  const uint32_t slice_offset = slice * kWarpKeys * TileKV::kRowBytes;
  const uint32_t K_lane = TileKV{Kj_address}.lane_address_columns(lane) + slice_offset;
  const uint32_t V_lane = TileKV{Vj_address}.lane_address_rows(lane) + slice_offset;

  for (int n = column_tiles.first; column_tiles.has(n); ++n) {
    if constexpr (knob::kStages == 1) {
      __syncthreads();  // Barrier E: every warp is done with the only stage before it is
                        // overwritten.
      load_column_tile(n);
    }
    // Barrier A: every thread's copies of tile j (and Qi) have arrived in shared memory, and every
    // warp is done with the previous tile, whose stage the next copies overwrite.
    wait_copies<(knob::kStages > 2 ? 1 : 0)>();
    __syncthreads();
    trace.did_nth(TraceStep::wait, i, column_tiles, n);
    if constexpr (knob::kStages > 1) load_if_any(n + knob::kStages - 1);

    // S = Qi Kj^T, masked where the tile crosses the mask's edge or the last key @scores
    scores.template draw<kRowPieces>(column_tiles[n], warp_row, lane);
    Accumulator<kRowPieces, kWarpKeys> S;
    const uint32_t stage = n % knob::kStages * TileKV::kBytes;
    multiply_scores<T, kRowPieces, kWarpKeys, d>(S, Q_lane, K_lane + stage);
    const int j = column_tiles[n];
    trace.did(TraceStep::scores, i, j);
    if (scores.shape_scores(S, j * kSlices + slice, warp_row, lane)) {  // @soft_cap @alibi @mask
      trace.did(TraceStep::mask, i, j);
    }

    // m, alpha; P = exp(S - m); l = alpha l + rowsum(P); O = diag(alpha) O + P Vj
    // @update_max
    const bool moved = update_max<kRowPieces, kWarpKeys>(m, alpha, S, shape.softmax_scale_log2);
    trace.did(TraceStep::update_max, i, j);
    // Otherwise alpha = 1: in a long sequence, most tiles leave all maxima unchanged
    if (moved || knob::kRescaleAlways) {
#pragma unroll
      for (int row = 0; row < 2 * kRowPieces; ++row) l[row] *= alpha[row];  // @update_sum
      rescale<kRowPieces, d>(O, alpha);
    }
    trace.did(TraceStep::rescale, i, j, moved || knob::kRescaleAlways);
    exponentiate<kRowPieces, kWarpKeys>(S, l, m, shape.softmax_scale_log2);  // @exponentiate
    trace.did(TraceStep::exponentiate, i, j);
    scores.drop(S, warp_row, lane);                                        // @dropout
    accumulate_output<T, kRowPieces, kWarpKeys, d>(O, S, V_lane + stage);  // @update_output
    trace.rows(
        i * Br + warp_row, j, m, alpha, [&l](int row) { return quad_sum(l[row]); }, slice);
    trace.did(TraceStep::accumulate, i, j);
  }

  // O = diag(1 / l) O; LSE = m + log l; store Oi, LSEi @normalize @log_sum_exp
  if (kSlices > 1 || !column_tiles.has(column_tiles.first)) {
    wait_copies<0>();
    __syncthreads();  // Barrier D: no warp reads a tile any more, and no copy is in flight.
  }
  if constexpr (kSlices > 1) {
    merge_slices<kWarps, kRowPieces, d>(reinterpret_cast<float*>(shared), O, m, l,
                                        shape.softmax_scale_log2);
    if (slice > 0) return;
  }
  finish_row_tile<T, d, Br, kColumns, kRowPieces>(parameters, Qi_address, O, m, l,  // @store_output
                                                  scores.output_scale(), trace);
  trace.end();
}

}  // namespace attnscope::kernels
