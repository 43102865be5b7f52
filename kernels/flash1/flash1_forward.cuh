/// FlashAttention-1, forward, on the tensor cores (arXiv 2205.14135, Algorithm 1).
/// It follows the schedule sim/schedule/flash1_forward.cpp.
///
/// Changed from standard: S and P exist only as tiles on the chip. A thread block owns one head.
/// The outer loop runs over the column tiles Kj, Vj, each loaded once; the inner loop runs over the
/// row tiles: Oi, mi and li are read from HBM, updated with tile j, and written back. O is
/// therefore read and written once per column tile, and it is kept normalised (line 12).
///
/// The softmax of tile j alone (m~, l~ and beta of lines 10-12) does not appear: P is computed
/// directly with the merged maximum, which gives the same result with one exponential fewer per
/// row.
///
/// One block per head: a GPU with 132 SMs needs 132 heads or more. With fewer (long sequences at a
/// fixed number of tokens), most of the GPU is idle, and standard attention, whose products use the
/// whole GPU, is faster although it moves more bytes. flash2 solves this.
///
/// Requested from memory by one head's block in this launch, valid rows only: Kj, Vj of each column
/// tile that any row sees; for each row tile that sees it, Qi, Oi, mi, li are read and Oi, mi, li
/// are written, the first pass included. Line 2 (O = 0, l = 0, m = -inf) is performed by the launch
/// "initialise" before this one; rows that see no key keep those values.
///
/// On chip: Kj and Vj in shared memory for all warps; each warp's 16 rows of Qi and Oi in its own
/// part of shared memory, each in up to two stages (flash1_forward_stages()), so that they are
/// copied while the previous tile is processed. A warp synchronizes with the others only where Kj
/// and Vj change. Bc = 256 at d = 64 and 128: the wider the column tile, the less often O is read
/// and written.
///
/// flash1_scores.cuh handles the problem's score features and determines which row tiles see a
/// column tile.
///
/// d is the width of the tiles. Where the problem's is smaller (Columns::chunks or first), the
/// columns beyond it are zero on chip and are never transferred.
#pragma once

#include "kernels/device/online_softmax.cuh"
#include "kernels/device/place.cuh"
#include "kernels/device/trace.cuh"
#include "kernels/flash1/carried_state.cuh"
#include "kernels/flash1/flash1_forward_shared.cuh"
#include "kernels/flash1/flash1_parameters.cuh"
#include "kernels/flash1/flash1_scores.cuh"
#include "kernels/flash1/rounded_scores.cuh"

namespace attnscope::kernels {

/// Shared memory of one block: Kj and Vj, then the stages of Q and O of each warp.
template <typename Carried, int Br, int Bc, int d, int kStages>
struct Flash1Shared {
  static constexpr int kColumnTileBytes = Bc * d * 2;
  static constexpr int kStagesQ = static_cast<int>(flash1_stages_of_Q(kStages));
  static constexpr int kStagesO = static_cast<int>(flash1_stages_of_O(kStages));
  static constexpr int kBytes =
      static_cast<int>(flash1_forward_shared_bytes(kStages, d, {Br, Bc}, sizeof(Carried)));
  using TileQ = device::SharedTile<16, d>;  // a warp's
  using TileO = device::CarriedTile<Carried, d>;
};

/// A warp's 16 rows of the row tiles: their stages in shared memory and the copies into them, one
/// group each. The row tile at position n among those that see a column tile goes to stage n; there
/// are none from position `past` on.
template <typename Shared, typename T, typename Carried, device::Columns kColumns, int Br>
class Flash1WarpRows {
  using TileQ = typename Shared::TileQ;
  using TileO = typename Shared::TileO;
  static constexpr int kStageBytesQ = Shared::kStagesQ * TileQ::kBytes;
  static constexpr int kStageBytesO = Shared::kStagesO * TileO::kBytes;

