/// The steps of the online softmax of one query row, as formulas and with their live numbers.
/// Handles the differences between algorithms; draws nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

/// One line: symbol = formula, the same with numbers, the result. Without a result the operation
/// has not run yet in this tile.
struct SoftmaxTerm {
  std::string symbol;   ///< "alpha", "O[3]"
  std::string tensor;   ///< whose colour it takes
  std::string formula;  ///< "exp(m_prev - m)"
  std::string numbers;  ///< "exp(-1.167)"; empty while an operand is missing
  std::optional<double> result;
  std::vector<double> strip =
      {};  ///< the values of the whole row in this tile, where there are several
};

/// The pattern with every {} replaced by a value; empty when one is missing.
std::string filled(std::string_view pattern, std::initializer_list<std::optional<double>> values);
template <typename... Values>
std::string with_numbers(std::string_view pattern, const Values&... values) {
  return filled(pattern, {std::optional<double>(values)...});
}

/// The steps in the order of the algorithm's form; where a launch folds splits, LSE of a split in
/// place of a score. `drops`: the product with V takes P after dropout.
std::vector<SoftmaxTerm> softmax_terms(const SoftmaxRow& row, SoftmaxForm form,
                                       SplitRole splits = SplitRole::none, bool drops = false);

bool folds_splits(const Snapshot& snapshot);

/// The error of the followed row (`chosen` before there is one) against the reference, or that the
/// row sees no key.
std::string check_line(const Snapshot& snapshot, Index chosen);

// The backward pass: scores and probabilities, recomputed or read back, and their gradients, each
// with its formula and the numbers of one key.

/// Position in the row of the key whose numbers are shown: the one with the largest probability,
/// or score; 0 before there are any.
std::size_t shown_key(const GradientRow& row);

/// S, P, dP, D, dS and the element of dQ, in the order in which they are computed. A formula shows
/// the steps taken so far: the cap, the bias, the mask and dropout appear once they are applied.
std::vector<SoftmaxTerm> gradient_terms(const GradientRow& row, const RunInfo& run);

}  // namespace attnscope::app
