#include "reference/row_softmax.h"

#include <algorithm>
#include <cmath>

#include "reference/rounding.h"

namespace attnscope {

namespace {

/// Arithmetic that rounds every result.
class Rounded {
 public:
  explicit Rounded(DType precision) : precision_(precision) {}
  double operator()(double x) const { return round_to(precision_, x); }
  double exp_against(double x, double m) const { return (*this)(std::exp((*this)(x - m))); }

 private:
  DType precision_;
};

/// Adds a score, already rounded, to the running state.
void fold(double score, const Rounded& rounded, OnlineState& row) {
  const double m_prev = row.m;
  row.m = std::max(m_prev, score);
  const double alpha = m_prev == -kInfinity ? 0.0 : rounded.exp_against(m_prev, row.m);
  row.l = rounded(rounded(row.l * alpha) + rounded.exp_against(score, row.m));
}

/// The shift m of the numerators exp(x - m), and their sum l.
OnlineState statistics(SoftmaxMethod method, std::span<const double> x, const Rounded& rounded) {
  OnlineState row;
  if (method == SoftmaxMethod::online) {
    row.m = -kInfinity;
    for (const double score : x) fold(score, rounded, row);
    return row;
  }
  if (method == SoftmaxMethod::safe) row.m = *std::ranges::max_element(x);
  for (const double score : x) row.l = rounded(row.l + rounded.exp_against(score, row.m));
  return row;
}

/// The softmax in double.
std::vector<double> exact_softmax(std::span<const double> x) {
  std::vector<double> P(x.begin(), x.end());
  const double m = *std::ranges::max_element(x);
  double l = 0;
  for (double& p : P) l += p = std::exp(p - m);
  for (double& p : P) p /= l;
  return P;
}

}  // namespace

std::vector<OnlineState> online_states(DType precision, std::span<const double> x) {
  const Rounded rounded(precision);
  std::vector<OnlineState> states;
  OnlineState row{-kInfinity, 0};
  for (const double score : x) {
    fold(rounded(score), rounded, row);
    states.push_back(row);
  }
  return states;
}

RowSoftmax row_softmax(SoftmaxMethod method, DType precision, std::span<const double> x) {
  RowSoftmax result;
  if (x.empty()) return result;
  const Rounded rounded(precision);
  std::vector<double> scores;
  for (const double score : x) scores.push_back(rounded(score));
  const OnlineState row = statistics(method, scores, rounded);
  result.l = row.l;

  const std::vector<double> exact = exact_softmax(scores);
  const std::vector<double> unrounded = exact_softmax(x);
  for (std::size_t k = 0; k < scores.size(); ++k) {
    const double numerator = rounded.exp_against(scores[k], row.m);
    const double P = rounded(numerator / row.l);
    if (std::isinf(numerator)) ++result.overflowed_elems;
    if (std::isnan(P)) {
      ++result.nan_elems;
    } else {
      result.max_abs_error = std::max(result.max_abs_error, std::abs(P - exact[k]));
      result.score_max_abs_error = std::max(result.score_max_abs_error, std::abs(P - unrounded[k]));
    }
    result.P.push_back(P);
  }
  return result;
}

SoftmaxMethods softmax_methods(Index query, std::span<const double> scores, Index Bc) {
  SoftmaxMethods methods;
  methods.query = query;
  std::vector<double> x;
  std::vector<Index> keys;
  for (std::size_t key = 0; key < scores.size(); ++key) {
    if (!std::isfinite(scores[key])) continue;
    x.push_back(scores[key]);
    keys.push_back(static_cast<Index>(key));
  }
  methods.keys = static_cast<Index>(x.size());
  if (x.empty()) return methods;
  methods.largest_score = *std::ranges::max_element(x);

  for (const DType dtype : kShownTypes) {
    for (const auto method : {SoftmaxMethod::naive, SoftmaxMethod::safe, SoftmaxMethod::online}) {
      const double shift = method == SoftmaxMethod::naive ? 0.0 : methods.largest_score;
      const double numerator =
          round_to(dtype, std::exp(round_to(dtype, methods.largest_score - shift)));
      methods.cases.push_back({method, dtype, numerator, row_softmax(method, dtype, x)});
      methods.cases.back().softmax.P = {};
    }
  }

  // The state of the online softmax at the end of each tile
  const std::vector<OnlineState> states = online_states(DType::fp32, x);
  for (std::size_t n = 0; n < states.size(); ++n) {
    const Index j = keys[n] / Bc;
    if (n + 1 < states.size() && keys[n + 1] / Bc == j) continue;
    methods.steps.push_back({static_cast<std::int32_t>(j), static_cast<Index>(n) + 1, states[n]});
  }
  return methods;
}

}  // namespace attnscope
