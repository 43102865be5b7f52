/// The score function (score_function.h) applied to rows of one head's scores, for the reference's
/// computations. A row is an Eigen row, or anything with size() and operator[].
#pragma once

#include <cmath>
#include <type_traits>

#include "reference/attention_problem.h"

namespace attnscope {

class ScoreSteps {
 public:
  /// The steps of query head h of batch entry b; the problem must outlive this.
  ScoreSteps(const AttentionProblem& problem, Index b, Index h) : problem_(problem), b_(b), h_(h) {}

  bool caps() const { return problem_.score.soft_cap.has_value(); }
  bool drops() const { return problem_.score.has_dropout(); }

  /// Soft-caps scaled scores and adds the bias; row[c] is the score of key first_key + c.
  template <typename Row>
  void apply(Row&& row, Index query, Index first_key) const {
    if (!caps() && !problem_.score.has_alibi()) return;
    for_each(row, [&](double x, Index c) {
      if (caps()) x = *problem_.score.soft_cap * std::tanh(x / *problem_.score.soft_cap);
      if (problem_.score.has_alibi()) x += problem_.alibi_bias(h_, query, first_key + c);
      return x;
    });
  }

  /// Turns scaled scores x into d(score) / dx = 1 - tanh(x / cap)^2. Requires a soft cap.
  template <typename Row>
  void slopes(Row&& row) const {
    for_each(row, [&](double x, Index) {
      const double tanh = std::tanh(x / *problem_.score.soft_cap);
      return 1.0 - tanh * tanh;
    });
  }

  /// Multiplies by dropout's factor, 0 or 1 / (1 - p).
  template <typename Row>
  void drop(Row&& row, Index query, Index first_key) const {
    if (!drops()) return;
    for_each(row, [&](double x, Index c) {
      return x * problem_.dropout_factor(b_, h_, query, first_key + c);
    });
  }

 private:
  template <typename Row, typename F>
  static void for_each(Row& row, F f) {
    for (Index c = 0; c < row.size(); ++c) {
      using Value = std::remove_reference_t<decltype(row[c])>;
      row[c] = static_cast<Value>(f(static_cast<double>(row[c]), c));
    }
  }

  const AttentionProblem& problem_;
  Index b_;
  Index h_;
};

}  // namespace attnscope
