/// Code shared by the thread blocks of both flash backward passes: loading Kj and Vj, dividing a
/// result among the warps, summing dKj and dVj, and storing them in HBM.
#pragma once

#include "kernels/backward_parameters.cuh"
#include "kernels/device/gradient_products.cuh"
#include "kernels/device/place.cuh"
#include "kernels/device/trace.cuh"
#include "kernels/warp_parts_shared.cuh"

namespace attnscope::kernels::device {

/// How a [kRows x kColumns] result is divided among the warps: each takes 16 kRowPieces rows and
/// kPartColumns columns. If there are more warps than parts, the last warps repeat the parts of the
/// first ones: they compute and write the same values on chip, but only warps with is_first() add
/// to sums or write to memory.
template <int kRows, int kColumns, int kWarps>
struct WarpParts {
  static constexpr int kUsed = warps_with_parts(kRows, kColumns, kWarps);
  static constexpr int kAcross = warps_across(kRows, kColumns, kUsed);
  static constexpr int kPartRows = kRows / (kUsed / kAcross);
  static constexpr int kRowPieces = kPartRows / 16;
  static constexpr int kPartColumns = kColumns / kAcross;
  using Registers = Accumulator<kRowPieces, kPartColumns>;

  __device__ static bool is_first(int warp) { return kUsed == kWarps || warp < kUsed; }
  __device__ static int first_row(int warp) { return part(warp) / kAcross * kPartRows; }
  __device__ static int first_column(int warp) { return part(warp) % kAcross * kPartColumns; }

 private:
  __device__ static int part(int warp) { return kUsed == kWarps ? warp : warp % kUsed; }
};

/// Column tile j of one head: of a KV head for Kj and Vj, else of a query head.
struct ColumnTile {
  int j, head, batch;
  int keys;  ///< valid columns of the tile
};

/// The column tiles of a head are neighbours in the grid. The first one comes first: under a causal
/// mask the most row tiles see it.
template <int Bc>
__device__ inline ColumnTile column_tile_of_block(const ForwardShape& shape) {
  const int block = block_index();
  const int Tc = (shape.N_kv + Bc - 1) / Bc;
  const int j = block % Tc;
  const int head = block / Tc;
  return {j, head % shape.heads, head / shape.heads, min(Bc, shape.N_kv - j * Bc)};
}

/// The counter of row tile i in dQ_turns: column tile j is the j-th that adds to dQi, since row
/// tile i sees every column tile before it too.
template <int Br, int Bc>
__device__ inline int* turn_of_row_tile(const BackwardParameters& parameters, int i) {
  const ForwardShape& shape = parameters.shape;
  const auto tile = column_tile_of_block<Bc>(shape);
  const int Tr = (shape.N + Br - 1) / Br;
  return parameters.dQ_turns + (Index{tile.batch} * shape.heads + tile.head) * Tr + i;
}

/// Starts the copies of Kj and Vj as one group: of each, the first scores.keys_to_load() keys.
/// `thread` gives the thread's index, kept in a register or, if registers are scarce, read again.
template <typename T, int kThreads, Columns kColumns, int Bc, int d, typename Scores,
          typename Thread, typename Trace>
__device__ inline void load_column_tile(const BackwardParameters& parameters,
                                        const SharedTile<Bc, d>& Kj, const SharedTile<Bc, d>& Vj,
                                        const ColumnTile& tile, const Scores& scores,
                                        const Thread& thread, Trace& trace) {
  const auto K = rows_of_head<const T>(parameters.K, tile.batch, tile.head);
  const auto V = rows_of_head<const T>(parameters.V, tile.batch, tile.head);
  load_tile_async<kThreads, kColumns>(Kj, K.row(Index{tile.j} * Bc), K.stride_row,
                                      scores.keys_to_load(), thread(), parameters.shape.d);
  trace.did(TraceStep::load_Kj, 0, tile.j);
  load_tile_async<kThreads, kColumns>(Vj, V.row(Index{tile.j} * Bc), V.stride_row,
                                      scores.keys_to_load(), thread(), parameters.shape.d);
  commit_copies();
  trace.did(TraceStep::load_Vj, 0, tile.j);
}

/// S^T = Kj Qi^T or dP^T = Vj dOi^T: a warp's part, which begins at `part_key` and `part_query`.
template <typename T, typename Part, int Br, int Bc, int d>
__device__ inline void multiply_scores_transposed(typename Part::Registers& products,
                                                  const SharedTile<Bc, d>& columns,
                                                  const SharedTile<Br, d>& rows, int part_key,
                                                  int part_query, int lane) {
  multiply_scores<T, Part::kRowPieces, Part::kPartColumns, d>(
      products, columns.piece(columns.lane_address_rows(lane), part_key / 16, 0),
      rows.piece(rows.lane_address_columns(lane), part_query / 16, 0));
}

/// dVj += P^T dOi or dKj += dS^T Qi: a warp's part. `scores` is P or dS, transposed.
template <typename T, int kWarps, int Br, int Bc, int d, typename Registers>
__device__ inline void accumulate_key_gradient(Registers& gradient,
                                               const SharedTile<Bc, Br>& scores,
                                               const SharedTile<Br, d>& rows) {
  using Part = WarpParts<Bc, d, kWarps>;
  const int lane = thread_index() % 32;
  const int warp = thread_index() / 32;
  accumulate_part<T, StoredA::as_is, Part::kRowPieces, Part::kPartColumns, Br, Br, d>(
      gradient, scores.piece(scores.lane_address_rows(lane), Part::first_row(warp) / 16, 0), 0,
      rows.lane_address_rows(lane), Part::first_column(warp) / 16);
}

/// C *= factor.
template <int kRowPieces, int kPieces>
__device__ inline void scale_all(FragmentC (&C)[kRowPieces][kPieces], float factor) {
#pragma unroll
  for (int r = 0; r < kRowPieces; ++r) {
#pragma unroll
    for (int n = 0; n < kPieces; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) C[r][n][c] *= factor;
    }
  }
}

/// Stores dKj or dVj in HBM through `slot`, which no warp reads any more, so that the stores are 16
/// bytes wide. Only the first `columns` of the d columns exist.
template <typename T, int kWarps, Columns kColumns = Columns::all, int Bc, int d,
          typename Registers>
__device__ inline void store_key_gradient(const TensorView& tensor, const SharedTile<Bc, d>& slot,
                                          const Registers& gradient, const ColumnTile& tile,
                                          int columns = d) {
  using Part = WarpParts<Bc, d, kWarps>;
  const int warp = thread_index() / 32;
  write_part<T, Part::kRowPieces, Part::kPartColumns>(
      slot, Part::first_row(warp), Part::first_column(warp), gradient, thread_index() % 32);
  __syncthreads();  // Barrier: the parts of all warps are written before rows are read.
  const auto rows = rows_of_head<T>(tensor, tile.batch, tile.head);
  store_tile<kWarps * 32, kColumns>(rows.row(Index{tile.j} * Bc), rows.stride_row, slot, tile.keys,
                                    thread_index(), columns);
}

}  // namespace attnscope::kernels::device
