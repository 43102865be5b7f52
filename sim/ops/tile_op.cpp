#include "sim/ops/tile_op.h"

namespace attnscope {

std::string_view to_string(Tensor tensor) {
  constexpr std::array<std::string_view, kTensorCount> kNames = {
      "Q", "K", "V",     "O",      "LSE",    "S",    "P",
      "m", "l", "alpha", "m_tile", "l_tile", "beta", "O_carry"};
  return kNames[static_cast<std::size_t>(tensor)];
}

std::string_view to_string(OpKind kind) {
  constexpr std::array<std::string_view, kOpKindCount> kNames = {
      "load",       "store",       "fill_zero",   "fill_minus_inf", "scores",      "mask",
      "row_max",    "running_max", "exp",         "row_sum",        "add_row_sum", "rescale",
      "accumulate", "normalize",   "log_sum_exp", "convert"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace attnscope
