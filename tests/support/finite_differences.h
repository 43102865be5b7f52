/// Gradients of sum(dO * O) by central differences of the reference's forward pass.
#pragma once

#include "reference/naive_attention.h"

namespace attnscope::test {

/// The loss sum(dO * O), whose gradients the backward pass returns.
inline double loss(const AttentionProblem& problem, const AttentionInputs& inputs) {
  const ForwardResult forward = naive_forward(problem, inputs);
  double sum = 0;
  for (std::size_t n = 0; n < forward.O.data.size(); ++n) {
    sum += inputs.dO.data[n] * forward.O.data[n];
  }
  return sum;
}

/// d loss / d tensor, with two forward passes for each element.
inline HeadTensor finite_differences(const AttentionProblem& problem, const AttentionInputs& inputs,
                                     HeadTensor AttentionInputs::*tensor) {
  constexpr double kStep = 1e-5;
  AttentionInputs moved = inputs;
  HeadTensor gradient = inputs.*tensor;
  for (std::size_t n = 0; n < gradient.data.size(); ++n) {
    double& value = (moved.*tensor).data[n];
    const double centre = value;
    value = centre + kStep;
    const double above = loss(problem, moved);
    value = centre - kStep;
    const double below = loss(problem, moved);
    value = centre;
    gradient.data[n] = (above - below) / (2 * kStep);
  }
  return gradient;
}

}  // namespace attnscope::test
