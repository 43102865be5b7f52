/// m, l and alpha of a row as the online softmax has them, in double precision.
#pragma once

#include <optional>
#include <vector>

#include "kernels/trace/kernel_trace.h"
#include "reference/inputs.h"

namespace attnscope::test {

struct OnlineState {
  double m, l, alpha;
};

/// Of the row after each column tile; nothing for a tile in which no row of its row tile sees a
/// key. Row, head and batch entry are those of `row`.
std::vector<std::optional<OnlineState>> online_states(const AttentionProblem& problem,
                                                      const AttentionInputs& inputs,
                                                      const TracedRow& row, const Tiling& tiling);

}  // namespace attnscope::test
