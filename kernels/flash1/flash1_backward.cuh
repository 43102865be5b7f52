/// FlashAttention-1, backward, on the tensor cores (arXiv 2205.14135, Algorithm 4).
/// It follows the schedule sim/schedule/flash1_backward.cpp.
///
/// Changed from standard: P and dS exist only as tiles on the chip, P recomputed from m and l. A
/// thread block owns one head. The outer loop runs over the column tiles; dKj and dVj stay on the
/// chip until they are complete. The inner loop runs over the row tiles: dQi is read from HBM,
/// updated and written back, in the problem's precision, once per column tile. D = rowsum(dO * O)
/// is recomputed each time, as in the paper; flash2 computes it once.
///
/// Requested from memory by one head's block in this launch, valid rows only: Kj, Vj of each column
/// tile; for each row tile that sees it, Qi, Oi, dOi, dQi, mi, li are read and dQi is written; dKj
/// and dVj are written once. dQ = 0 is set by the launch "initialise" before this one.
///
/// On chip: one slot each for Kj, Vj, P and dS in shared memory, two each for Qi, Oi, dOi and dQi,
/// so that a row tile arrives while the previous one is processed.
///
/// d is the width of the tiles. Where the problem's is smaller (Columns::first), the columns beyond
/// it are zero on chip and are never transferred.
///
/// flash1_scores.cuh handles the problem's score features and determines which row tiles see a
/// column tile.
#pragma once

#include "kernels/device/backward_parts.cuh"
#include "kernels/device/trace.cuh"
#include "kernels/flash1/flash1_backward_shared.cuh"
#include "kernels/flash1/flash1_parameters.cuh"
#include "kernels/flash1/flash1_scores.cuh"

namespace attnscope::kernels {

/// The layout of one block's shared memory, in bytes.
template <int Br, int Bc, int d>
struct Flash1BackwardShared {
  static constexpr int kRowTileBytes = Br * d * 2;
  static constexpr int kColumnTileBytes = Bc * d * 2;
  static constexpr int kScoreTileBytes = Br * Bc * 2;
  static constexpr int K = 0;
  static constexpr int V = K + kColumnTileBytes;
  static constexpr int Q = V + kColumnTileBytes;
  static constexpr int O = Q + kRowTileBytes;
  static constexpr int dO = O + kRowTileBytes;
  static constexpr int dQ = dO + kRowTileBytes;
  static constexpr int kStageBytes = 4 * kRowTileBytes;
  static constexpr int P = Q + 2 * kStageBytes;  ///< transposed, as is dS
  static constexpr int dS = P + kScoreTileBytes;
  static constexpr int statistics = dS + kScoreTileBytes;  ///< (m + log l) log2(e), D
  static constexpr int kBytes = statistics + 2 * Br * 4;
};

/// m and l of a row, read from HBM; l = 0 for rows that do not exist or see no key.
struct RowStatistics {
  float m = 0.0f, l = 0.0f;

  /// The scaled m + log l in the exponent's unit; infinity if l = 0, which makes P zero.
  __device__ float log_sum_log2(float softmax_scale_log2) const {
    if (l == 0.0f) return -device::kMinusInfinity;
    return fmaf(m, softmax_scale_log2, log2f(l));
  }
};

/// The row tiles of one head, loaded again for each column tile: two stages of Qi, Oi, dOi and dQi
/// in shared memory, the copies into them, and m and l of this thread's rows of the tile in flight.
template <typename T, int kThreads, device::Columns kColumns, int Br, int Bc, int d>
class Flash1RowTiles {
  using Shared = Flash1BackwardShared<Br, Bc, d>;
  using Tile = device::SharedTile<Br, d>;
  static constexpr int kRowsOfThread = (Br + kThreads - 1) / kThreads;

 public:
  /// `base` is the address of the block's shared memory.
  __device__ Flash1RowTiles(const Flash1BackwardParameters& parameters, int batch, int head,
                            uint32_t base)
      : parameters_(parameters), batch_(batch), head_(head), base_(base) {}

