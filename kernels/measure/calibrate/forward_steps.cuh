/// Isolated steps of the forward kernels: a thread block's work on one pair of tiles, repeated, on
/// tensors in L2. A step calls the functions of kernels/device in the kernel's order, without the
/// first loads and the last stores.
#pragma once

#include "kernels/device/cuda_core_tiles.cuh"
#include "kernels/device/visited_tiles.cuh"
#include "kernels/flash1/flash1_forward.cuh"
#include "kernels/flash2/flash2_forward_shared.cuh"
#include "kernels/forward_parameters.cuh"
#include "kernels/measure/calibrate/step_values.cuh"
#include "kernels/split_kv/split_kv_shared.cuh"

namespace attnscope::kernels::steps {

/// Column tiles that the blocks of flash2_forward take in turn: few enough that the maxima soon
/// stop changing.
inline constexpr int kRing = 4;

/// flash2_forward, also for block_sparse2: a block's loop over the column tiles.
template <typename T, int d, int Br, int Bc, int kWarps, device::Columns kColumns,
          device::Visits kVisits = device::Visits::all, typename Trace = device::NoTrace,
          ScoreFeatures kFeatures = ScoreFeatures{}>
__global__ void __launch_bounds__(kWarps * 32, kWarps <= 4 ? 2 : 1)
    flash2_forward(const ForwardParameters parameters, const StepKind kind,
                   BlockTime* __restrict__ times) {
  using namespace device;
  using TileQ = SharedTile<Br, d>;
  using TileKV = SharedTile<Bc, d>;
  constexpr int kThreads = kWarps * 32;
  constexpr int kRowPieces = Br / kWarps / kFragmentRows;
  extern __shared__ __align__(1024) unsigned char shared[];
  const ForwardShape& shape = parameters.shape;
  const int head = block_index() % shape.heads;
  const int lane = thread_index() % 32;
  const int warp_row = thread_index() / 32 * kRowPieces * kFragmentRows;
  const auto Q = rows_of_head<const T>(parameters.Q, 0, head);
  const auto K = rows_of_head<const T>(parameters.K, 0, head);
  const auto V = rows_of_head<const T>(parameters.V, 0, head);
  const uint32_t Qi_address = shared_address(shared);
  const uint32_t Kj_address = Qi_address + TileQ::kBytes;
  const uint32_t Vj_address = Kj_address + 2 * TileKV::kBytes;
  const T* Kj_source = K.row(0);
  const T* Vj_source = V.row(0);
  const auto load_column_tile = [&](int j) {
    const int keys = min(Bc, shape.N_kv - j % kRing * Bc);
    const uint32_t stage = j % 2 * TileKV::kBytes;
    load_tile_async<kThreads, kColumns>(TileKV{Kj_address + stage}, Kj_source, K.stride_row, keys,
                                        thread_index(), shape.d);
    load_tile_async<kThreads, kColumns>(TileKV{Vj_address + stage}, Vj_source, V.stride_row, keys,
                                        thread_index(), shape.d);
    commit_copies();
    const Index step = j % kRing + 1 < kRing ? Bc : (1 - kRing) * Bc;
    Kj_source += step * K.stride_row;
    Vj_source += step * V.stride_row;
  };
  load_tile_async<kThreads, kColumns>(TileQ{Qi_address}, Q.row(0), Q.stride_row, Br, thread_index(),
                                      shape.d);
  load_column_tile(0);
  wait_copies<0>();

  Accumulator<kRowPieces, d> O{};
  RowStatistic<kRowPieces> m, l, alpha;
#pragma unroll
  for (int row = 0; row < 2 * kRowPieces; ++row) {
    m[row] = kMinusInfinity;
    l[row] = 0.0f;
  }
  const uint32_t Q_lane = TileQ{Qi_address}.lane_address_rows(lane) + warp_row * TileQ::kRowBytes;
  const uint32_t K_lane = TileKV{Kj_address}.lane_address_columns(lane);
  const uint32_t V_lane = TileKV{Vj_address}.lane_address_rows(lane);
  const Stopwatch stopwatch(times);
#pragma unroll 1
  for (int j = 0; j < kind.count; ++j) {
    wait_copies<0>();
    __syncthreads();  // like the kernel's barrier A
    if (j + 1 < kind.count) load_column_tile(j + 1);
    Accumulator<kRowPieces, Bc> S;
    const uint32_t stage = j % 2 * TileKV::kBytes;
    multiply_scores<T, kRowPieces, Bc, d>(S, Q_lane, K_lane + stage);
    if (kind.masked != 0) mask_scores<kRowPieces, Bc>(S, kind.masked, kind.masked, lane);
    const bool moved = update_max<kRowPieces, Bc>(m, alpha, S, shape.softmax_scale_log2);
    if (moved || kind.rescaled != 0) {
#pragma unroll
      for (int row = 0; row < 2 * kRowPieces; ++row) l[row] *= alpha[row];
      rescale<kRowPieces, d>(O, alpha);
    }
    exponentiate<kRowPieces, Bc>(S, l, m, shape.softmax_scale_log2);
    accumulate_output<T, kRowPieces, Bc, d>(O, S, V_lane + stage);
  }
  float sum = sum_of<kRowPieces, d>(O);
#pragma unroll
  for (int row = 0; row < 2 * kRowPieces; ++row) sum += l[row];
  keep(__float_as_uint(sum), times);
  stopwatch.stop();
}

/// split_kv_partial: a block's loop over the column tiles of its split, with the warps sharing the
/// keys of each tile.
template <typename T, int d, int Bc, int kWarps, int kStages,
          device::Columns kColumns = device::Columns::all, typename Trace = device::NoTrace,
          ScoreFeatures kFeatures = ScoreFeatures{}>
__global__ void __launch_bounds__(kWarps * 32)
    split_kv_partial(const ForwardParameters parameters, const StepKind kind,
                     BlockTime* __restrict__ times) {
  using namespace device;
  using TileQ = SharedTile<kSplitRows, d>;
  using TileKV = SharedTile<Bc, d>;
  constexpr int kThreads = kWarps * 32;
  constexpr int kWarpKeys = Bc / kWarps;
  extern __shared__ __align__(1024) unsigned char shared[];
  const ForwardShape& shape = parameters.shape;
  const int head = block_index() % shape.heads;
  const int lane = thread_index() % 32;
  const int warp_keys = thread_index() / 32 * kWarpKeys * TileKV::kRowBytes;
  const auto Q = rows_of_head<const T>(parameters.Q, 0, head);
  const auto K = rows_of_head<const T>(parameters.K, 0, head);
  const auto V = rows_of_head<const T>(parameters.V, 0, head);
  const uint32_t Qi_address = shared_address(shared);
  const auto Kj_of = [&](int j) {
    return TileKV{Qi_address + TileQ::kBytes + j % kStages * 2 * TileKV::kBytes};
  };
  const auto Vj_of = [&](int j) { return TileKV{Kj_of(j).address + TileKV::kBytes}; };
  const auto load_column_tile = [&](int j) {
    if (j < kind.count) {
      const Index first = Index{j % kRing} * Bc;
      load_tile_async<kThreads, kColumns>(Kj_of(j), K.row(first), K.stride_row, Bc, thread_index(),
                                          shape.d);
      load_tile_async<kThreads, kColumns>(Vj_of(j), V.row(first), V.stride_row, Bc, thread_index(),
                                          shape.d);
    }
    commit_copies();
  };
  load_tile_async<kThreads, kColumns>(TileQ{Qi_address}, Q.row(0), Q.stride_row, kSplitRows,
                                      thread_index(), shape.d);
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) load_column_tile(stage);
  wait_copies<0>();

