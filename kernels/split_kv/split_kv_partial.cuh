/// Split-KV decoding, the launch "partial": FlashAttention-2's sweep over a part of the keys.
/// It follows the schedule sim/schedule/split_kv.cpp.
///
/// Changed from flash2: with only one or a few queries, row tiles alone give few thread blocks. The
/// column tiles are divided into splits of equal length, and a block owns row tile i and split s of
/// one query head. It stores the normalised O and the LSE of its keys, in fp32, for the launch
/// "combine".
///
/// Memory limits the speed here, not arithmetic: K and V are read once, by many blocks, several
/// tiles ahead. The row tile has the fewest rows that the tensor cores accept, 16, and the warps
/// share each column tile instead ("sliced-K"): each keeps its own m, l and O, which are merged
/// through shared memory at the end.
///
/// split_scores.cuh handles the problem's score features and determines which keys a row sees.
///
/// d is the width of the tiles; columns beyond the problem's d (Columns::first) are zero on chip
/// and are never transferred.
///
/// Requested from memory by one block, valid rows only (padding keys are not read, so their
/// contents do not matter): Qi once; Kj and Vj of the split's column tiles that row tile i sees; O
/// and LSE of the split in fp32, written once.
#pragma once

#include "kernels/device/launch_order.cuh"
#include "kernels/device/online_softmax.cuh"
#include "kernels/device/place.cuh"
#include "kernels/device/trace.cuh"
#include "kernels/split_kv/split_kv_parameters.cuh"
#include "kernels/split_kv/split_kv_shared.cuh"
#include "kernels/split_kv/split_scores.cuh"

namespace attnscope::kernels {

/// Where a row's part of one split is stored: [B, H, N, splits] rows of O_split and LSE_split.
__device__ inline Index split_row(const SplitKvParameters& parameters, Index head_row, int split) {
  return head_row * parameters.splits + split;
}

/// Like load_tile_async, for a tile with fewer chunks than a block has threads.
template <int kThreads, device::Columns kColumns, int d, typename T>
__device__ inline void load_query_tile(const device::SharedTile<kSplitRows, d>& Qi, const T* source,
                                       Index stride_row, int valid_rows, int thread, int columns) {
  using namespace device;
  if (kColumns == Columns::first && columns % 8 != 0) {
    load_tile_of_elements<kThreads>(Qi, source, stride_row, valid_rows, thread, columns);
    return;
  }
  for (int n = thread; n < kSplitRows * Qi.kChunks; n += kThreads) {
    const int row = n / Qi.kChunks;
    const int chunk = n % Qi.kChunks;
    const bool exists = kColumns == Columns::all || chunk * 8 < columns;
    copy_async_16(Qi.chunk_address(row, chunk), source + row * stride_row + chunk * 8,
                  row < valid_rows && exists);
  }
}

/// Writes a warp's m, l and O where the merge reads them. `l` is each thread's part of the sums.
template <int d>
__device__ inline void leave_warp_output(float* O_warp, device::Accumulator<1, d>& O,
                                         const device::RowStatistic<1>& m,
                                         device::RowStatistic<1>& l, int lane) {
  using namespace device;
  float* const m_warp = O_warp + kSplitRows * d;
  float* const l_warp = m_warp + kSplitRows;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = half * 8 + lane / 4;
    l[half] = quad_sum(l[half]);
    if (lane % 4 == 0) {
      m_warp[row] = m[half];
      l_warp[row] = l[half];
    }
#pragma unroll
    for (int n = 0; n < d / 8; ++n) {
      *reinterpret_cast<float2*>(O_warp + row * d + n * 8 + lane % 4 * 2) =
          float2{O[0][n][2 * half], O[0][n][2 * half + 1]};
    }
  }
}

