/// What the tests of shipped recordings ask of a row.
#pragma once

#include <algorithm>
#include <string>

#include "kernels/recording/recording.h"

namespace attnscope::test {

/// "flash2 backward N 4096 d 64 causal".
inline std::string describe(const RecordingRow& row) {
  const AttentionProblem& p = row.problem;
  return row.kernel + " " + row.pass + " N " + std::to_string(p.N) + " d " + std::to_string(p.d) +
         " " + to_string(p.mask);
}

/// Query rows that the column tiles of a head visit, under no mask or a causal one: of each tile
/// those from the first row tile that sees it on.
inline double rows_visited(const RecordingRow& row) {
  const AttentionProblem& p = row.problem;
  Index rows = 0;
  for (Index key = 0; key < p.N_kv; key += row.tiling->Bc) {
    const Index first = p.mask.is_none() ? 0 : std::clamp<Index>(key - p.diagonal(0), 0, p.N);
    if (first < p.N) rows += p.N - first / row.tiling->Br * row.tiling->Br;
  }
  return static_cast<double>(rows);
}

}  // namespace attnscope::test
