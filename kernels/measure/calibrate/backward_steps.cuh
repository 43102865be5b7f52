/// Isolated steps of the backward kernels, like those of the forward kernels in forward_steps.cuh.
#pragma once

#include "kernels/device/cuda_core_gradients.cuh"
#include "kernels/flash1/flash1_backward.cuh"
#include "kernels/flash2/flash2_backward.cuh"
#include "kernels/flash2/flash2_backward_fp32.cuh"
#include "kernels/measure/calibrate/step_values.cuh"

namespace attnscope::kernels::steps {

/// flash2_backward, also for block_sparse2: a block's loop over the row tiles. Blocks of one head
/// add to the same dQ at the same time, as column tiles of one head do.
template <typename T, int d, int Br, int Bc, int kWarps, device::Columns kColumns,
          device::Visits kVisits = device::Visits::all, typename Trace = device::NoTrace,
          ScoreFeatures kFeatures = ScoreFeatures{}>
__global__ void __launch_bounds__(kWarps * 32, 1)
    flash2_backward(const BackwardParameters parameters, const StepKind kind,
                    BlockTime* __restrict__ times) {
  using namespace device;
  using Shared = Flash2BackwardShared<Br, Bc, d>;
  using Part = WarpParts<Bc, Br, kWarps>;
  using TileKV = SharedTile<Bc, d>;
  using TileS = SharedTile<Bc, Br>;
  constexpr int kThreads = kWarps * 32;
  extern __shared__ __align__(1024) unsigned char shared[];
  const uint32_t base = shared_address(shared);
  float* const statistics = reinterpret_cast<float*>(shared + Shared::statistics);
  const ForwardShape& shape = parameters.shape;
  const int head = block_index() % shape.heads;
  const auto Q = rows_of_head<const T>(parameters.Q, 0, head);
  const auto dO = rows_of_head<const T>(parameters.dO, 0, head);
  const auto K = rows_of_head<const T>(parameters.K, 0, head);
  const auto V = rows_of_head<const T>(parameters.V, 0, head);
  const auto visited = visited_tiles<Visits::all>(nullptr, 0, 0, kind.count);
  Flash2RowTiles<T, kThreads, kColumns, Visits::all, Br, Bc, d> row_tiles(parameters, visited, head,
                                                                          base, Q, dO);
  NoTrace trace(parameters, 0);
  const TileKV Kj{base + Shared::K}, Vj{base + Shared::V};
  const TileS P_tile{base + Shared::P}, dS_tile{base + Shared::dS};
  load_tile_async<kThreads, kColumns>(Kj, K.row(0), K.stride_row, Bc, thread_index(), shape.d);
  load_tile_async<kThreads, kColumns>(Vj, V.row(0), V.stride_row, Bc, thread_index(), shape.d);
  row_tiles.load(0, trace);
  wait_copies<0>();
  typename WarpParts<Bc, d, kWarps>::Registers dK{}, dV{};

  const Stopwatch stopwatch(times);
#pragma unroll 1
  for (int n = visited.first; visited.has(n); ++n) {
    wait_copies<0>();
    float* const LSE_log2 = statistics + n % 2 * 2 * Br;
    row_tiles.write_statistics(LSE_log2);
    __syncthreads();
    if (visited.has(n + 1)) row_tiles.load(n + 1, trace);
    const int lane = thread_index() % 32;
    const int warp = thread_index() / 32;
    const int part_key = Part::first_row(warp);
    const int part_query = Part::first_column(warp);
    const auto [Qi, dOi] = row_tiles[n];
    typename Part::Registers P, dS;
    multiply_scores_transposed<T, Part>(P, Kj, Qi, part_key, part_query, lane);
    if (kind.masked != 0) {
      mask_scores_transposed<Part::kRowPieces, Part::kPartColumns>(P, -kind.masked, kind.masked,
                                                                   lane);
    }
    multiply_scores_transposed<T, Part>(dS, Vj, dOi, part_key, part_query, lane);
    exponentiate_transposed<Part::kRowPieces, Part::kPartColumns>(P, LSE_log2 + part_query,
                                                                  shape.softmax_scale_log2, lane);
    if (Part::is_first(warp)) {
      write_part<T, Part::kRowPieces, Part::kPartColumns>(P_tile, part_key, part_query, P, lane);
    }
    softmax_gradient_transposed<Part::kRowPieces, Part::kPartColumns>(
        dS, P, LSE_log2 + Br + part_query, lane);
    if (Part::is_first(warp)) {
      write_part<T, Part::kRowPieces, Part::kPartColumns>(dS_tile, part_key, part_query, dS, lane);
    }
    __syncthreads();
    accumulate_key_gradient<T, kWarps, Br, Bc, d>(dV, P_tile, dOi);
    accumulate_key_gradient<T, kWarps, Br, Bc, d>(dK, dS_tile, Qi);
    add_query_gradient<T, kWarps, kColumns, Visits::all, Br, Bc, d>(
        parameters, Index{head} * dQ_accum_row_pieces(shape.N), visited[n], dS_tile, Kj);
  }
  using Gradient = WarpParts<Bc, d, kWarps>;
  keep(__float_as_uint(sum_of<Gradient::kRowPieces, Gradient::kPartColumns>(dK) +
                       sum_of<Gradient::kRowPieces, Gradient::kPartColumns>(dV)),
       times);
  stopwatch.stop();
}

/// flash1_backward: the inner loop of a block, in the pass of one column tile.
template <typename T, int d, int Br, int Bc, int kWarps, device::Columns kColumns,
          typename Trace = device::NoTrace, ScoreFeatures kFeatures = ScoreFeatures{}>
__global__ void __launch_bounds__(kWarps * 32, 1)
    flash1_backward(const Flash1BackwardParameters parameters, const StepKind kind,
                    BlockTime* __restrict__ times) {
  using namespace device;
  using Shared = Flash1BackwardShared<Br, Bc, d>;
  using Scores = WarpParts<Bc, Br, kWarps>;
  using TileKV = SharedTile<Bc, d>;
  using TileS = SharedTile<Bc, Br>;
  constexpr int kThreads = kWarps * 32;
  extern __shared__ __align__(1024) unsigned char shared[];
  const uint32_t base = shared_address(shared);
  float* const log_sum_log2 = reinterpret_cast<float*>(shared + Shared::statistics);
  float* const D = log_sum_log2 + Br;
  const ForwardShape& shape = parameters.shared.shape;
  const TileKV Kj{base + Shared::K}, Vj{base + Shared::V};
  const TileS P_tile{base + Shared::P}, dS_tile{base + Shared::dS};
  Flash1RowTiles<T, kThreads, kColumns, Br, Bc, d> row_tiles(parameters, 0, block_index(), base);
  NoTrace trace(parameters, 0);
  const auto K = rows_of_head<const T>(parameters.shared.K, 0, 0);
  const auto V = rows_of_head<const T>(parameters.shared.V, 0, 0);
  load_tile_async<kThreads, kColumns>(Kj, K.row(0), K.stride_row, Bc, thread_index(), shape.d);
  load_tile_async<kThreads, kColumns>(Vj, V.row(0), V.stride_row, Bc, thread_index(), shape.d);
  typename WarpParts<Bc, d, kWarps>::Registers dK{}, dV{};
  const int Tr = shape.N / Br;
  const auto next = [Tr](int i) { return i + 1 == Tr ? 0 : i + 1; };
  row_tiles.load(0, 0, trace);
  wait_copies<0>();

  const Stopwatch stopwatch(times);
#pragma unroll 1
  for (int n = 0, i = 0; n < kind.count; ++n, i = next(i)) {
    wait_copies<0>();
    row_tiles.write_log_sums(log_sum_log2);
    __syncthreads();
    if (n + 1 < kind.count) row_tiles.load(next(i), n + 1, trace);
    const auto [Qi, Oi, dOi, dQi] = row_tiles[n];
    const int lane = thread_index() % 32;
    const int warp = thread_index() / 32;
    const int part_key = Scores::first_row(warp);
    const int part_query = Scores::first_column(warp);
    row_dots<T, kThreads>(D, Oi, dOi);
    typename Scores::Registers P, dS;
    multiply_scores_transposed<T, Scores>(P, Kj, Qi, part_key, part_query, lane);
    if (kind.masked != 0) {
      mask_scores_transposed<Scores::kRowPieces, Scores::kPartColumns>(P, -kind.masked, kind.masked,
                                                                       lane);
    }
    exponentiate_transposed<Scores::kRowPieces, Scores::kPartColumns>(
        P, log_sum_log2 + part_query, shape.softmax_scale_log2, lane);
    write_part<T, Scores::kRowPieces, Scores::kPartColumns>(P_tile, part_key, part_query, P, lane);
    multiply_scores_transposed<T, Scores>(dS, Vj, dOi, part_key, part_query, lane);
    __syncthreads();
    softmax_gradient_transposed<Scores::kRowPieces, Scores::kPartColumns>(dS, P, D + part_query,
                                                                          lane);
    write_part<T, Scores::kRowPieces, Scores::kPartColumns>(dS_tile, part_key, part_query, dS,
                                                            lane);
    __syncthreads();
    accumulate_key_gradient<T, kWarps, Br, Bc, d>(dV, P_tile, dOi);
    add_query_gradient_shared<T, kWarps, Br, Bc, d>(dQi, dS_tile, Kj, shape.softmax_scale);
    __syncthreads();
    row_tiles.store_dQ(i, n, trace);
    accumulate_key_gradient<T, kWarps, Br, Bc, d>(dK, dS_tile, Qi);
  }
  using Gradient = WarpParts<Bc, d, kWarps>;
  keep(__float_as_uint(sum_of<Gradient::kRowPieces, Gradient::kPartColumns>(dK) +
                       sum_of<Gradient::kRowPieces, Gradient::kPartColumns>(dV)),
       times);
  stopwatch.stop();
}

/// flash2_backward_fp32: a block's loop over the row tiles.
template <int d, int Br, int Bc, typename Trace = device::NoTrace>
__global__ void __launch_bounds__(4 * Br, 1)
    flash2_backward_fp32(const BackwardParameters parameters, const StepKind kind,
                         BlockTime* __restrict__ times) {
  using namespace device;
  using TileQ = FloatTile<Br, d>;
  using TileKV = FloatTile<Bc, d>;
  constexpr int kThreads = 4 * Br;
  extern __shared__ __align__(1024) float shared_floats[];
  const TileKV Kj{shared_floats};
  const TileKV Vj{Kj.data + TileKV::kFloats};
  const TileQ Qi{Vj.data + TileKV::kFloats};
  const TileQ dOi{Qi.data + TileQ::kFloats};
  float* const P_dS = dOi.data + TileQ::kFloats;
  const ForwardShape& shape = parameters.shape;
  const int thread = thread_index();
  const int x = thread % kLanesPerRow;
  const int first = thread / kLanesPerRow * kRowsPerLane;
  const int head = column_tile_of_block<Bc>(shape).head;
  const auto Q = rows_of_head<const float>(parameters.Q, 0, head);
  const auto K = rows_of_head<const float>(parameters.K, 0, head);
  const auto V = rows_of_head<const float>(parameters.V, 0, head);
  const auto dO = rows_of_head<const float>(parameters.dO, 0, head);
  load_tile_async<kThreads, Columns::first>(Kj.layout(), K.row(0), K.stride_row, Bc, thread,
                                            shape.d);
  load_tile_async<kThreads, Columns::first>(Vj.layout(), V.row(0), V.stride_row, Bc, thread,
                                            shape.d);
  commit_copies();
  wait_copies<0>();
  LanePiece<d> dK{}, dV{};
  const Stopwatch stopwatch(times);
#pragma unroll 1
  for (int i = 0; i < kind.count; ++i) {
    const Index first_query = Index{i} * Br;
    const int rows = min(Br, shape.N - i * Br);
    __syncthreads();
    load_tile_async<kThreads, Columns::first>(Qi.layout(), Q.row(first_query), Q.stride_row, rows,
                                              thread, shape.d);
    load_tile_async<kThreads, Columns::first>(dOi.layout(), dO.row(first_query), dO.stride_row,
                                              rows, thread, shape.d);
    commit_copies();
    float LSE[kRowsPerLane], D[kRowsPerLane];
    load_statistic(LSE, parameters.LSE, i * Br + first, shape.N, kMinusInfinity, x);
    load_statistic(D, parameters.D, i * Br + first, shape.N, 0.0f, x);
    wait_copies<0>();
    __syncthreads();
    LanePiece<Bc> P;
    multiply_scores(P, Qi, Kj, first, x);
    if (kind.masked != 0) mask_scores<Bc>(P, kind.masked, kind.masked, x);
    exponentiate<Bc>(P, LSE, shape.softmax_scale);
    write_rows<Bc>(P_dS + first * padded<Bc>, P, x);
    __syncthreads();
    accumulate_columns<Br, Bc, columns_at_a_time<d>>(dV, P_dS, dOi, first, x);
    LanePiece<Bc> dS;
    multiply_scores(dS, dOi, Vj, first, x);
    softmax_gradient<Bc>(dS, P, D);
    __syncthreads();
    write_rows<Bc>(P_dS + first * padded<Bc>, dS, x);
    __syncthreads();
    add_query_gradient_fp32<d, Br, Bc>(parameters, i, P_dS + first * padded<Bc>, Kj, first, x);
    accumulate_columns<Br, Bc, columns_at_a_time<d>>(dK, P_dS, Qi, first, x);
  }
  float sum = 0.0f;
#pragma unroll
  for (int r = 0; r < kRowsPerLane; ++r) {
#pragma unroll
    for (int c = 0; c < d / kLanesPerRow; ++c) sum += dK[r][c] + dV[r][c];
  }
  keep(__float_as_uint(sum), times);
  stopwatch.stop();
}

}  // namespace attnscope::kernels::steps
