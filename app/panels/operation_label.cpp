#include "app/panels/operation_label.h"

#include "sim/snapshot/describe_op.h"

namespace attnscope::app {

std::string_view operation_label(const TileOp& op) {
  const Tensor source = op.source_count > 0 ? op.sources()[0].tensor : Tensor::S;
  const bool one_a_row =
      source == Tensor::m_tile || source == Tensor::l_tile || is_of_split(source);
  const bool dropped = source == Tensor::P_drop;
  switch (op.kind) {
    case OpKind::scores:
      return "Q Kᵀ";
    case OpKind::accumulate:
      return dropped ? "P~ V" : "P V";
    case OpKind::running_max:
    case OpKind::row_max:
      return one_a_row ? "max" : "rowmax";
    case OpKind::exp:
      return "exp";
    case OpKind::add_row_sum:
    case OpKind::row_sum:
      return one_a_row ? "+" : "rowsum";
    case OpKind::rescale:
      return "rescale";
    case OpKind::normalize:
      return "divide";
    case OpKind::log_sum_exp:
      return "m + log l";
    case OpKind::convert:
      return "round";
    case OpKind::product_transposed:
      return "dO Vᵀ";
    case OpKind::accumulate_transposed:
      return dropped ? "P~ᵀ dO" : "Pᵀ dO";
    case OpKind::gradient_product:
      return "dS K";
    case OpKind::gradient_product_transposed:
      return "dSᵀ Q";
    case OpKind::row_dot:
    case OpKind::add_row_dot:
      return "rowsum ∘";
    case OpKind::softmax_gradient:
      return "P ∘ (dP - D)";
    case OpKind::add:
      return "+";
    case OpKind::soft_cap_slope:
      return "1 - (S / cap)²";
    case OpKind::dropout:
      return "dropout";
    case OpKind::multiply:
      return source == Tensor::Z ? "∘ Z" : "∘ T";
    default:
      return "";
  }
}

}  // namespace attnscope::app