  struct RowTile {
    Tile Qi, Oi, dOi, dQi;
  };
  /// The row tile in stage n.
  __device__ RowTile operator[](int n) const {
    const uint32_t stage = base_ + (n & 1) * Shared::kStageBytes;
    return {{stage + Shared::Q}, {stage + Shared::O}, {stage + Shared::dO}, {stage + Shared::dQ}};
  }

  /// Starts the copies of Qi, Oi, dOi and dQi into stage n, as one group, and reads mi, li.
  template <typename Trace>
  __device__ void load(int i, int n, Trace& trace) {
    const ForwardShape& shape = parameters_.shared.shape;
    const int rows = min(Br, shape.N - i * Br);
    uint32_t slot = base_ + Shared::Q + (n & 1) * Shared::kStageBytes;
    const auto load = [&](const TensorView& tensor, TraceStep step) {
      const auto source = rows_of_head<const T>(tensor, batch_, head_);
      device::load_tile_async<kThreads, kColumns>(Tile{slot}, source.row(Index{i} * Br),
                                                  source.stride_row, rows, device::thread_index(),
                                                  shape.d);
      trace.did(step, i, 0);
      slot += Shared::kRowTileBytes;
    };
    load(parameters_.shared.Q, TraceStep::load_Qi);
    load(parameters_.shared.O, TraceStep::load_Oi);
    load(parameters_.shared.dO, TraceStep::load_dOi);
    load(parameters_.shared.dQ, TraceStep::load_dQi);
    device::commit_copies();
#pragma unroll
    for (int n = 0; n < kRowsOfThread; ++n) {
      statistics_[n] = {};
      const int tile_row = device::thread_index() + n * kThreads;
      if (tile_row < rows) {
        const Index row = Index{device::block_index()} * shape.N + i * Br + tile_row;
        statistics_[n] = {__ldcg(parameters_.m + row), __ldcg(parameters_.l + row)};
      }
    }
    trace.did(TraceStep::load_statistics, i, 0);
  }

  /// Writes the log sums of the tile loaded last.
  __device__ void write_log_sums(float* log_sum_log2) const {
#pragma unroll
    for (int n = 0; n < kRowsOfThread; ++n) {
      const int tile_row = device::thread_index() + n * kThreads;
      if (tile_row < Br) {
        log_sum_log2[tile_row] =
            statistics_[n].log_sum_log2(parameters_.shared.shape.softmax_scale_log2);
      }
    }
  }

  template <typename Trace>
  __device__ void store_dQ(int i, int n, Trace& trace) const {
    const ForwardShape& shape = parameters_.shared.shape;
    const auto dQ = rows_of_head<T>(parameters_.shared.dQ, batch_, head_);
    device::store_tile<kThreads, kColumns>(dQ.row(Index{i} * Br), dQ.stride_row, (*this)[n].dQi,
                                           min(Br, shape.N - i * Br), device::thread_index(),
                                           shape.d);
    trace.did(TraceStep::store_dQi, i, 0);
  }