 public:
  /// `stages_address` is the address of the first warp's stages.
  __device__ Flash1WarpRows(const Flash1Parameters& parameters, int batch, int head, int warp,
                            uint32_t stages_address)
      : shape_(parameters.shape),
        Q_(rows_of_head<const T>(parameters.Q, batch, head)),
        O_(rows_of_head<Carried>(parameters.O, batch, head)),
        warp_row_(warp * 16),
        address_(stages_address + warp * (kStageBytesQ + kStageBytesO)) {}

  __device__ TileQ Qi(int n) const { return {address_ + n % Shared::kStagesQ * TileQ::kBytes}; }
  __device__ TileO Oi(int n) const {
    return {address_ + kStageBytesQ + n % Shared::kStagesO * TileO::kBytes};
  }
  /// The first of the warp's rows in row tile i.
  __device__ int first_row(int i) const { return i * Br + warp_row_; }

  template <typename Trace>
  __device__ void load_Q(int i, int n, int past, Trace& trace) const {
    const int first = first_row(i);
    if (n < past) {
      device::load_tile_async<32, kColumns>(Qi(n), Q_.row(first), Q_.stride_row,
                                            min(16, shape_.N - first), lane(), shape_.d);
      trace.did(TraceStep::load_Qi, i, 0);
    }
    device::commit_copies();
  }
  template <typename Trace>
  __device__ void load_O(int i, int n, int past, Trace& trace) const {
    const int first = first_row(i);
    if (n < past) {
      device::load_carried<kColumns>(Oi(n), O_.row(first), O_.stride_row, min(16, shape_.N - first),
                                     lane(), device::carried_columns<Carried>(shape_.d));
      trace.did(TraceStep::load_Oi, i, 0);
    }
    device::commit_copies();
  }
  template <typename Trace>
  __device__ void store_O(int i, int n, Trace& trace) const {
    const int first = first_row(i);
    device::store_carried<kColumns>(O_.row(first), O_.stride_row, Oi(n), shape_.N - first, lane(),
                                    device::carried_columns<Carried>(shape_.d));
    trace.did(TraceStep::store_Oi, i, 0);
  }

 private:
  __device__ static int lane() { return device::thread_index() % 32; }

  const ForwardShape& shape_;
  HeadRows<const T> Q_;
  HeadRows<Carried> O_;
  int warp_row_;  // first row of the warp within a row tile
  uint32_t address_;
};

/// l = alpha l_prev + rowsum(P), from each thread's part of rowsum(P). `weight` is that of the
/// previous O, alpha l_prev, and `inverse_l` normalises the new O. `output_scale` is a further
/// factor that O already contains and P V does not.
__device__ inline void merge_row_sums(device::RowStatistic<1>& l, device::RowStatistic<1>& weight,
                                      device::RowStatistic<1>& inverse_l,
                                      const device::RowStatistic<1>& alpha,
                                      const device::RowStatistic<1>& sum, float output_scale) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    weight[half] = alpha[half] * l[half];
    l[half] = weight[half] + device::quad_sum(sum[half]);
    inverse_l[half] = l[half] == 0.0f ? 0.0f : output_scale / l[half];
    weight[half] /= output_scale;
  }
}

/// kStages: the stages of Qi and Oi together; see flash1_forward_stages().
template <typename T, typename Carried, int d, int Br, int Bc, int kStages,
          device::Columns kColumns = device::Columns::all, typename Trace = device::NoTrace,
          ScoreFeatures kFeatures = ScoreFeatures{}>
