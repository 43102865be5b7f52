/// The operations of the first head of a run, in order, with a fingerprint of each one's result.
#pragma once

#include <cstdint>
#include <vector>

#include "app/documents/simulated_run.h"
#include "sim/ops/tile_op.h"

namespace attnscope::lessons {

/// The largest number of scores in a run whose values can be followed.
inline constexpr Index kMostFollowedScores = Index{1} << 20;
/// The largest number of tiles of scores in a run whose operations can be followed.
inline constexpr Index kMostFollowedTiles = Index{1} << 15;

struct HeadOperations {
  std::vector<TileOp> ops;             ///< one operation for each step
  std::vector<std::uint64_t> results;  ///< hash of each operation's result, if requested
  std::vector<Index> launches;         ///< the first step of each launch
};

/// The operations of the run's first head. unavailable for a run that is too large; with values,
/// errors as in load_inputs().
Result<HeadOperations> head_operations(const ModelRun& model, bool with_values);

}  // namespace attnscope::lessons