 private:
  const Flash1BackwardParameters& parameters_;
  int batch_, head_;
  uint32_t base_;
  RowStatistics statistics_[kRowsOfThread];
};

/// Lanes that share a row of `chunks` chunks: a power of two that divides it, so that as many
/// threads as possible have work.
constexpr int lanes_per_row(int threads, int rows, int chunks) {
  int lanes = 1;
  while (2 * lanes * rows <= threads && chunks % (2 * lanes) == 0) lanes *= 2;
  return lanes;
}

/// Computes D of all rows of the tile: neighbouring lanes share a row.
template <typename T, int kThreads, int Br, int d>
__device__ inline void row_dots(float* D, const device::SharedTile<Br, d>& O,
                                const device::SharedTile<Br, d>& dO) {
  using namespace device;
  constexpr int kLanes = lanes_per_row(kThreads, Br, SharedTile<Br, d>::kChunks);
  constexpr int kRowsAtOnce = kThreads / kLanes;
  static_assert(kLanes == 1 || (Br * kLanes <= kThreads && Br * kLanes % 32 == 0));
#pragma unroll
  for (int first_row = 0; first_row < Br; first_row += kRowsAtOnce) {
    const int row = first_row + thread_index() / kLanes;
    if (Br % kRowsAtOnce != 0 && row >= Br) break;
    float sum = 0.0f;
#pragma unroll
    for (int chunk = 0; chunk < SharedTile<Br, d>::kChunks / kLanes; ++chunk) {
      const int c = chunk * kLanes + thread_index() % kLanes;
      uint32_t o[4], gradient[4];
      load_chunk_shared(o, O.chunk_address(row, c));
      load_chunk_shared(gradient, dO.chunk_address(row, c));
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const float2 a = unpack<T>(o[n]);
        const float2 b = unpack<T>(gradient[n]);
        sum = fmaf(a.y, b.y, fmaf(a.x, b.x, sum));
      }
    }
#pragma unroll
    for (int other = kLanes / 2; other > 0; other /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, other);
    }
    if (thread_index() % kLanes == 0) D[row] = sum;
  }
}

/// dQi += scale dS Kj in shared memory: a warp's part. In wide tiles the columns are processed in
/// panels, so that fewer sums occupy registers beside dKj and dVj.
template <typename T, int kWarps, int Br, int Bc, int d>
__device__ inline void add_query_gradient_shared(const device::SharedTile<Br, d>& dQi,
                                                 const device::SharedTile<Bc, Br>& dS,
                                                 const device::SharedTile<Bc, d>& Kj,
                                                 float softmax_scale) {
  using namespace device;
  constexpr int kAtOnce = d > 128 ? 64 : d;
  using Part = WarpParts<Br, kAtOnce, kWarps>;
  const int lane = thread_index() % 32;
  const int part_row = Part::first_row(thread_index() / 32);
#pragma unroll 1
  for (int panel = 0; panel < d; panel += kAtOnce) {
    const int part_column = panel + Part::first_column(thread_index() / 32);
    typename Part::Registers dQ{};
    accumulate_part<T, StoredA::transposed, Part::kRowPieces, Part::kPartColumns, Bc, Br, d>(
        dQ, dS.lane_address_columns(lane), part_row / 16, Kj.lane_address_rows(lane),
        part_column / 16);
#pragma unroll
    for (int row = 0; row < 2 * Part::kRowPieces; ++row) {
#pragma unroll
      for (int n = 0; n < Part::kPartColumns / 8; ++n) {
        const uint32_t address =
            dQi.chunk_address(part_row + row * 8 + lane / 4, part_column / 8 + n) + lane % 4 * 4;
        const FragmentC& part = dQ[row / 2][n];
        uint32_t pair;
        asm volatile("ld.shared.u32 %0, [%1];\n" : "=r"(pair) : "r"(address) : "memory");
        const float2 carried = unpack<T>(pair);
        asm volatile("st.shared.u32 [%0], %1;\n" ::"r"(address),
                     "r"(pack<T>(fmaf(softmax_scale, part[row % 2 * 2], carried.x),
                                 fmaf(softmax_scale, part[row % 2 * 2 + 1], carried.y)))
                     : "memory");
      }
    }
  }
}

/// Stores dKj and dVj in HBM through the slots of Kj and Vj, which no warp reads any more.
template <typename T, int kWarps, device::Columns kColumns, int Bc, int d, typename Registers,
          typename Trace>
__device__ inline void store_key_gradients(const BackwardParameters& parameters,
                                           const device::SharedTile<Bc, d>& Kj,
                                           const device::SharedTile<Bc, d>& Vj, const Registers& dK,
                                           const Registers& dV, const device::ColumnTile& tile,
                                           Trace& trace) {
  const int columns = parameters.shape.d;
  device::store_key_gradient<T, kWarps, kColumns>(parameters.dK_heads, Kj, dK, tile, columns);
  trace.did(TraceStep::store_dKj, 0, tile.j);
  device::store_key_gradient<T, kWarps, kColumns>(parameters.dV_heads, Vj, dV, tile, columns);
  trace.did(TraceStep::store_dVj, 0, tile.j);
}