/// Stores O and LSE of the split, merged from the warps': four neighbouring elements per thread.
template <int d, int kWarps, device::Columns kColumns>
__device__ inline void store_merged(const SplitKvParameters& parameters, const float* outputs,
                                    Index head_row, int rows, int split) {
  using namespace device;
  constexpr int kWarpFloats = split_kv_warp_floats(d);
  const float scale_log2 = parameters.shape.softmax_scale_log2;
  const int columns = kColumns == Columns::all ? d : split_columns(parameters.shape.d);
  for (int n = thread_index(); n < rows * d / 4; n += kWarps * 32) {
    const int row = n / (d / 4);
    const int column = n % (d / 4) * 4;
    if (kColumns == Columns::first && column >= columns) continue;
    float m = kMinusInfinity;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) m = fmaxf(m, outputs[w * kWarpFloats + kSplitRows * d + row]);
    float l = 0.0f;
    float4 O{0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      const float* const warp = outputs + w * kWarpFloats;
      const float m_warp = warp[kSplitRows * d + row];
      const float beta = m_warp == kMinusInfinity ? 0.0f : rescaling_factor(m_warp, m, scale_log2);
      const float4 part = *reinterpret_cast<const float4*>(warp + row * d + column);
      l = fmaf(beta, warp[kSplitRows * (d + 1) + row], l);
      O = {fmaf(beta, part.x, O.x), fmaf(beta, part.y, O.y), fmaf(beta, part.z, O.z),
           fmaf(beta, part.w, O.w)};
    }
    const float inverse_l = l == 0.0f ? 0.0f : 1.0f / l;  // a row without keys has O = 0 @normalize
    const Index out = split_row(parameters, head_row + row, split);
    __stcg(reinterpret_cast<float4*>(parameters.O_split + out * columns + column),
           float4{O.x * inverse_l, O.y * inverse_l, O.z * inverse_l, O.w * inverse_l});
    if (column == 0) {
      // @log_sum_exp
      __stcg(parameters.LSE_split + out, log_sum_exp(m, l, parameters.shape.softmax_scale));
    }
  }
}

template <typename T, int d, int Bc, int kWarps, int kStages,
          device::Columns kColumns = device::Columns::all, typename Trace = device::NoTrace,
          ScoreFeatures kFeatures = ScoreFeatures{}>
