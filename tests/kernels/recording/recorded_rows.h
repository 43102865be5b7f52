/// Properties of rows that the tests of shipped recordings use.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "kernels/recording/recording.h"
#include "reference/block_mask.h"

namespace attnscope::test {

/// A recording of assets/recordings.
inline Recording read_shipped(const std::string& name) {
  auto recording = read_recording(ATTNSCOPE_SOURCE_DIR "/assets/recordings/" + name);
  EXPECT_TRUE(recording.ok()) << recording.error().message;
  return recording ? std::move(recording).value() : Recording{};
}

/// The row's run as text: "flash2 backward N 4096 d 64 causal".
inline std::string describe(const RecordingRow& row) {
  const AttentionProblem& p = row.run.problem;
  return row.run.asked.kernel + " " + std::string(to_string(row.run.pass())) + " N " +
         std::to_string(p.N) + " d " + std::to_string(p.d) + " " + to_string(p.mask);
}

/// The number of query rows that the column tiles of a head visit, with no mask or a causal one:
/// for each tile, the rows of the first row tile that sees it and of all later ones.
inline double rows_visited(const RecordingRow& row) {
  const AttentionProblem& p = row.run.problem;
  Index rows = 0;
  for (Index key = 0; key < p.N_kv; key += row.run.tiling.Bc) {
    const Index first = p.mask.is_none() ? 0 : std::clamp<Index>(key - p.diagonal(0), 0, p.N);
    if (first < p.N) rows += p.N - first / row.run.tiling.Br * row.run.tiling.Br;
  }
  return static_cast<double>(rows);
}

/// The number of tiles of the row's block mask that are at least partly visible under its mask,
/// none or a causal one: over all row tiles of a head.
inline Index tiles_visited(const RecordingRow& row) {
  const AttentionProblem& p = row.run.problem;
  const BlockMask& M = *p.block_mask;
  Index tiles = 0;
  for (Index i = 0; i < M.Tr(); ++i) {
    const Index last = std::min((i + 1) * row.run.tiling.Br, p.N) - 1;
    const Index end = p.keys_of(last).end;
    tiles += std::ranges::count_if(M.columns_of(i),
                                   [&](Index j) { return j * row.run.tiling.Bc < end; });
  }
  return tiles;
}

}  // namespace attnscope::test