  Accumulator<1, d> O{};
  RowStatistic<1> m{kMinusInfinity, kMinusInfinity}, l{0.0f, 0.0f}, alpha;
  const uint32_t Q_lane = TileQ{Qi_address}.lane_address_rows(lane);
  const Stopwatch stopwatch(times);
#pragma unroll 1
  for (int j = 0; j < kind.count; ++j) {
    wait_copies<kStages - 2>();
    __syncthreads();  // like the kernel's barrier A
    load_column_tile(j + kStages - 1);
    Accumulator<1, kWarpKeys> S;
    multiply_scores<T, 1, kWarpKeys, d>(S, Q_lane, Kj_of(j).lane_address_columns(lane) + warp_keys);
    if (kind.masked != 0) mask_scores<1, kWarpKeys>(S, kind.masked, kind.masked, lane);
    const bool moved = update_max<1, kWarpKeys>(m, alpha, S, shape.softmax_scale_log2);
    if (moved || kind.rescaled != 0) {
#pragma unroll
      for (int half = 0; half < 2; ++half) l[half] *= alpha[half];
      rescale<1, d>(O, alpha);
    }
    exponentiate<1, kWarpKeys>(S, l, m, shape.softmax_scale_log2);
    accumulate_output<T, 1, kWarpKeys, d>(O, S, Vj_of(j).lane_address_rows(lane) + warp_keys);
  }
  keep(__float_as_uint(sum_of<1, d>(O) + l[0] + l[1]), times);
  stopwatch.stop();
}

