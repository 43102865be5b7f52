#include "sim/snapshot/score_values.h"

#include <cmath>

#include "reference/eigen_view.h"
#include "reference/rounding.h"
#include "reference/row_blocks.h"
#include "reference/score_steps.h"

namespace attnscope {

namespace {

/// Zeros, [N, N_kv]. The values are computed in place: copying them would take as long.
ValueTile score_tile(const AttentionProblem& problem) {
  return {problem.N, problem.N_kv,
          std::vector<double>(static_cast<std::size_t>(problem.N * problem.N_kv))};
}

Eigen::Map<RowMatrix> matrix_of(ValueTile& tile) {
  return {tile.values.data(), tile.rows, tile.cols};
}

/// Applies soft cap, bias and mask to the scaled products of a query.
template <typename Row>
void apply_score_function(const AttentionProblem& problem, Index query, Row&& row) {
  ScoreSteps(problem, 0, 0).apply(row, query, 0);
  const KeyRange keys = problem.keys_of(query);
  for (Index key = 0; key < problem.N_kv; ++key) {
    if (key < keys.begin || key >= keys.end) row[key] = -kInfinity;
  }
  hide_masked_tiles(problem, query, {0, problem.N_kv}, row);
}

/// P = softmax(S), row by row; 0 for a hidden key, and for all keys of a row that attends to none.
void set_probabilities(const Eigen::Map<RowMatrix>& S, Eigen::Map<RowMatrix> P) {
  for (Index query = 0; query < S.rows(); ++query) {
    const double m = S.row(query).maxCoeff();
    if (m == -kInfinity) continue;
    for (Index key = 0; key < S.cols(); ++key) {
      P(query, key) = S(query, key) == -kInfinity ? 0.0 : std::exp(S(query, key) - m);
    }
    P.row(query) /= P.row(query).sum();
  }
}

}  // namespace

ValueTile value_tile(const RowMatrix& values) {
  return {values.rows(), values.cols(), {values.data(), values.data() + values.size()}};
}

std::array<ValueTile, kScoreTensors.size()> score_values(const AttentionProblem& problem,
                                                         const AttentionInputs& inputs,
                                                         bool gradients) {
  std::array<ValueTile, kScoreTensors.size()> tiles{score_tile(problem), score_tile(problem)};
  const ScoreSteps steps(problem, 0, 0);
  Eigen::Map<RowMatrix> S = matrix_of(tiles[0]), P = matrix_of(tiles[1]);
  S.noalias() = problem.softmax_scale() *
                (head_matrix(inputs.Q, 0, 0) * head_matrix(inputs.K, 0, 0).transpose());
  RowMatrix slopes = gradients && steps.caps() ? S : RowMatrix();
  for (Index query = 0; query < problem.N; ++query) {
    apply_score_function(problem, query, S.row(query));
  }
  set_probabilities(S, P);
  if (!gradients) return tiles;

  // dP = Z * dO V^T; dS = P * (dP - D), through the soft cap. D = rowsum(dO * O) = rowsum(P * dP),
  // since O = (Z * P) V
  tiles[2] = score_tile(problem);
  tiles[3] = score_tile(problem);
  Eigen::Map<RowMatrix> dP = matrix_of(tiles[2]), dS = matrix_of(tiles[3]);
  dP.noalias() = head_matrix(inputs.dO, 0, 0) * head_matrix(inputs.V, 0, 0).transpose();
  for (Index query = 0; query < problem.N; ++query) steps.drop(dP.row(query), query, 0);
  const Eigen::VectorXd D = P.cwiseProduct(dP).rowwise().sum();
  dS = P.cwiseProduct(dP.colwise() - D);
  for (Index query = 0; query < problem.N && steps.caps(); ++query) {
    steps.slopes(slopes.row(query));
    dS.row(query).array() *= slopes.row(query).array();
  }
  return tiles;
}

std::vector<double> score_row(const AttentionProblem& problem, const AttentionInputs& inputs,
                              Index query) {
  Eigen::VectorXd S =
      problem.softmax_scale() *
      (head_matrix(inputs.K, 0, 0) * head_matrix(inputs.Q, 0, 0).row(query).transpose());
  apply_score_function(problem, query, S);
  return {S.begin(), S.end()};
}

}  // namespace attnscope