__global__ void __launch_bounds__(Br / 16 * 32, 1)
    flash1_forward(const typename Trace::template Parameters<Flash1Parameters> parameters) {
  using namespace device;
  using Shared = Flash1Shared<Carried, Br, Bc, d, kStages>;
  using TileKV = SharedTile<Bc, d>;
  constexpr int kThreads = Br / 16 * 32;
  extern __shared__ __align__(1024) unsigned char shared[];

  const ForwardShape& shape = parameters.shape;
  const int head = static_cast<int>(blockIdx.x) % shape.heads;
  const int batch = static_cast<int>(blockIdx.x) / shape.heads;
  const int kv_head = head / shape.heads_per_kv_head;
  const int thread = thread_index();
  const int lane = thread % 32;
  // Registers are scarce in the loop. With score features, and in the widest rows of whole chunks,
  // values derived from the lane are recomputed there, as are the loop's end and the addresses of m
  // and l; in wide tiles, also the addresses of O. Compiling all kernels showed which of them would
  // spill otherwise
  constexpr bool kScarce = kFeatures.any() ? d < 256 || sizeof(Carried) > sizeof(T)
                                           : d == 256 && kColumns == Columns::chunks;
  const auto lane_scored = [&] { return kScarce ? thread_index() % 32 : lane; };
  const auto lane_again = [&] { return d > 64 ? thread_index() % 32 : lane_scored(); };
  const auto K = rows_of_head<const T>(parameters.K, batch, kv_head);
  const auto V = rows_of_head<const T>(parameters.V, batch, kv_head);
  float* const m_head = parameters.m + Index{blockIdx.x} * shape.N;
  float* const l_head = parameters.l + Index{blockIdx.x} * shape.N;
  const auto again = [&](const float* statistic, const float* of_head) {
    return kScarce ? statistic + Index{block_index()} * shape.N : of_head;
  };
  Trace trace(parameters, 0);

  const uint32_t Kj_address = shared_address(shared);
  const uint32_t Vj_address = Kj_address + Shared::kColumnTileBytes;
  const Flash1WarpRows<Shared, T, Carried, kColumns, Br> warp_rows(
      parameters, batch, head, thread / 32, Vj_address + Shared::kColumnTileBytes);
  const Flash1Rows<kFeatures, Br, Bc> scores(parameters, head, batch, shared + Shared::kBytes);
  const int Tc = scores.past_last_column_tile();
  for (int j = scores.first_column_tile(); j < Tc; ++j) {
    const int first = scores.first_position(j);
    const int past_without = scores.past_last_position(j);
    const auto past = [&] { return kScarce ? scores.past_last_position(j) : past_without; };
    if (scores.is_unseen(first, past())) continue;

    // load Kj, Vj; load the first Qi, Oi @load_column_tile
    const int keys = scores.keys_to_load(j);
    // Barrier A: every warp is done with Kj, Vj before they are overwritten, and its O, m and l of
    // the previous pass are visible to the lanes that read them now.
    __syncthreads();
    trace.did(TraceStep::wait, 0, j);
    load_tile_async<kThreads, kColumns>(TileKV{Kj_address}, K.row(Index{j} * Bc), K.stride_row,
                                        keys, thread, shape.d);
    trace.did(TraceStep::load_Kj, 0, j);
    load_tile_async<kThreads, kColumns>(TileKV{Vj_address}, V.row(Index{j} * Bc), V.stride_row,
                                        keys, thread, shape.d);
    commit_copies();
    trace.did(TraceStep::load_Vj, 0, j);
    warp_rows.load_Q(scores.row_tile(first), first, past(), trace);
    warp_rows.load_O(scores.row_tile(first), first, past(), trace);
    wait_copies<2>();
    __syncthreads();  // Barrier B: every thread's copies of Kj and Vj have arrived.
    trace.did(TraceStep::wait, 0, j);

    for (int n = first; n < past(); ++n) {
      const int i = scores.row_tile(n);
      // load mi, li; load the next Qi, Oi @load_row_tile
      const int first_row = warp_rows.first_row(i);
      RowStatistic<1> m, l, alpha;
      load_statistic(m, again(parameters.m, m_head), first_row, shape.N, kMinusInfinity,
                     lane_scored());
      load_statistic(l, again(parameters.l, l_head), first_row, shape.N, 0.0f, lane_scored());
      trace.did(TraceStep::load_statistics, i, 0);
      __syncwarp();  // Barrier C: all lanes are done with the stage that the next tile overwrites.
      scores.note_rows(first_row, lane_scored());
      if constexpr (Shared::kStagesQ == 2)
        warp_rows.load_Q(scores.row_tile(n + 1), n + 1, past(), trace);
      if constexpr (Shared::kStagesO == 2)
        warp_rows.load_O(scores.row_tile(n + 1), n + 1, past(), trace);
      constexpr int kAhead = Shared::kStagesQ + Shared::kStagesO - 2;  // the groups of the next
                                                                       // tile
      wait_copies<kAhead + 1>();
      __syncwarp();  // Barrier D: every lane's copies of Qi have arrived.
      trace.did(TraceStep::wait, i, j);

      // S = Qi Kj^T, masked where the tile crosses the mask's edge or the last key @scores
      scores.draw(j, lane_scored());
      Accumulator<1, Bc> S;
      multiply_scores<T, 1, Bc, d>(S, warp_rows.Qi(n).lane_address_rows(lane_scored()),
                                   TileKV{Kj_address}.lane_address_columns(lane_scored()));
      trace.did(TraceStep::scores, i, j);
      if (scores.shape_scores(S, i, j, first_row, lane_scored())) {  // @soft_cap @alibi @mask
        trace.did(TraceStep::mask, i, j);
      }

      // m = max(m, rowmax(S)); alpha = exp(m_prev - m); P = exp(S - m); l = alpha l + rowsum(P)
      update_max<1, Bc>(m, alpha, S, shape.softmax_scale_log2);  // @update_max
      trace.did(TraceStep::update_max, i, j);
      RowStatistic<1> sum{}, weight, inverse_l;
      exponentiate<1, Bc>(S, sum, m, shape.softmax_scale_log2);                 // @exponentiate
      merge_row_sums(l, weight, inverse_l, alpha, sum, scores.output_scale());  // @update_sum
      trace.did(TraceStep::exponentiate, i, j);
      trace.rows(first_row, j, m, alpha, [&l](int half) { return l[half]; });

      // O = diag(1 / l) (diag(alpha l_prev) O + P Vj)
      scores.drop(S, lane_scored());  // @dropout
      RoundedScores<Bc> P;
      round_scores<T, Bc>(P, S);
      wait_copies<kAhead>();
      __syncwarp();  // Barrier E: every lane's copies of Oi have arrived.
      trace.did(TraceStep::wait, i, j);
      Accumulator<1, d> Oi;
      read_carried<Carried, d>(Oi, warp_rows.Oi(n), lane_again());
      rescale<1, d>(Oi, weight);  // @rescale_output
      trace.did(TraceStep::rescale, i, j);
      // @update_output
      accumulate_output<T, Bc, d>(Oi, P, TileKV{Vj_address}.lane_address_rows(lane_scored()));
      trace.did(TraceStep::accumulate, i, j);
      rescale<1, d>(Oi, inverse_l);
      trace.did(TraceStep::normalize, i, 0);

      // write Oi, li, mi
      write_carried<Carried, d>(warp_rows.Oi(n), Oi, lane_again());  // each lane writes where it
                                                                     // read
      __syncwarp();  // Barrier F: the fragments of all lanes are written before rows are read.
      warp_rows.store_O(i, n, trace);                                 // @store_output
      store_statistic(l_head, l, first_row, shape.N, lane_scored());  // @store_statistics
      store_statistic(m_head, m, first_row, shape.N, lane_scored());
      trace.did(TraceStep::store_statistics, i, 0);
      if constexpr (Shared::kStagesO == 1) {
        __syncwarp();  // Barrier G: all lanes are done with the only stage.
        if constexpr (Shared::kStagesQ == 1)
          warp_rows.load_Q(scores.row_tile(n + 1), n + 1, past(), trace);
        warp_rows.load_O(scores.row_tile(n + 1), n + 1, past(), trace);
      }
    }
  }
  trace.end();
}

}  // namespace attnscope::kernels
