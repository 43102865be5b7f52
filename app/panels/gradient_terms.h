/// The row view of the backward pass: scores and probabilities, recomputed or read back, and their
/// gradients, each with its formula and the numbers of one key. Draws nothing.
#pragma once

#include <vector>

#include "app/panels/softmax_terms.h"

namespace attnscope::app {

/// Position in the row of the key whose numbers are shown: the one with the largest probability,
/// or score; 0 before there are any.
std::size_t shown_key(const GradientRow& row);

/// S, P, dP, D, dS and the element of dQ, in the order in which they are computed. A formula goes
/// as far as the value has come: with the cap, the bias, the mask and dropout once they were taken.
std::vector<SoftmaxTerm> gradient_terms(const GradientRow& row, const RunInfo& run);

}  // namespace attnscope::app