template <typename T, int d, int Br, int Bc, int kWarps,
          device::Columns kColumns = device::Columns::all, typename Trace = device::NoTrace,
          ScoreFeatures kFeatures = ScoreFeatures{}>
__global__ void __launch_bounds__(kWarps * 32, 1) flash1_backward(
    const typename Trace::template Parameters<Flash1BackwardParameters> parameters) {
  using namespace device;
  using Shared = Flash1BackwardShared<Br, Bc, d>;
  static_assert(Shared::kBytes == flash1_backward_shared_bytes(d, {Br, Bc}));
  static_assert(flash1_backward_warps_fit(d, {Br, Bc}, kWarps));
  using Scores = WarpParts<Bc, Br, kWarps>;
  using TileKV = SharedTile<Bc, d>;
  using TileS = SharedTile<Bc, Br>;
  constexpr int kThreads = kWarps * 32;
  extern __shared__ __align__(1024) unsigned char shared[];
  const uint32_t base = shared_address(shared);
  float* const log_sum_log2 = reinterpret_cast<float*>(shared + Shared::statistics);
  float* const D = log_sum_log2 + Br;

  const ForwardShape& shape = parameters.shared.shape;
  const int head = block_index() % shape.heads;
  const int batch = block_index() / shape.heads;
  const int kv_head = head / shape.heads_per_kv_head;
  const TileKV Kj{base + Shared::K}, Vj{base + Shared::V};
  const TileS P_tile{base + Shared::P}, dS_tile{base + Shared::dS};
  Flash1RowTiles<T, kThreads, kColumns, Br, Bc, d> row_tiles(parameters, batch, head, base);
  Trace trace(parameters, 0);

  const int Tc = (shape.N_kv + Bc - 1) / Bc;
  for (int j = 0; j < Tc; ++j) {
    const int keys = min(Bc, shape.N_kv - j * Bc);
    const Flash1Columns<kFeatures, Br, Bc, kWarps> scores(parameters.shared, j, keys, head, batch,
                                                          shared + Shared::kBytes);
    const int first = scores.first_position();  // of the row tiles that see column tile j
    // Registers are scarce: with score features the loop's end is recomputed in each step
    const int past_without = scores.past_last_position();
    const auto past = [&] { return kFeatures.any() ? scores.past_last_position() : past_without; };

    // load Kj, Vj; dKj = 0; dVj = 0 @load_column_tile
    // Barrier A: every warp is done with the slots of Kj and Vj, and this block's dQ of the
    // previous pass is visible to the threads that read it now.
    __syncthreads();
    trace.did(TraceStep::wait, 0, j);
    load_column_tile<T, kThreads, kColumns>(parameters.shared, Kj, Vj, {j, kv_head, batch, keys},
                                            scores, thread_index, trace);
    typename WarpParts<Bc, d, kWarps>::Registers dK{}, dV{};  // @start

    if (first < past()) row_tiles.load(scores.row_tile(first), first, trace);
    for (int n = first; n < past(); ++n) {
      const int i = scores.row_tile(n);
      // Barrier B: row tile i (and Kj, Vj) is in shared memory, and every warp is done with the
      // previous row tile, whose slots the next one takes.
      wait_copies<0>();
      row_tiles.write_log_sums(log_sum_log2);
      scores.note_row_tile(i, 0);
      __syncthreads();
      trace.did(TraceStep::wait, i, j);
      // load Qi, Oi, dOi, dQi, li, mi @load_row_tile
      if (n + 1 < past()) row_tiles.load(scores.row_tile(n + 1), n + 1, trace);
      const auto [Qi, Oi, dOi, dQi] = row_tiles[n];

      const int lane = thread_index() % 32;
      const int warp = thread_index() / 32;
      const int part_key = Scores::first_row(warp);
      const int part_query = Scores::first_column(warp);

      // Di = rowsum(dOi * Oi) @row_dot
      row_dots<T, kThreads>(D, Oi, dOi);
      trace.did(TraceStep::row_dot, i, j);

      // S = scale Qi Kj^T, masked where the mask's edge or the last key cuts the tile @scores
      typename Scores::Registers P, dS;
      multiply_scores_transposed<T, Scores>(P, Kj, Qi, part_key, part_query, lane);
      trace.did(TraceStep::scores, i, j);
      // @soft_cap @alibi @mask
      if (scores.template shape_scores<Scores>(P, dS_tile, i, 0, warp, lane)) {
        trace.did(TraceStep::mask, i, j);
      }

      // P = exp(S - mi) / li; dP = dOi Vj^T
      exponentiate_transposed<Scores::kRowPieces, Scores::kPartColumns>(  // @exponentiate
          P, log_sum_log2 + part_query, shape.softmax_scale_log2, lane);
      scores.template drop<Scores>(P, lane);  // @dropout
      write_part<T, Scores::kRowPieces, Scores::kPartColumns>(
          P_tile, part_key, part_query, P, lane, [&](float p) { return scores.kept(p); });
      trace.did(TraceStep::exponentiate, i, j);
      // @product_dP
      multiply_scores_transposed<T, Scores>(dS, Vj, dOi, part_key, part_query, lane);
      trace.did(TraceStep::product_dP, i, j);
      __syncthreads();  // Barrier C: D of all rows is written before any warp reads it.
      trace.did(TraceStep::wait, i, j);

      // dS = P * (dP - Di) @softmax_gradient
      softmax_gradient_transposed<Scores::kRowPieces, Scores::kPartColumns>(
          dS, P, D + part_query, lane,
          [&](float p, float dp, float Di) { return scores.gradient(p, dp, Di); });  // @drop_dP
      scores.template apply_slopes<Scores>(dS, dS_tile, warp, lane);                 // @apply_slope
      write_part<T, Scores::kRowPieces, Scores::kPartColumns>(dS_tile, part_key, part_query, dS,
                                                              lane);
      trace.did(TraceStep::softmax_gradient, i, j);
      __syncthreads();  // Barrier D: P and dS of every warp are in shared memory.
      trace.did(TraceStep::wait, i, j);

      // dVj = dVj + P^T dOi; dQi = dQi + scale dS Kj, stored; dKj = dKj + dS^T Qi, without the
      // scale
      accumulate_key_gradient<T, kWarps, Br, Bc, d>(dV, P_tile, dOi);  // @update_dV
      trace.did(TraceStep::accumulate_dV, i, j);
      // @update_dQ
      add_query_gradient_shared<T, kWarps, Br, Bc, d>(dQi, dS_tile, Kj, shape.softmax_scale);
      trace.did(TraceStep::product_dQ, i, j);
      __syncthreads();  // Barrier E: the parts of all warps are added before rows are stored.
      trace.did(TraceStep::wait, i, j);
      row_tiles.store_dQ(i, n, trace);                                 // @store_dQ
      accumulate_key_gradient<T, kWarps, Br, Bc, d>(dK, dS_tile, Qi);  // @update_dK
      trace.did(TraceStep::accumulate_dK, i, j);
    }

    // store dKj, dVj @store_key_gradients
    wait_copies<0>();
    __syncthreads();  // Barrier F: no warp reads Kj or Vj any more; dKj and dVj take their slots.
    trace.did(TraceStep::wait, 0, j);
    scale_all(dK, shape.softmax_scale);
    scale_all(dV, scores.value_gradient_scale());
    store_key_gradients<T, kWarps, kColumns>(parameters.shared, Kj, Vj, dK, dV,
                                             {j, head, batch, keys}, trace);
  }
  trace.end();
}

}  // namespace attnscope::kernels
