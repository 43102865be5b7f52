/// Softmax of one row by three methods, with every operation rounded to one precision. Shows why
/// the largest score is subtracted first, and that finding it in the same sweep does not reduce
/// accuracy.
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
  double l = 0;                    ///< infinite if the sum overflowed
  Index overflowed_elems = 0;      ///< numerators p_k that are infinite
  Index nan_elems = 0;             ///< elements of P that are NaN
  double max_abs_error = 0;        ///< of P against softmax(rounded x) in double, without NaN
                                   ///< elements
  double score_max_abs_error = 0;  ///< of P against softmax(unrounded x) in double
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

// The demonstration of why the softmax is online: the naive, safe and online softmax of one query
// row of a run, with every operation rounded, and the intermediate states of the online one.

/// The online softmax, in fp32 as kernels compute it, after the keys of one column tile.
struct OnlineStep {
  std::int32_t j = 0;
  Index keys_seen = 0;
  OnlineState state;
};

struct SoftmaxMethods {
  Index query = 0;
  Index keys = 0;  ///< keys that the query sees; 0: the fields below are unset
  double largest_score = 0;
  /// One method in one of kShownTypes.
  struct Case {
    SoftmaxMethod method = SoftmaxMethod::naive;
    DType dtype = DType::fp32;
    double largest_numerator = 0;  ///< infinite if it overflows
    RowSoftmax softmax;            ///< without its P
  };
  std::vector<Case> cases;
  std::vector<OnlineStep> steps;
};

inline constexpr DType kShownTypes[] = {DType::fp16, DType::fp32};

/// The longest row that is compared.
inline constexpr Index kMaxComparedKeys = Index{1} << 16;

/// Compares the methods on a query's row of scores, where hidden keys are -inf; column tiles have
/// Bc keys.
SoftmaxMethods softmax_methods(Index query, std::span<const double> scores, Index Bc);

}  // namespace attnscope
