#include "kernels/measure/check/scored_row.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "reference/block_mask.h"
#include "reference/rounding.h"
#include "reference/score_steps.h"

namespace attnscope::kernels {

namespace {

using Values = std::vector<double>;

class RowSteps {
 public:
  RowSteps(const AttentionProblem& problem, const RowOperands& operands, RowPrecision precision)
      : p_(problem),
        row_(operands),
        is_exact_(precision == RowPrecision::exact),
        steps_(problem, operands.b, operands.h) {}

  ScoredRow run() const {
    // S, the slopes of the soft cap, P, and P after dropout
    Values S = products(row_.Q, row_.K, is_exact_ ? 1.0 : p_.softmax_scale());
    if (is_exact_) {
      for (double& s : S) s *= p_.softmax_scale();
    }
    Values slopes(S.size(), 1.0);
    if (steps_.caps()) {
      slopes = S;
      steps_.slopes(view_of_row(slopes));
    }
    steps_.apply(view_of_row(S), row_.query, row_.keys.begin);
    if (p_.block_mask != nullptr) hide(S);
    ScoredRow result;
    const Values P = softmax(S, result.LSE);
    const Values P_dropped = dropped(P);
    result.O = weighted_sum(P_dropped, row_.V, 1.0);
    if (row_.dO.empty()) return result;

    // dP, D, dS, dQ
    const Values dP = dropped(products(row_.dO, row_.V, 1.0));
    const double D = std::inner_product(P.begin(), P.end(), dP.begin(), 0.0);
    Values dS(P.size());
    for (std::size_t k = 0; k < P.size(); ++k) dS[k] = store(P[k] * (dP[k] - D) * slopes[k]);
    result.dQ = weighted_sum(dS, row_.K, p_.softmax_scale());
    return result;
  }

 private:
  double store(double value) const { return is_exact_ ? value : round_to(p_.dtype, value); }

  /// The product of `a` with row k of `rows` for each key k; `scale` is folded into `rows`.
  Values products(const Values& a, const Values& rows, double scale) const {
    Values result(static_cast<std::size_t>(row_.keys.size()), 0.0);
    for (std::size_t k = 0; k < result.size(); ++k) {
      const double* const row = &rows[k * a.size()];
      for (std::size_t c = 0; c < a.size(); ++c) {
        result[k] += a[c] * (scale == 1.0 ? row[c] : store(row[c] * scale));
      }
      result[k] = store(result[k]);
    }
    return result;
  }

  /// The weighted sum of the rows; `scale` is folded into `rows`.
  Values weighted_sum(const Values& weights, const Values& rows, double scale) const {
    Values result(row_.Q.size(), 0.0);
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const double* const row = &rows[k * result.size()];
      for (std::size_t c = 0; c < result.size(); ++c) {
        result[c] += weights[k] * (scale == 1.0 ? row[c] : store(row[c] * scale));
      }
    }
    for (double& value : result) value = store(value);
    return result;
  }

  /// Sets S = -inf where the block mask omits the key.
  void hide(Values& S) const {
    for (std::size_t k = 0; k < S.size(); ++k) {
      if (p_.block_mask->attends(row_.query, row_.keys.begin + static_cast<Index>(k))) continue;
      S[k] = -std::numeric_limits<double>::infinity();
    }
  }

  /// The softmax of S; P = 0 and LSE = -inf if no key is visible.
  Values softmax(const Values& S, double& LSE) const {
    const double m = *std::max_element(S.begin(), S.end());
    Values P(S.size());
    LSE = m;
    if (std::isinf(m)) return P;
    double l = 0.0;
    for (std::size_t k = 0; k < S.size(); ++k) l += P[k] = std::exp(S[k] - m);
    for (double& p : P) p = store(p / l);
    LSE = m + std::log(l);
    if (!is_exact_) LSE = round_to(DType::fp32, LSE);
    return P;
  }

  Values dropped(Values values) const {
    steps_.drop(view_of_row(values), row_.query, row_.keys.begin);
    for (double& value : values) value = store(value);
    return values;
  }

  const AttentionProblem& p_;
  const RowOperands& row_;
  bool is_exact_;
  ScoreSteps steps_;
};

}  // namespace

ScoredRow scored_row(const AttentionProblem& problem, const RowOperands& operands,
                     RowPrecision precision) {
  return RowSteps(problem, operands, precision).run();
}

}  // namespace attnscope::kernels
