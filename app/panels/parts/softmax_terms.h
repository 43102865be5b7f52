/// The steps of the online softmax of one query row, as formulas and with their live numbers.
/// Handles the differences between algorithms; draws nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/run_break.h"
#include "sim/ops/tile_op.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

// The computation of a problem's scores as text: scale, cap, bias, mask and dropout in the order
// in which every algorithm applies them (reference/score_function.h). Draws nothing.

/// "mask(5 · tanh(scale · Q Kᵀ / 5) - 0.25 · |k - q|)" around the scaled product, with the numbers
/// of head `head`, up to the step `last`: scores, soft_cap, alibi or mask.
std::string score_formula(const AttentionProblem& problem, Index head, std::string_view product,
                          OpKind last = OpKind::mask);

/// How S in HBM relates to the scores that the softmax uses.
enum class StoredScores : std::uint8_t {
  final_values,  ///< the scores themselves, or S is not kept
  unmasked,      ///< the scores of visible keys; hidden keys still have a score, too
  unfinished,    ///< a different value: scale, cap or bias follow in a later launch
};
StoredScores stored_scores(const Snapshot& snapshot);

/// The scores panel's headline: the formula of the tensor that its cells show (S, P, dP or dS), and
/// with dropout the formulas that follow S.
std::vector<std::string> scores_headline(const Snapshot& snapshot, Tensor shown);

/// One line: symbol = formula, the same with numbers, the result. There is no result until the
/// operation has run in this tile.
struct SoftmaxTerm {
  std::string symbol;   ///< "alpha", "O[3]"
  std::string tensor;   ///< the tensor whose colour it takes
  std::string formula;  ///< "exp(m_prev - m)"
  std::string numbers;  ///< "exp(-1.167)"; empty while an operand is missing
  std::optional<double> result;
  std::vector<double> strip = {};  ///< the row's values in this tile, if there are several
};

/// The pattern with every {} replaced by a value; empty when one is missing.
std::string filled(std::string_view pattern, std::initializer_list<std::optional<double>> values);
template <typename... Values>
std::string with_numbers(std::string_view pattern, const Values&... values) {
  return filled(pattern, {std::optional<double>(values)...});
}

/// The steps in the order of the algorithm's form; if a launch folds splits, with the LSE of a
/// split instead of a score. `drops`: whether the product with V reads P after dropout.
std::vector<SoftmaxTerm> softmax_terms(const SoftmaxRow& row, SoftmaxForm form,
                                       SplitRole splits = SplitRole::none, bool drops = false);

/// Changes the term of a statistic that a broken run replaces: "1, not exp(m_prev - m)".
void mark_replaced(std::vector<SoftmaxTerm>& terms, const ReplacedOperand& replaced);

bool folds_splits(const Snapshot& snapshot);

/// The error of the followed row (`chosen` before there is one) against the reference, or that the
/// row sees no key.
std::string check_line(const Snapshot& snapshot, Index chosen);

// The backward pass: scores and probabilities, recomputed or read back, and their gradients, each
// with its formula and the numbers of one key.

/// Position in the row of the key whose numbers are shown: the key with the largest probability,
/// or score; 0 before there are any.
std::size_t shown_key(const GradientRow& row);

/// S, P, dP, D, dS and the element of dQ, in the order in which they are computed. A formula shows
/// the steps taken so far: the cap, the bias, the mask and dropout appear when they are applied.
std::vector<SoftmaxTerm> gradient_terms(const GradientRow& row, const RunInfo& run);

}  // namespace attnscope::app
