#include "app/choice_rules.h"

#include <algorithm>

#include "app/step_simulator.h"
#include "sim/schedule/catalog.h"

namespace attnscope::app {

namespace {

/// The value on an axis of another length; at least 1.
Index scaled(Index value, Index before, Index after) {
  return std::clamp<Index>(value * after / std::max<Index>(before, 1), 1,
                           std::max<Index>(after, 1));
}

void scale_key_lengths(const AttentionProblem& before, AttentionProblem& after) {
  if (!after.has_key_lengths() || after.key_lengths != before.key_lengths) return;
  const Index batch = std::clamp<Index>(after.batch, 1, kMaxHeads);
  after.key_lengths.resize(static_cast<std::size_t>(batch), after.key_lengths.back());
  for (Index& length : after.key_lengths) length = scaled(length, before.N_kv, after.N_kv);
}

void scale_sequences(const AttentionProblem& before, AttentionProblem& after) {
  if (!after.is_packed() || after.cu_seqlens_q != before.cu_seqlens_q) return;
  const auto scale = [](std::vector<Index>& ends, Index old_size, Index size) {
    for (Index& end : ends) end = end == 0 ? 0 : scaled(end, old_size, size);
    ends.back() = size;
  };
  scale(after.cu_seqlens_q, before.N, after.N);
  scale(after.cu_seqlens_k, before.N_kv, after.N_kv);
}

}  // namespace

Choice with_consequences(const Choice& before, Choice after) {
  const AttentionProblem& old = before.problem;
  AttentionProblem& problem = after.problem;
  const bool standard_slopes =
      old.score.has_alibi() && old.score.alibi_slopes == standard_alibi_slopes(old.heads);
  const bool sane_heads = problem.heads >= 1 && problem.heads <= kMaxHeads;
  if (standard_slopes && sane_heads && problem.score.alibi_slopes == old.score.alibi_slopes) {
    problem.score.alibi_slopes = standard_alibi_slopes(problem.heads);
  }
  scale_key_lengths(old, problem);
  scale_sequences(old, problem);

  const Algorithm* algorithm = find_algorithm(after.algorithm);
  const bool sparse = algorithm != nullptr && algorithm->takes_block_mask;
  if (sparse && !after.block_mask) after.block_mask = BlockPattern{};
  if (!sparse) {
    after.block_mask.reset();
    after.skip_unused_kv = false;
  }
  if (algorithm == nullptr || !algorithm->splits_keys) {
    after.splits = 0;
    after.separate_heads = false;
  }
  if (before.algorithm != after.algorithm) {
    if (after.algorithm != "standard") {
      after.variant.fusion = Fusion::rows;
      after.variant.checkpoint = false;
    }
    if (after.algorithm != "flash1") {
      after.variant.skip_first_reads = false;
      after.variant.d_once = false;
    }
  }
  return after;
}

Choice rival_of(const Choice& choice, const std::string& rival) {
  Choice other = choice;
  other.algorithm = rival;
  other = with_consequences(choice, std::move(other));
  if (!check_choice(other)) return other;
  Choice smaller = other;
  if (const auto tiling = largest_tiling_of(other)) smaller.tiling = *tiling;
  return check_choice(smaller) ? other : smaller;
}

std::vector<Index> nearest_ends(std::vector<Index> ends, Index size) {
  for (Index& end : ends) end = std::clamp<Index>(end, 0, std::max<Index>(size, 0));
  std::ranges::sort(ends);
  if (ends.empty() || ends.front() != 0) ends.insert(ends.begin(), 0);
  if (ends.size() < 2 || ends.back() != size) ends.push_back(size);
  return ends;
}

std::vector<Index> packed_ends(Index parts, Index size) {
  // Lengths grow by one part each: 1 : 2 : 3
  std::vector<Index> ends{0};
  const Index whole = parts * (parts + 1) / 2;
  Index sum = 0;
  for (Index part = 1; part <= parts; ++part) {
    sum += part;
    ends.push_back(size * sum / whole);
  }
  return ends;
}

}  // namespace attnscope::app
