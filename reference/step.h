/// The steps of the algorithms. A step is one line of a launch's pseudo-code, with the operations
/// that refer to the line; the hooks of a traced kernel and the marked lines of its CUDA source
/// refer to it as well.
#pragma once

#include <cstdint>

#include "reference/enum_names.h"

namespace attnscope {

// clang-format off
enum class Step : std::uint8_t {
  outer_loop, inner_loop,
  inner_loop_again,     ///< the second sweep over a row that is read twice
  given,                ///< the result of an earlier launch
  load_row_tile,        ///< Q_i and the tiles loaded with it: O_i, dO_i, dQ_i, row statistics
  load_column_tile,     ///< K_j, V_j
  load, load_again,     ///< the operands of one of standard's launches; again in its second sweep
  load_scores,          ///< S, for the derivative of the soft cap
  load_fp32,            ///< O or dQ, kept in fp32 between tiles
  load_split_LSE, load_split_output, load_head_gradients,
  start,                ///< sums are 0, maxima -inf
  scores, scale,
  soft_cap, alibi, mask,
  soft_cap_again, alibi_again, mask_again,
  update_max,           ///< m and alpha
  exponentiate, exponentiate_again,
  update_sum,           ///< l
  dropout, dropout_factors,
  rescale_output,       ///< flash1's O, before P V is added
  update_output,        ///< O + P V
  normalize,            ///< by l
  log_sum_exp,
  product_dP, drop_dP, drop_dP_again,
  row_dot,              ///< D
  softmax_gradient,     ///< dS
  apply_slope,          ///< of the soft cap
  mask_gradient,
  update_dV, update_dK, update_dQ, add_heads,
  zero_dQ,              ///< in HBM, before thread blocks add to it
  round,                ///< to the problem's precision
  store_output,         ///< O, and LSE if the algorithm has it
  store_statistics,     ///< l, m
  store_D, store_dQ,
  store_key_gradients,  ///< dK, dV
  store,                ///< the result of one of standard's launches
  store_factors, store_dropped,
};
// clang-format on
inline constexpr int kStepCount = 53;

constexpr std::array<std::string_view, kStepCount> enum_names(Step) {
  return split_names<kStepCount>(
      "outer_loop, inner_loop, inner_loop_again, given, load_row_tile, load_column_tile, load, "
      "load_again, load_scores, load_fp32, load_split_LSE, load_split_output, load_head_gradients, "
      "start, scores, scale, soft_cap, alibi, mask, soft_cap_again, alibi_again, mask_again, "
      "update_max, exponentiate, exponentiate_again, update_sum, dropout, dropout_factors, "
      "rescale_output, update_output, normalize, log_sum_exp, product_dP, drop_dP, drop_dP_again, "
      "row_dot, softmax_gradient, apply_slope, mask_gradient, update_dV, update_dK, update_dQ, "
      "add_heads, zero_dQ, round, store_output, store_statistics, store_D, store_dQ, "
      "store_key_gradients, store, store_factors, store_dropped");
}

/// Whether operations refer to the step's line, which is then not that of a loop.
constexpr bool has_operations(Step step) {
  return step > Step::given;
}

}  // namespace attnscope
