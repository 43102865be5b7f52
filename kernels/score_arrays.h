/// The arrays of a problem that its kernels read in device memory: ScoreParameters points to them.
#pragma once

#include <vector>

#include "kernels/score_parameters.h"
#include "reference/attention_problem.h"

namespace attnscope::kernels {

/// Empty where the problem has none.
struct ScoreArrays {
  std::vector<int> cu_seqlens_q, cu_seqlens_k, key_lengths;
  std::vector<float> alibi_slopes;
};
ScoreArrays score_arrays(const AttentionProblem& problem, ScoreUnit unit = ScoreUnit::before_scale);

/// Lists for packed sequences, in the format of kernels/block_sparse/tile_lists.h: for each row
/// tile the column tiles in which it sees a key, and for each column tile the row tiles that see
/// it. Between two sequences there may be tiles in neither list.
std::vector<int> packed_column_tiles(const AttentionProblem& problem, const Tiling& tiling);
std::vector<int> packed_row_tiles(const AttentionProblem& problem, const Tiling& tiling);

}  // namespace attnscope::kernels
