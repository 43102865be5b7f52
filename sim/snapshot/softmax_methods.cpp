#include "sim/snapshot/snapshot.h"

#include <algorithm>
#include <cmath>

#include "reference/rounding.h"

namespace attnscope {

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
