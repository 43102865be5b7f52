#include "sim/ops/tile_op.h"

namespace attnscope {

std::string_view to_string(Tensor tensor) {
  constexpr std::array<std::string_view, kTensorCount> kNames = {
      "Q",      "K",     "V",       "O",         "LSE",  "S",        "P",        "m",
      "l",      "alpha", "m_tile",  "l_tile",    "beta", "O_carry",  "dO",       "dQ",
      "dK",     "dV",    "dP",      "dS",        "D",    "dQ_accum", "dK_heads", "dV_heads",
      "P_drop", "T",     "O_split", "LSE_split", "Z"};
  return kNames[static_cast<std::size_t>(tensor)];
}

std::string_view to_string(OpKind kind) {
  constexpr std::array<std::string_view, kOpKindCount> kNames = {"load",
                                                                 "store",
                                                                 "fill_zero",
                                                                 "fill_minus_inf",
                                                                 "scores",
                                                                 "mask",
                                                                 "row_max",
                                                                 "running_max",
                                                                 "exp",
                                                                 "row_sum",
                                                                 "add_row_sum",
                                                                 "rescale",
                                                                 "accumulate",
                                                                 "normalize",
                                                                 "log_sum_exp",
                                                                 "convert",
                                                                 "product_transposed",
                                                                 "accumulate_transposed",
                                                                 "gradient_product",
                                                                 "gradient_product_transposed",
                                                                 "row_dot",
                                                                 "add_row_dot",
                                                                 "softmax_gradient",
                                                                 "add",
                                                                 "atomic_add",
                                                                 "soft_cap",
                                                                 "soft_cap_slope",
                                                                 "alibi",
                                                                 "dropout",
                                                                 "multiply",
                                                                 "scale",
                                                                 "mask_gradient",
                                                                 "dropout_factors"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace attnscope
