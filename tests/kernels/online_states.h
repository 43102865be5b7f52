/// m, l and alpha of a row in the online softmax, in double precision.
#pragma once

#include <optional>
#include <vector>

#include "kernels/measure/trace/kernel_trace.h"
#include "reference/inputs.h"

namespace attnscope::test {

struct OnlineState {
  double m, l, alpha;
};

/// The keys that a sweep visits: it restarts with each of `splits` parts of the column tiles, and
/// takes the `part`-th of `parts` equal pieces of each tile.
struct Sweep {
  Index splits = 1;
  Index part = 0;
  Index parts = 1;
};

/// The row's state after each column tile; nothing for a tile that the block mask leaves out, or in
/// which no row of its row tile sees a key. Row, head and batch entry are those of `row`.
std::vector<std::optional<OnlineState>> online_states(const AttentionProblem& problem,
                                                      const AttentionInputs& inputs,
                                                      const TracedRow& row, const Tiling& tiling,
                                                      const Sweep& sweep = {});

}  // namespace attnscope::test
