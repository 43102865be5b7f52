/// The score function's steps, as every schedule emits them, and their pseudo-code. Each emits
/// nothing when the problem has no such step.
#pragma once

#include "sim/schedule/algorithm.h"

namespace attnscope {

/// Pseudo-code lines of the steps between the scores and the softmax.
struct ScoreLines {
  std::uint8_t soft_cap;
  std::uint8_t alibi;
  std::uint8_t mask;
};

/// Caps, biases and, where `masked`, masks a tile of scores.
void shape_scores(const TileGrid& g, Tile S, bool masked, const ScoreLines& lines,
                  Program& program);
/// The same in a backward pass, which keeps the cap's derivative T of the tile.
void shape_scores_keeping_slope(const TileGrid& g, Tile S, bool masked, const ScoreLines& lines,
                                Program& program);
/// Only the cap of S and its derivative T.
void cap_keeping_slope(const TileGrid& g, Tile S, std::uint8_t line, Program& program);
/// Lines of dV's update, with and without dropout.
struct ValueGradientLines {
  std::uint8_t drop;
  std::uint8_t plain;
  std::uint8_t dropped;
};
/// dV_j = dV_j + P^T dO_i, with P~ = dropout(P) in place of P where the problem drops.
void add_to_dv(const TileGrid& g, std::int32_t i, std::int32_t j, const ValueGradientLines& lines,
               Program& program);
/// dS = dS o T, with T of the same tile.
void apply_cap_slope(const TileGrid& g, Tile dS, std::uint8_t line, Program& program);
/// tile = dropout(tile).
void drop(const TileGrid& g, Tile tile, std::uint8_t line, Program& program);

constexpr PseudoLine soft_cap_line(int indent) {
  return {indent, "S = cap · tanh(S / cap)",
          "Soft-capping: no score leaves (-cap, cap), and none is cut off hard.", false,
          ScoreStep::soft_cap};
}
constexpr PseudoLine soft_cap_slope_line(int indent) {
  return {indent, "S = cap · tanh(S / cap); T = 1 - (S / cap)²",
          "The capped scores again, and the derivative of the cap for dS.", false,
          ScoreStep::soft_cap};
}
constexpr PseudoLine alibi_line(int indent) {
  return {
      indent, "S = S - slope · distance",
      "ALiBi: distance = |k - (q + N_kv - N)|; of packed sequences, each one's own q, k, N, N_kv.",
      false, ScoreStep::alibi};
}
constexpr PseudoLine drop_probabilities_line(int indent) {
  return {indent, "P = dropout(P)",
          "Z depends only on (seed, b, h, query, key); l was summed before dropout.", false,
          ScoreStep::dropout};
}
constexpr PseudoLine drop_again_line(int indent) {
  return {indent, "P~ = dropout(P)",
          "The forward pass's bits, drawn again instead of stored; dS needs P without them.", false,
          ScoreStep::dropout};
}
constexpr PseudoLine drop_gradient_line(int indent) {
  return {indent, "dP = dropout(dP)",
          "O = P~ V, so the gradient of P passes the same Z; rowsum(dO ∘ O) stays rowsum(P ∘ dP).",
          false, ScoreStep::dropout};
}
constexpr PseudoLine cap_gradient_line(int indent) {
  return {indent, "dS = dS ∘ T", "Back through the soft cap.", false, ScoreStep::soft_cap};
}

/// Removes the pseudo-code lines of steps that the options do not have, and renumbers the rest.
void show_only_taken_steps(const ScheduleOptions& options, Pass& pass);

}  // namespace attnscope
