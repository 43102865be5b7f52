/// Everything that a problem may ask of its scores, as a policy of tiled kernels: sliding
/// windows, key padding, packed sequences, soft-capping, ALiBi and dropout, each a run-time branch.
/// Its counterpart is PlainScores of plain_scores.cuh, in which all of this costs nothing.
#pragma once

#include "kernels/device/scored_columns.cuh"
#include "kernels/device/scored_rows.cuh"
#include "kernels/device/visited_tiles.cuh"

namespace attnscope::kernels::device {

struct ScoreFunctions {
  template <int Br, int Bc>
  using Rows = ScoredRows<Br, Bc>;
  template <int Br, int Bc, int kWarps>
  using Columns = ScoredColumns<Br, Bc, kWarps>;
  static constexpr Visits kVisits = Visits::either;  ///< packed sequences have lists
};

}  // namespace attnscope::kernels::device
