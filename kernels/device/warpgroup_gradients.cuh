/// The products of flash1's backward pass with Hopper's own instructions (compute capability 9.0):
/// two warpgroups share a column tile of 128 keys and multiply; a third one loads and stores for
/// them. Also functions that pass P from one warpgroup to another, for flash2's backward pass with
/// wide heads.
///
/// The tile of scores is transposed, as in gradient_products.cuh: a warp has 16 keys of S^T = K Q^T
/// and all queries. P and dS go straight from registers into the products for dVj and dKj; dS is
/// written to shared memory only for dQi.
#pragma once

#include "kernels/device/gradient_slots.cuh"
#include "kernels/device/score_columns.cuh"
#include "kernels/device/trace.cuh"
#include "kernels/gradient_maps.cuh"

namespace attnscope::kernels::device {

inline constexpr int kGradientThreads = kMultiplyingThreads + kWarpgroupThreads;

/// A launch with this many threads has 168 registers per thread; these numbers redistribute them.
inline constexpr int kMultiplyingRegisters = 240;
inline constexpr int kServingRegisters = 24;
static_assert(kMultiplyingWarpgroups * kMultiplyingRegisters + kServingRegisters == 3 * 168);

/// A warp's part of S^T.
template <int Br>
struct WarpgroupScores {
  static constexpr int kRowPieces = 1;
  static constexpr int kPartColumns = Br;
  using Registers = Accumulator<1, Br>;

  __device__ static int first_row(int warp) { return warp * kFragmentRows; }
  __device__ static int first_column(int /*warp*/) { return 0; }
};

/// dVj += P^T dOi, dKj += dS^T Qi and dQ = dS Kj, the last two without the scale; of dQ, each of
/// the two warpgroups computes 64 queries by a panel of columns. The visit's row tiles have
/// arrived. `meanwhile()` runs while S and dP are being computed, and returns when LSE and D have
/// arrived.
template <typename T, int Br, int Bc, int d, int kRowTiles, typename Trace, typename Meanwhile>
__device__ inline void accumulate_tile_gradients(Accumulator<1, d>& dK, Accumulator<1, d>& dV,
                                                 Accumulator<1, kPanelColumns>& dQ,
                                                 const GradientSlots<Br, Bc, d, kRowTiles>& slots,
                                                 const PlainColumns<Br, Bc>& columns, int visit,
                                                 int i, int j, int warpgroup,
                                                 float softmax_scale_log2, Trace& trace,
                                                 const Meanwhile& meanwhile) {
  using Part = WarpgroupScores<Br>;
  const int lane = thread_index() % 32;
  const int warp = thread_index() / 32;

  // S = scale Qi Kj^T; dP = dOi Vj^T
  typename Part::Registers P, dS;
  open_products();
  start_scores<T>(P, slots.K(), slots.Q(visit), warpgroup * kWarpgroupRows);
  start_scores<T>(dS, slots.V(), slots.dO(visit), warpgroup * kWarpgroupRows);
  meanwhile();
  wait_products<1>(P);
  trace.did(TraceStep::scores, i, j);

  // masked where the mask's edge or the last key cuts the tile; P = exp(S - LSEi)
  if (columns.template shape_scores<Part>(P, slots.dS(visit), i, 0, warp, lane)) {
    trace.did(TraceStep::mask, i, j);
  }
  exponentiate_transposed<1, Br>(P, slots.LSE_log2(visit), softmax_scale_log2, lane);
  trace.did(TraceStep::exponentiate, i, j);

  // dVj = dVj + P^T dOi
  ScoreOperand<Br> P_operand;
  round_scores<T, Br>(P_operand, P);
  open_products();
  start_key_gradient<T, Br>(dV, P_operand, slots.dO(visit));
  trace.did(TraceStep::accumulate_dV, i, j);

  // dS = P * (dP - Di)
  wait_products<1>(dS);
  trace.did(TraceStep::product_dP, i, j);
  softmax_gradient_transposed<1, Br>(dS, P, slots.D(visit), lane);
  slots.statistics_free(visit).arrive();
  write_part<T, 1, Br>(slots.dS(visit), Part::first_row(warp), 0, dS, lane);
  trace.did(TraceStep::softmax_gradient, i, j);

  // dKj = dKj + dS^T Qi
  ScoreOperand<Br> dS_operand;
  round_scores<T, Br>(dS_operand, dS);
  open_products();
  start_key_gradient<T, Br>(dK, dS_operand, slots.Q(visit));
  trace.did(TraceStep::accumulate_dK, i, j);
  show_to_async_units();
  both_warpgroups_barrier();  // Barrier A: dS of every warp is in shared memory.
  trace.did(TraceStep::wait, i, j);

  // dQ = dS Kj
  open_products();
  start_query_gradient<T>(dQ, slots.dS(visit), slots.K(), warpgroup);
  wait_products<0>(dQ, dV, dK);
}

/// Stores dKj and dVj in HBM through the slots of Kj and Vj. Called by both warpgroups; the block's
/// first thread starts the stores and must wait for them.
template <typename T, int Br, int Bc, int d, int kRowTiles, typename Trace>
__device__ inline void store_key_gradients(Accumulator<1, d>& dK, const Accumulator<1, d>& dV,
                                           const GradientSlots<Br, Bc, d, kRowTiles>& slots,
                                           const GradientMaps& maps, const TilePlace& place,
                                           float softmax_scale, Trace& trace) {
  const int j = place.row / Bc;
  both_warpgroups_barrier();  // Barrier B: Kj and Vj have been read; dKj and dVj take their slots.
  trace.did(TraceStep::wait, 0, j);
  scale_all(dK, softmax_scale);
  const int lane = thread_index() % 32;
  const int first_key = thread_index() / 32 * kFragmentRows;
  write_part<T, 1, d>(slots.K(), first_key, 0, dK, lane);
  write_part<T, 1, d>(slots.V(), first_key, 0, dV, lane);
  show_to_async_units();
  both_warpgroups_barrier();  // Barrier C: the rows of all warps are written.
  if (thread_index() == 0) store_panels(maps.dK_columns, place, slots.K());
  trace.did(TraceStep::store_dKj, 0, j);
  if (thread_index() == 0) store_panels(maps.dV_columns, place, slots.V());
  trace.did(TraceStep::store_dVj, 0, j);
}

/// Pass P from a consumer's registers through shared memory, 16 bytes per thread at a time, to the
/// thread with the same number in another consumer.
template <int kSteps>
__device__ inline void leave_operand(uint32_t destination, const FragmentA (&P)[kSteps],
                                     int thread) {
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
    store_chunk_shared(destination + (k * kWarpgroupThreads + thread) * 16, P[k]);
  }
}
template <typename T, int kPieces>
__device__ inline void take_operand(FragmentC (&P)[1][kPieces], uint32_t source, int thread) {
#pragma unroll
  for (int k = 0; k < kPieces / 2; ++k) {
    FragmentA pairs;
    load_chunk_shared(pairs, source + (k * kWarpgroupThreads + thread) * 16);
#pragma unroll
    for (int n = 0; n < 4; ++n) {  // the order of round_scores()
      const float2 pair = unpack<T>(pairs[n]);
      P[0][2 * k + n / 2][n % 2 * 2] = pair.x;
      P[0][2 * k + n / 2][n % 2 * 2 + 1] = pair.y;
    }
  }
}

}  // namespace attnscope::kernels::device