/// flash1_forward: the inner loop of a block, in the pass of one column tile. It cycles through the
/// head's row tiles, so that they remain in L2.
template <typename T, typename Carried, int d, int Br, int Bc, int kStages,
          device::Columns kColumns, typename Trace = device::NoTrace,
          ScoreFeatures kFeatures = ScoreFeatures{}>
__global__ void __launch_bounds__(Br / 16 * 32, 1)
    flash1_forward(const Flash1Parameters parameters, const StepKind kind,
                   BlockTime* __restrict__ times) {
  using namespace device;
  using Shared = Flash1Shared<Carried, Br, Bc, d, kStages>;
  using TileKV = SharedTile<Bc, d>;
  constexpr int kThreads = Br / 16 * 32;
  extern __shared__ __align__(1024) unsigned char shared[];
  const ForwardShape& shape = parameters.shape;
  const int head = block_index();
  const auto lane = [] { return thread_index() % 32; };  // registers are scarce in the loop
  const auto K = rows_of_head<const T>(parameters.K, 0, 0);
  const auto V = rows_of_head<const T>(parameters.V, 0, 0);
  float* const m_head = parameters.m + Index{head} * shape.N;
  float* const l_head = parameters.l + Index{head} * shape.N;
  const TileKV Kj{shared_address(shared)};
  const TileKV Vj{Kj.address + Shared::kColumnTileBytes};
  const Flash1WarpRows<Shared, T, Carried, kColumns, Br> warp_rows(
      parameters, 0, head, thread_index() / 32, Vj.address + Shared::kColumnTileBytes);
  NoTrace trace(parameters, 0);
  const int Tr = shape.N / Br;
  const auto next = [Tr](int i) { return i + 1 == Tr ? 0 : i + 1; };
  load_tile_async<kThreads, kColumns>(Kj, K.row(0), K.stride_row, Bc, thread_index(), shape.d);
  load_tile_async<kThreads, kColumns>(Vj, V.row(0), V.stride_row, Bc, thread_index(), shape.d);
  commit_copies();
  warp_rows.load_Q(0, 0, kind.count, trace);
  warp_rows.load_O(0, 0, kind.count, trace);
  wait_copies<0>();

  const Stopwatch stopwatch(times);
#pragma unroll 1
  for (int n = 0, i = 0; n < kind.count; ++n, i = next(i)) {
    const int first_row = warp_rows.first_row(i);
    RowStatistic<1> m, l, alpha;
    load_statistic(m, m_head, first_row, shape.N, kMinusInfinity, lane());
    load_statistic(l, l_head, first_row, shape.N, 0.0f, lane());
    __syncwarp();
    if constexpr (Shared::kStagesQ == 2) warp_rows.load_Q(next(i), n + 1, kind.count, trace);
    if constexpr (Shared::kStagesO == 2) warp_rows.load_O(next(i), n + 1, kind.count, trace);
    constexpr int kAhead = Shared::kStagesQ + Shared::kStagesO - 2;
    wait_copies<kAhead + 1>();
    __syncwarp();
    Accumulator<1, Bc> S;
    multiply_scores<T, 1, Bc, d>(S, warp_rows.Qi(n).lane_address_rows(lane()),
                                 Kj.lane_address_columns(lane()));
    if (kind.masked != 0) mask_scores<1, Bc>(S, kind.masked, kind.masked, lane());
    update_max<1, Bc>(m, alpha, S, shape.softmax_scale_log2);
    RowStatistic<1> sum{}, weight, inverse_l;
    exponentiate<1, Bc>(S, sum, m, shape.softmax_scale_log2);
    merge_row_sums(l, weight, inverse_l, alpha, sum, 1.0f);
    RoundedScores<Bc> P;
    round_scores<T, Bc>(P, S);
    wait_copies<kAhead>();
    __syncwarp();
    Accumulator<1, d> Oi;
    read_carried<Carried, d>(Oi, warp_rows.Oi(n), lane());
    rescale<1, d>(Oi, weight);
    accumulate_output<T, Bc, d>(Oi, P, Vj.lane_address_rows(lane()));
    rescale<1, d>(Oi, inverse_l);
    write_carried<Carried, d>(warp_rows.Oi(n), Oi, lane());
    __syncwarp();
    warp_rows.store_O(i, n, trace);
    store_statistic(l_head, l, first_row, shape.N, lane());
    store_statistic(m_head, m, first_row, shape.N, lane());
    if constexpr (Shared::kStagesO == 1) {
      __syncwarp();
      if constexpr (Shared::kStagesQ == 1) warp_rows.load_Q(next(i), n + 1, kind.count, trace);
      warp_rows.load_O(next(i), n + 1, kind.count, trace);
    }
  }
  stopwatch.stop();
}

