/// The sequences of a problem: key lengths and packing.
#pragma once

#include <optional>
#include <vector>

#include "reference/attention_problem.h"

namespace attnscope {

/// Batch entries of one key length: their heads move the same bytes, so one of them is counted for
/// all.
struct KeyLengthGroup {
  Index first = 0;      ///< one of them
  Index count = 0;      ///< size of the group
  Index key_count = 0;  ///< valid keys of each
};

/// Every batch entry is in one group; the shortest keys come first.
std::vector<KeyLengthGroup> group_batch_by_key_length(const AttentionProblem& problem);

/// Leaves one batch entry of the group in the problem, whose own lengths no longer matter.
void leave_one_entry(AttentionProblem& problem, const KeyLengthGroup& group);

/// Nothing, or one line: what, why, what would be accepted. The sizes of the problem are valid.
std::optional<Error> validate_key_lengths(const AttentionProblem& problem);
std::optional<Error> validate_packing(const AttentionProblem& problem);

}  // namespace attnscope
