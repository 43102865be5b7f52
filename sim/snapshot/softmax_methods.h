/// Why the softmax is online: the naive, the safe and the online softmax of one query row of a run,
/// each with every operation rounded (reference/row_softmax.h), and the intermediate states of the
/// online one.
#pragma once

#include <vector>

#include "reference/row_softmax.h"

namespace attnscope {

/// The online softmax, in fp32 as kernels compute it, after the keys of one column tile.
struct OnlineStep {
  std::int32_t j = 0;
  Index keys_seen = 0;
  OnlineState state;
};

struct SoftmaxMethods {
  Index query = 0;
  Index keys = 0;  ///< that the query sees; 0: the fields below are unset
  double largest_score = 0;
  /// Each method in each of kShownTypes.
  struct Case {
    SoftmaxMethod method = SoftmaxMethod::naive;
    DType dtype = DType::fp32;
    double largest_numerator = 0;  ///< infinite where it overflows
    RowSoftmax softmax;            ///< without its P
  };
  std::vector<Case> cases;
  std::vector<OnlineStep> steps;
};

inline constexpr DType kShownTypes[] = {DType::fp16, DType::fp32};

/// Longest row that is compared.
inline constexpr Index kMaxComparedKeys = Index{1} << 16;

/// `scores` is the row of the query, hidden keys at -inf; column tiles have Bc keys.
SoftmaxMethods softmax_methods(Index query, std::span<const double> scores, Index Bc);

}  // namespace attnscope
