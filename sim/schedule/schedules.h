/// The passes of every algorithm, and code shared by the schedules and others. Each algorithm's
/// tile loop is in the .cpp file of its name, with its pseudo-code.
#pragma once

#include "sim/schedule/algorithm.h"

namespace attnscope {

/// Standard attention, forward (arXiv 2205.14135, Algorithm 0): three launches, S and P in HBM.
Pass standard_forward_pass(const ScheduleOptions& options);

/// Standard attention, backward (arXiv 2205.14135, Algorithm 3), from the stored P: five launches,
/// dP and dS in HBM. "dV": column tile j of dV = P^T dO. "dP": tile (i, j) of dP = dO V^T. "dS": a
/// few whole rows of dS = P (dP - rowsum(P dP)), in panels and two sweeps if a row is too long.
/// "dQ": row tile i of dQ = scale dS K. "dK": column tile j of dK = scale dS^T Q. With grouped
/// heads, sum_heads. Unfused variants have launches between dS and dQ (elementwise.cpp);
/// checkpointing begins with the forward pass. The paper counts 5 N N_kv + 5 N d read and
/// 2 N N_kv + 3 N d written per head, for N = N_kv.
Pass standard_backward_pass(const ScheduleOptions& options);

/// FlashAttention-1 forward (arXiv 2205.14135, Algorithm 1). If HBM keeps O in fp32, it is stored
/// as O_carry, and a second launch, "convert", rounds it.
Pass flash1_forward_pass(const ScheduleOptions& options);

/// FlashAttention-1 backward (arXiv 2205.14135, Algorithm 4). If HBM keeps dQ in fp32, it is stored
/// as dQ_accum, and a launch, "convert", rounds it.
Pass flash1_backward_pass(const ScheduleOptions& options);

/// FlashAttention-2 forward (arXiv 2307.08691, Algorithm 1).
Pass flash2_forward_pass(const ScheduleOptions& options);

/// FlashAttention-2 backward (arXiv 2307.08691, Algorithm 2): preprocess, backward, convert
/// (dQ_accum to dQ); with grouped heads, sum_heads after them.
Pass flash2_backward_pass(const ScheduleOptions& options);

/// The grid of a launch whose agents share its tiles: one share for each consumer.
TileGrid agents_grid(const AttentionProblem& problem, const Tiling& tiling,
                     const ScheduleOptions& options);

/// FlashAttention-2's forward loop for row tile i over the column tiles in `columns`, without the
/// stores of O_i and LSE_i, which stay on chip.
void flash2_sweep(const TileGrid& g, std::int32_t i, const TileRange& columns, Program& program);

// Block-sparse FlashAttention: only the tiles (i, j) with M_ij = 1 in AttentionProblem::block_mask
// are computed; without a block mask, all tiles are. Within these tiles, the mask's band also
// applies. A row tile without ones has O = 0 and LSE = -inf. As in the paper, reading M itself is
// not counted.

/// The paper's Algorithm 5 (arXiv 2205.14135) and its backward pass: the programs of
/// FlashAttention-1 behind the guard M_ij = 1. K_j, V_j are loaded outside the guard, as printed;
/// with ScheduleVariant::skip_unused_kv, those that no row tile uses are not loaded. With density s
/// and even tiles, reads and writes per head: 2 N_kv d + s Tc (3 N d + 4 N) elements forward, 4
/// N_kv d + s Tc (5 N d + 2 N) backward.
Pass block_sparse_forward_pass(const ScheduleOptions& options);
Pass block_sparse_backward_pass(const ScheduleOptions& options);

/// FlashAttention-2's loops, as in a GPU kernel: row tiles (backward: column tiles) outermost and
/// in parallel, each with its list of column tiles (backward: row tiles). Forward, per head: reads
/// N d + s Tr 2 N_kv d, writes N d and N row statistics.
Pass block_sparse2_forward_pass(const ScheduleOptions& options);
Pass block_sparse2_backward_pass(const ScheduleOptions& options);

/// Split-KV decoding (Flash-Decoding, as in flash-attention's split-KV kernels): for few queries,
/// the keys are split over thread blocks as well, because row tiles alone would leave most SMs
/// idle. "partial", the program of one thread block: row tile i and split s of one head,
/// FlashAttention-2's sweep, only over the column tiles of split s. O and LSE of that part go to
/// HBM in fp32 (O_split [N, splits, d], LSE_split [N, splits]); a split without a visible key has O
/// = 0 and LSE = -inf. "combine": row tile i; merges the parts, O_i = sum over s of exp(LSE_i^s -
/// LSE_i) O_i^s, by an online softmax with LSE_i^s as the scores. Per head: reads splits N d + 2 d
/// (keys visited by each row tile) elements, then splits (N d + N) in fp32; writes the same number
/// in fp32, then N d elements and N statistics. Forward only: training has enough queries.
Pass split_kv_forward_pass(const ScheduleOptions& options);

/// The consecutive column tiles of split s. All splits have the same number; the last may have
/// fewer.
TileRange column_tiles_of_split(const TileGrid& g, std::int32_t s);

// Code shared by the backward schedules (gradients.cpp): loading K and V, storing dK and dV with
// grouped heads, converting dQ.

/// Whether a sweep over the rows of column tile j loads K_j and V_j: not if all of their rows are
/// padding, or if the sweep is empty and ScheduleVariant::skip_unused_kv is set.
bool loads_keys(const TileGrid& g, std::int32_t j);
void load_keys(const TileGrid& g, std::int32_t j, Program& program);

/// Stores a tile of dK or dV: to its tensor, or, if several query heads share a KV head, to the
/// query head's part of dK_heads or dV_heads.
void store_key_gradient(const TileGrid& g, Tile on_chip, Program& program);
/// The same for dK and dV of column tile j.
void store_key_gradients(const TileGrid& g, std::int32_t j, Program& program);

/// "convert": dQ = dQ_accum in the problem's precision.
Launch convert_dq_launch();

/// With grouped heads, adds "sum_heads": dK and dV of a KV head are the sums over its query heads.
void add_head_sum_launch(const ScheduleOptions& options, Pass& pass);

/// The grid of one of standard's products, in the tiles of its result (ScheduleVariant). If a tile
/// is not as wide as d, the launch reads the other operand once per part of d.
enum class ResultOf : std::uint8_t { queries_by_keys, queries_by_d, keys_by_d };
template <ResultOf result, ProductTile ProductTiles::*product>
TileGrid product_grid(const AttentionProblem& problem, const Tiling& tiling,
                      const ScheduleOptions& options) {
  const auto [rows, cols] = options.variant.product_tiles.*product;
  const auto given = [](Index tile, Index otherwise) { return tile > 0 ? tile : otherwise; };
  switch (result) {
    case ResultOf::queries_by_keys:
      return {problem, {given(rows, tiling.Br), given(cols, tiling.Bc)}, options};
    case ResultOf::queries_by_d:
      return {problem, {given(rows, tiling.Br), tiling.Bc}, options, cols};
    case ResultOf::keys_by_d:
      break;
  }
  return {problem, {tiling.Br, given(rows, tiling.Bc)}, options, cols};
}

// Standard attention's elementwise work in separate launches, as a framework runs it without
// fusion. Each launch reads and writes the score matrix once, tile by tile, in place.

/// The launches between S = Q K^T and the softmax at this level of fusion, in order: "scale" and
/// "mask", "scale_mask", "mask" alone, or none. Each reads and writes N N_kv elements per head, in
/// place; a framework that allocates a new matrix moves the same bytes and needs more memory.
std::vector<Launch> score_launches(const ScheduleOptions& options);

/// The same work in the backward pass, between dS and the products with K and Q: "mask_gradient"
/// and "scale_gradient", "mask_scale_gradient", or none.
std::vector<Launch> gradient_launches(const ScheduleOptions& options);

/// "dropout" between the softmax and the product with V, if it is a separate launch: reads P,
/// writes Z, one byte per element, and P~ = Z P. Its gradient between dP and dS,
/// "dropout_gradient": reads dP and Z, writes dP.
std::vector<Launch> probability_launches(const ScheduleOptions& options);
std::vector<Launch> probability_gradient_launches(const ScheduleOptions& options);

/// Whether dropout is a separate launch rather than part of the softmax.
bool drops_apart(const ScheduleOptions& options);
/// Whether the scale is a separate launch rather than folded into S = scale Q K^T, dQ and dK.
bool scales_apart(const ScheduleOptions& options);
/// Whether the mask is a separate launch rather than part of the softmax.
bool masks_apart(const ScheduleOptions& options);

// The score function's steps, as every schedule emits them, and their pseudo-code. Each emits
// nothing if the problem has no such step.

/// Pseudo-code lines of the steps between the scores and the softmax.
struct ScoreLines {
  std::uint8_t soft_cap;
  std::uint8_t alibi;
  std::uint8_t mask;
};

/// Applies cap, bias and, if `masked`, the mask to a tile of scores.
void shape_scores(const TileGrid& g, Tile S, bool masked, const ScoreLines& lines,
                  Program& program);
/// The same in a backward pass, which keeps the cap's derivative T of the tile.
void shape_scores_keeping_slope(const TileGrid& g, Tile S, bool masked, const ScoreLines& lines,
                                Program& program);
/// Applies only the cap to S, and keeps its derivative T.
void cap_keeping_slope(const TileGrid& g, Tile S, std::uint8_t line, Program& program);
/// Lines of dV's update, with and without dropout.
struct ValueGradientLines {
  std::uint8_t drop;
  std::uint8_t plain;
  std::uint8_t dropped;
};
/// dV = dV + P^T dO, with P~ = dropout(P) in place of P if the problem has dropout.
void add_to_dv(const TileGrid& g, Tile dV, Tile P, Tile dO, const ValueGradientLines& lines,
               Program& program);
/// dS = dS o T, with the T that cap_keeping_slope() has kept for S.
void apply_cap_slope(const TileGrid& g, Tile dS, Tile S, std::uint8_t line, Program& program);
/// tile = dropout(tile).
void drop(const TileGrid& g, Tile tile, std::uint8_t line, Program& program);

constexpr PseudoLine soft_cap_line(int indent, Step step = Step::soft_cap) {
  return {indent, step, "S = cap · tanh(S / cap)",
          "Soft-capping: no score leaves (-cap, cap), and none is clipped.", ScoreStep::soft_cap};
}
constexpr PseudoLine soft_cap_slope_line(int indent) {
  return {indent, Step::soft_cap, "S = cap · tanh(S / cap); T = 1 - (S / cap)²",
          "The capped scores again, and the derivative of the cap for dS.", ScoreStep::soft_cap};
}
constexpr PseudoLine alibi_line(int indent, Step step = Step::alibi) {
  return {
      indent, step, "S = S - slope · distance",
      "ALiBi: distance = |k - (q + N_kv - N)|; of packed sequences, each one's own q, k, N, N_kv.",
      ScoreStep::alibi};
}
constexpr PseudoLine drop_probabilities_line(int indent) {
  return {indent, Step::dropout, "P = dropout(P)",
          "Z depends only on (seed, b, h, query, key); l was summed before dropout.",
          ScoreStep::dropout};
}
constexpr PseudoLine drop_again_line(int indent) {
  return {indent, Step::dropout, "P~ = dropout(P)",
          "The forward pass's bits, drawn again instead of stored; dS needs P without them.",
          ScoreStep::dropout};
}
constexpr PseudoLine drop_gradient_line(int indent, Step step = Step::drop_dP) {
  return {indent, step, "dP = dropout(dP)",
          "O = P~ V, so the gradient of P passes the same Z; rowsum(dO ∘ O) stays rowsum(P ∘ dP).",
          ScoreStep::dropout};
}
constexpr PseudoLine cap_gradient_line(int indent) {
  return {indent, Step::apply_slope, "dS = dS ∘ T", "Back through the soft cap.",
          ScoreStep::soft_cap};
}

/// Removes the pseudo-code lines of steps that the options do not have, and renumbers the rest.
void show_only_taken_steps(const ScheduleOptions& options, Pass& pass);

}  // namespace attnscope
