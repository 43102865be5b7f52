/// The blocks of query rows in which the reference traverses the score matrix, each with the
/// smallest range that contains all keys its rows attend to, ignoring the block mask.
#pragma once

#include <algorithm>
#include <limits>

#include "reference/attention_problem.h"
#include "reference/block_mask.h"

namespace attnscope {

struct RowBlock {
  Index begin = 0;  ///< first query row
  Index rows = 0;
  KeyRange keys;  ///< union of the rows' ranges; empty if no row attends to anything
};

/// Keys that a row of the block attends to in batch entry b, counted from the block's first key.
inline KeyRange keys_within(const AttentionProblem& problem, const RowBlock& block, Index row,
                            Index b) {
  const KeyRange keys = problem.keys_of(block.begin + row, b);
  if (keys.size() == 0) return {};
  return {keys.begin - block.keys.begin, keys.end - block.keys.begin};
}

/// Calls `visit(RowBlock)` for consecutive blocks that cover all queries of a head of entry b.
template <typename Visit>
void for_each_row_block(const AttentionProblem& problem, Index b, Visit&& visit) {
  constexpr Index kRows = 128;  // a block of scores stays in cache at common lengths
  for (Index begin = 0; begin < problem.N; begin += kRows) {
    RowBlock block{begin, std::min(kRows, problem.N - begin), {problem.N_kv, 0}};
    for (Index row = 0; row < block.rows; ++row) {
      const KeyRange keys = problem.keys_of(begin + row, b);
      if (keys.size() == 0) continue;
      block.keys.begin = std::min(block.keys.begin, keys.begin);
      block.keys.end = std::max(block.keys.end, keys.end);
    }
    visit(block);
  }
}

/// In a row of scores over the keys [keys.begin, keys.end), sets those that the block mask hides to
/// -inf.
template <typename Row>
void hide_masked_tiles(const AttentionProblem& problem, Index query, const KeyRange& keys,
                       Row&& row) {
  using Scalar = std::decay_t<decltype(row[0])>;
  if (problem.block_mask == nullptr) return;
  const BlockMask& M = *problem.block_mask;
  const auto [Br, Bc] = M.tiling();
  for (Index j = keys.begin / Bc; j * Bc < keys.end; ++j) {
    if (M.contains(query / Br, j)) continue;
    const Index begin = std::max(j * Bc, keys.begin);
    const Index end = std::min((j + 1) * Bc, keys.end);
    row.segment(begin - keys.begin, end - begin)
        .setConstant(-std::numeric_limits<Scalar>::infinity());
  }
}

}  // namespace attnscope
