#include "tests/kernels/step_of_operation.h"

#include "reference/check.h"

namespace attnscope {

using kernels::TraceStep;

namespace {

constexpr KernelStep whole(TraceStep step) {
  return {step, true};
}
constexpr KernelStep part_of(TraceStep step) {
  return {step, false};
}

KernelStep step_of_load(Tensor tensor) {
  switch (tensor) {
    case Tensor::Q:
      return whole(TraceStep::load_Qi);
    case Tensor::K:
      return whole(TraceStep::load_Kj);
    case Tensor::V:
      return whole(TraceStep::load_Vj);
    case Tensor::O:
      return whole(TraceStep::load_Oi);
    case Tensor::dO:
      return whole(TraceStep::load_dOi);
    case Tensor::dQ:
      return whole(TraceStep::load_dQi);
    case Tensor::m:
    case Tensor::LSE:
      return whole(TraceStep::load_statistics);
    default:  // l is loaded with m, D with LSE
      return part_of(TraceStep::load_statistics);
  }
}

KernelStep step_of_store(Tensor tensor) {
  switch (tensor) {
    case Tensor::O:
    case Tensor::O_split:
      return whole(TraceStep::store_Oi);
    case Tensor::LSE:
    case Tensor::LSE_split:
      return whole(TraceStep::store_LSEi);
    case Tensor::m:
      return whole(TraceStep::store_statistics);
    case Tensor::dQ:
      return whole(TraceStep::store_dQi);
    case Tensor::dK:
    case Tensor::dK_heads:
      return whole(TraceStep::store_dKj);
    case Tensor::dV:
    case Tensor::dV_heads:
      return whole(TraceStep::store_dVj);
    default:  // l is stored with m
      return part_of(TraceStep::store_statistics);
  }
}

/// The step of an operation that computes.
std::optional<KernelStep> step_of_compute(const TileOp& op) {
  const Tensor dest = op.dest_tiles[0].tensor;
  switch (op.kind) {
    case OpKind::scores:
      return whole(TraceStep::scores);
    case OpKind::soft_cap:  // in registers, on the way from the product to the mask
    case OpKind::soft_cap_slope:
    case OpKind::alibi:
      return part_of(TraceStep::scores);
    case OpKind::dropout:  // dropout of P is kept in its sign until dP needs it
      return part_of(dest == Tensor::dP ? TraceStep::softmax_gradient : TraceStep::exponentiate);
    case OpKind::multiply:  // the soft cap's slopes
      return part_of(TraceStep::softmax_gradient);
    case OpKind::mask:
      return whole(TraceStep::mask);
    case OpKind::running_max:
      return whole(TraceStep::update_max);
    case OpKind::row_max:  // flash1: m~ is not kept separate from m
      return part_of(TraceStep::update_max);
    case OpKind::exp:  // flash1: beta folds into P, taken against the merged maximum
      return dest == Tensor::P ? whole(TraceStep::exponentiate) : part_of(TraceStep::exponentiate);
    case OpKind::row_sum:
    case OpKind::add_row_sum:
      return part_of(TraceStep::exponentiate);
    case OpKind::rescale:
      if (dest == Tensor::O) return whole(TraceStep::rescale);
      return part_of(dest == Tensor::l ? TraceStep::rescale : TraceStep::exponentiate);
    case OpKind::accumulate:
      return whole(TraceStep::accumulate);
    case OpKind::normalize:  // backward: 1 / l goes into the exponent
      return dest == Tensor::O ? whole(TraceStep::normalize) : part_of(TraceStep::exponentiate);
    case OpKind::log_sum_exp:
      return part_of(TraceStep::normalize);
    case OpKind::product_transposed:
      return whole(TraceStep::product_dP);
    case OpKind::softmax_gradient:
      return whole(TraceStep::softmax_gradient);
    case OpKind::accumulate_transposed:
      return whole(TraceStep::accumulate_dV);
    case OpKind::gradient_product_transposed:
      return whole(TraceStep::accumulate_dK);
    case OpKind::row_dot:
      return whole(TraceStep::row_dot);
    case OpKind::gradient_product:
      return dest == Tensor::dQ ? whole(TraceStep::product_dQ) : part_of(TraceStep::add_dQi);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<KernelStep> step_of(const TileOp& op) {
  switch (op.kind) {
    case OpKind::load:
      return step_of_load(op.dest_tiles[0].tensor);
    case OpKind::store:
      return step_of_store(op.dest_tiles[0].tensor);
    case OpKind::atomic_add:
      return whole(TraceStep::add_dQi);
    case OpKind::fill_zero:
    case OpKind::fill_minus_inf:
    case OpKind::wait:
    case OpKind::arrive:
      return std::nullopt;
    default:
      break;
  }
  const auto step = step_of_compute(op);
  ATTNSCOPE_CHECK(step.has_value(), ==, true);  // a new kind of operation has no step yet
  return step;
}

}  // namespace attnscope