__global__ void __launch_bounds__(kWarps * 32)
    split_kv_partial(const typename Trace::template Parameters<SplitKvParameters> parameters) {
  using namespace device;
  using TileQ = SharedTile<kSplitRows, d>;
  using TileKV = SharedTile<Bc, d>;
  constexpr int kThreads = kWarps * 32;
  constexpr int kWarpKeys = Bc / kWarps;
  constexpr Index kSharedBytes = split_kv_shared_bytes(d, {kSplitRows, Bc});
  static_assert(kWarpKeys % 16 == 0 && kWarps * split_kv_warp_floats(d) * 4 <= kSharedBytes);
  extern __shared__ __align__(1024) unsigned char shared[];

  // Row tile i and split s of one query head; splits are neighbours in the grid
  const ForwardShape& shape = parameters.shape;
  const int Tr = (shape.N + kSplitRows - 1) / kSplitRows;
  const int split = block_index() % parameters.splits;
  const int i = block_index() / parameters.splits % Tr;
  const int head_index = block_index() / parameters.splits / Tr;
  const int head = head_index % shape.heads;
  const int batch = head_index / shape.heads;
  const int kv_head = head / shape.heads_per_kv_head;
  const int rows = min(kSplitRows, shape.N - i * kSplitRows);
  const auto Q = rows_of_head<const T>(parameters.Q, batch, head);
  const auto K = rows_of_head<const T>(parameters.K, batch, kv_head);
  const auto V = rows_of_head<const T>(parameters.V, batch, kv_head);

  // Its column tiles [begin, end), of those that row tile i sees
  const int Tc = (shape.N_kv + Bc - 1) / Bc;
  const int tiles_of_split = (Tc + parameters.splits - 1) / parameters.splits;
  const SplitScores<kFeatures, Bc, kWarpKeys> scores(parameters, i, rows, head, batch,
                                                     shared + kSharedBytes);
  const int first_of_split = split * tiles_of_split;
  const int begin = scores.first_tile(first_of_split);
  const int end = min(scores.past_last_tile(), first_of_split + tiles_of_split);

  const int thread = thread_index();
  const int lane = thread % 32;
  const int warp = thread / 32;
  Trace trace(parameters, i * parameters.splits + split);
  const uint32_t Qi_address = shared_address(shared);
  const uint32_t stages_address = Qi_address + TileQ::kBytes;
  const auto Kj_of = [&](int j) {
    return TileKV{stages_address + j % kStages * 2 * TileKV::kBytes};
  };
  const auto Vj_of = [&](int j) { return TileKV{Kj_of(j).address + TileKV::kBytes}; };
  const auto load_column_tile = [&](int j) {  // an empty group if there is none
    if (j < end) {
      const int keys = min(Bc, scores.keys() - j * Bc);
      // @load_column_tile
      load_tile_async<kThreads, kColumns>(Kj_of(j), K.row(Index{j} * Bc), K.stride_row, keys,
                                          thread, shape.d);
      trace.did(TraceStep::load_Kj, 0, j);
      load_tile_async<kThreads, kColumns>(Vj_of(j), V.row(Index{j} * Bc), V.stride_row, keys,
                                          thread, shape.d);
      trace.did(TraceStep::load_Vj, 0, j);
    }
    commit_copies();
  };

  // load Qi; load the first Kj, Vj @load_row_tile
  let_next_launch_start();
  load_query_tile<kThreads, kColumns>(TileQ{Qi_address}, Q.row(Index{i} * kSplitRows), Q.stride_row,
                                      rows, thread, shape.d);
  trace.did(TraceStep::load_Qi, i, 0);
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) load_column_tile(begin + stage);

  // O = 0, m = -inf, l = 0, separately in each warp @start
  Accumulator<1, d> O{};
  RowStatistic<1> m{kMinusInfinity, kMinusInfinity}, l{0.0f, 0.0f}, alpha;
  const uint32_t Q_lane = TileQ{Qi_address}.lane_address_rows(lane);

  for (int j = begin; j < end; ++j) {
    // Barrier A: every thread's copies of tile j (and Qi) have arrived in shared memory, and every
    // warp is done with tile j - 1, whose stage is loaded next.
    wait_copies<kStages - 2>();
    __syncthreads();
    trace.did(TraceStep::wait, i, j);
    load_column_tile(j + kStages - 1);

    // @scores
    // S = Qi Kj^T for the warp's keys, masked where the mask's edge or the last key cuts the tile
    Accumulator<1, kWarpKeys> S;
    const int first_key = j * Bc + warp * kWarpKeys;
    multiply_scores<T, 1, kWarpKeys, d>(
        S, Q_lane, Kj_of(j).lane_address_columns(lane) + warp * kWarpKeys * TileKV::kRowBytes);
    trace.did(TraceStep::scores, i, j);
    // @soft_cap @alibi @mask
    if (scores.shape_scores(S, j, first_key, lane)) trace.did(TraceStep::mask, i, j);

    // m, alpha; P = exp(S - m); l = alpha l + rowsum(P); O = diag(alpha) O + P Vj
    // @update_max
    const bool moved = update_max<1, kWarpKeys>(m, alpha, S, shape.softmax_scale_log2);
    trace.did(TraceStep::update_max, i, j);
    if (moved || knob::kRescaleAlways) {
#pragma unroll
      for (int half = 0; half < 2; ++half) l[half] *= alpha[half];  // @update_sum
      rescale<1, d>(O, alpha);
    }
    trace.did(TraceStep::rescale, i, j, moved || knob::kRescaleAlways);
    exponentiate<1, kWarpKeys>(S, l, m, shape.softmax_scale_log2);  // @exponentiate
    trace.did(TraceStep::exponentiate, i, j);
    accumulate_output<T, 1, kWarpKeys, d>(  // @update_output
        O, S, Vj_of(j).lane_address_rows(lane) + warp * kWarpKeys * TileKV::kRowBytes);
    trace.rows(
        i * kSplitRows, j, m, alpha, [&l](int row) { return quad_sum(l[row]); }, warp);
    trace.did(TraceStep::accumulate, i, j);
  }

  // Merge the warps; store O, LSE of the split @store_output
  wait_copies<0>();
  __syncthreads();  // Barrier B: no warp reads a tile any more, and no copy is in flight.
  float* const outputs = reinterpret_cast<float*>(shared);
  leave_warp_output<d>(outputs + warp * split_kv_warp_floats(d), O, m, l, lane);
  __syncthreads();  // Barrier C: the outputs of all warps are in shared memory.
  trace.did(TraceStep::wait, i, 0);
  store_merged<d, kWarps, kColumns>(parameters, outputs,
                                    Index{head_index} * shape.N + i * kSplitRows, rows, split);
  trace.did(TraceStep::store_Oi, i, 0);
  trace.did(TraceStep::store_LSEi, i, 0);  // in the same loop, as is the division by l
  trace.did(TraceStep::normalize, i, 0);
  trace.end();
}

}  // namespace attnscope::kernels
