/// One query row of a problem with a score function or a block mask, which depend on the positions
/// of the row and its keys in the whole problem: for the reference and for the yardstick of the
/// tolerance rule. Plain C++.
#pragma once

#include <vector>

#include "reference/attention_problem.h"

namespace attnscope::kernels {

/// Adapts values to a row of the score steps (score_steps.h).
struct RowView {
  double* data;
  Index count;
  Index size() const { return count; }
  double& operator[](Index c) const { return data[c]; }
};
inline RowView view_of_row(std::vector<double>& values) {
  return {values.data(), static_cast<Index>(values.size())};
}

/// The row and the keys that it sees, ignoring the block mask, of one head; vectors in C order.
struct RowOperands {
  Index b = 0;
  Index h = 0;
  Index query = 0;
  KeyRange keys;             ///< not empty
  std::vector<double> Q;     ///< [d]
  std::vector<double> K, V;  ///< [keys, d]
  std::vector<double> dO;    ///< [d]; empty: no gradient is requested
};

/// The arithmetic of the steps: double precision, or every tensor of unfused attention stored in
/// the problem's precision, as in unfused_attention.h.
enum class RowPrecision : std::uint8_t { exact, unfused };

struct ScoredRow {
  std::vector<double> O;   ///< [d]
  std::vector<double> dQ;  ///< [d] or empty
  double LSE = 0.0;
};
ScoredRow scored_row(const AttentionProblem& problem, const RowOperands& operands,
                     RowPrecision precision);

}  // namespace attnscope::kernels
