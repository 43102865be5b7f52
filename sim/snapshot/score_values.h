/// S, P, dP and dS of one head, in double precision, whatever the algorithm.
#pragma once

#include "reference/eigen_view.h"
#include "reference/inputs.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope {

/// A copy of the values of a matrix.
ValueTile value_tile(const RowMatrix& values);

/// The tensors in the order of kScoreTensors, [N, N_kv] each (see ScoreMatrix::values); dP and dS
/// are empty unless `gradients`. `problem` has one head.
std::array<ValueTile, kScoreTensors.size()> score_values(const AttentionProblem& problem,
                                                         const AttentionInputs& inputs,
                                                         bool gradients);

/// One row of S, [N_kv].
std::vector<double> score_row(const AttentionProblem& problem, const AttentionInputs& inputs,
                              Index query);

}  // namespace attnscope
