/// The operations of the first head of a run, in order, with a fingerprint of each one's result.
#pragma once

#include <cstdint>
#include <vector>

#include "app/documents/simulated_run.h"
#include "sim/ops/tile_op.h"

namespace attnscope::lessons {

/// Runs with more scores than this are not followed with their values.
inline constexpr Index kMostFollowedScores = Index{1} << 20;
/// Runs with more tiles of scores than this are not followed operation by operation.
inline constexpr Index kMostFollowedTiles = Index{1} << 15;

struct HeadOperations {
  std::vector<TileOp> ops;             ///< by step
  std::vector<std::uint64_t> results;  ///< hash of each operation's result; empty without values
  std::vector<Index> launches;         ///< the first step of each launch
};

/// Unavailable for a run that is too large. With values, errors as in load_inputs().
Result<HeadOperations> head_operations(const ModelRun& model, bool with_values);

}  // namespace attnscope::lessons
