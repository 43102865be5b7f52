#include "sim/alike_entries.h"

#include <map>

namespace attnscope {

std::vector<AlikeEntries> alike_entries(const AttentionProblem& problem) {
  if (!problem.has_key_lengths()) return {{0, problem.batch, problem.N_kv}};
  std::map<Index, AlikeEntries> by_length;
  for (Index b = 0; b < problem.batch; ++b) {
    const Index length = problem.key_lengths[static_cast<std::size_t>(b)];
    AlikeEntries& entries = by_length[length];
    if (entries.count++ == 0) entries = {b, 1, length};
  }
  std::vector<AlikeEntries> all;
  all.reserve(by_length.size());
  for (const auto& [length, entries] : by_length) all.push_back(entries);
  return all;
}

}  // namespace attnscope
