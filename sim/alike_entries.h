/// Which batch entries are alike: one head of each kind is counted, for all.
#pragma once

#include <vector>

#include "reference/attention_problem.h"

namespace attnscope {

/// Batch entries whose heads are alike: those of one key length.
struct AlikeEntries {
  Index first = 0;      ///< one of them
  Index count = 0;      ///< how many they are
  Index key_count = 0;  ///< valid keys of each
};

/// Every batch entry is in one of these kinds; the shortest keys come first.
std::vector<AlikeEntries> alike_entries(const AttentionProblem& problem);

}  // namespace attnscope
