/// Softmax of one row by three methods, with every operation rounded to one precision: why the
/// largest score is subtracted first, and that finding it in the same sweep costs no accuracy.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "reference/attention_problem.h"

namespace attnscope {

/// naive   p_k = exp(x_k); l = sum p_k                                   overflows
/// safe    m = max x; p_k = exp(x_k - m); l = sum p_k                    two sweeps for m and l
/// online  m and l in one sweep: l = l exp(m_prev - m) + exp(x_k - m)    (arXiv 1805.02867)
/// and P_k = p_k / l in each: one more sweep, which attention avoids by rescaling O.
enum class SoftmaxMethod : std::uint8_t { naive, safe, online };

constexpr std::array<std::string_view, 3> enum_names(SoftmaxMethod) {
  return {"naive", "safe", "online"};
}

struct RowSoftmax {
  std::vector<double> P;
  double l = 0;                ///< infinite where the sum overflowed
  Index overflowed_elems = 0;  ///< numerators p_k that are infinite
  Index nan_elems = 0;         ///< elements of P that are NaN
  double max_abs_error = 0;    ///< of P against the rounded x's in double; NaN elements left out
  double score_max_abs_error = 0;  ///< of P against the unrounded x
};

/// The running maximum and sum of the online softmax.
struct OnlineState {
  double m = 0;
  double l = 0;
};

/// The states after each element of x, which is rounded to the precision first.
std::vector<OnlineState> online_states(DType precision, std::span<const double> x);

/// The softmax of x, which is rounded to the precision first.
RowSoftmax row_softmax(SoftmaxMethod method, DType precision, std::span<const double> x);

}  // namespace attnscope