/// flash2_forward_fp32: a block's loop over the column tiles.
template <int d, int Br, int Bc, typename Trace = device::NoTrace>
__global__ void __launch_bounds__(4 * Br, 1)
    flash2_forward_fp32(const ForwardParameters parameters, const StepKind kind,
                        BlockTime* __restrict__ times) {
  using namespace device;
  using TileQ = FloatTile<Br, d>;
  using TileKV = FloatTile<Bc, d>;
  constexpr int kThreads = 4 * Br;
  extern __shared__ __align__(1024) float shared_floats[];
  const TileQ Qi{shared_floats};
  const TileKV Kj{Qi.data + TileQ::kFloats};
  const TileKV Vj{Kj.data + TileKV::kFloats};
  float* const P = Vj.data + TileKV::kFloats;
  const ForwardShape& shape = parameters.shape;
  const int head = block_index() % shape.heads;
  const int thread = thread_index();
  const int x = thread % kLanesPerRow;
  const int first_row = thread / kLanesPerRow * kRowsPerLane;
  const auto Q = rows_of_head<const float>(parameters.Q, 0, head);
  const auto K = rows_of_head<const float>(parameters.K, 0, head);
  const auto V = rows_of_head<const float>(parameters.V, 0, head);
  load_tile_async<kThreads, Columns::first>(Qi.layout(), Q.row(0), Q.stride_row, Br, thread,
                                            shape.d);
  commit_copies();
  wait_copies<0>();
  LanePiece<d> O{};
  float m[kRowsPerLane], l[kRowsPerLane];
#pragma unroll
  for (int r = 0; r < kRowsPerLane; ++r) {
    m[r] = kMinusInfinity;
    l[r] = 0.0f;
  }
  const Stopwatch stopwatch(times);
#pragma unroll 1
  for (int j = 0; j < kind.count; ++j) {
    const int keys = min(Bc, shape.N_kv - j * Bc);
    __syncthreads();
    load_tile_async<kThreads, Columns::first>(Kj.layout(), K.row(Index{j} * Bc), K.stride_row, keys,
                                              thread, shape.d);
    load_tile_async<kThreads, Columns::first>(Vj.layout(), V.row(Index{j} * Bc), V.stride_row, keys,
                                              thread, shape.d);
    commit_copies();
    wait_copies<0>();
    __syncthreads();
    LanePiece<Bc> S;
    multiply_scores(S, Qi, Kj, first_row, x);
    if (kind.masked != 0) mask_scores<Bc>(S, kind.masked, kind.masked, x);
#pragma unroll
    for (int r = 0; r < kRowsPerLane; ++r) {
      float alpha;
      const float sum = fold_row<Bc>(S[r], m[r], alpha, shape.softmax_scale_log2);
      l[r] = alpha * l[r] + sum;
#pragma unroll
      for (int c = 0; c < d / kLanesPerRow; ++c) O[r][c] *= alpha;
    }
    accumulate_output<Bc, d>(O, S, P + first_row * padded<Bc>, Vj, x);
  }
  float sum = l[0] + l[1] + l[2] + l[3];
#pragma unroll
  for (int r = 0; r < kRowsPerLane; ++r) {
#pragma unroll
    for (int c = 0; c < d / kLanesPerRow; ++c) sum += O[r][c];
  }
  keep(__float_as_uint(sum), times);
  stopwatch.stop();
}

}  // namespace attnscope::kernels::steps
