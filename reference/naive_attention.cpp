#include "reference/naive_attention.h"

#include <cmath>

#include "reference/eigen_view.h"
#include "reference/rounding.h"
#include "reference/row_blocks.h"
#include "reference/score_steps.h"

namespace attnscope {
namespace {

/// Turns a row of scores into exp(S - shift) over `keys` and 0 elsewhere; returns the sum. A shift
/// of -inf marks a row that attends to no key: all values become 0.
template <typename Row>
double exponentiate(Row&& row, const KeyRange& keys, double shift) {
  if (shift == -kInfinity) {
    row.setZero();
    return 0.0;
  }
  double sum = 0.0;
  for (Index k = 0; k < row.size(); ++k) {
    const bool visible = k >= keys.begin && k < keys.end;
    row[k] = visible ? std::exp(row[k] - shift) : 0.0;
    sum += row[k];
  }
  return sum;
}

/// O and LSE of one head.
void forward_head(const AttentionProblem& problem, const AttentionInputs& inputs, Index b, Index h,
                  ForwardResult& result) {
  const auto Q = head_matrix(inputs.Q, b, h);
  const auto K = head_matrix(inputs.K, b, problem.kv_head_of(h));
  const auto V = head_matrix(inputs.V, b, problem.kv_head_of(h));
  auto O = head_matrix(result.O, b, h);
  auto LSE = result.LSE.head(b, h);
  const ScoreSteps steps(problem, b, h);

  RowMatrix S;
  for_each_row_block(problem, b, [&](const RowBlock& block) {
    if (block.keys.size() == 0) return;
    const auto K_block = K.middleRows(block.keys.begin, block.keys.size());
    const auto V_block = V.middleRows(block.keys.begin, block.keys.size());
    S.noalias() = Q.middleRows(block.begin, block.rows) * K_block.transpose();
    S *= problem.softmax_scale();

    // Turn S into dropped P, row by row, unnormalised; an empty row stays 0
    Eigen::VectorXd inverse_sum = Eigen::VectorXd::Zero(block.rows);
    for (Index row = 0; row < block.rows; ++row) {
      const KeyRange keys = keys_within(problem, block, row, b);
      steps.apply(S.row(row), block.begin + row, block.keys.begin);
      hide_masked_tiles(problem, block.begin + row, block.keys, S.row(row));
      const double m =
          keys.size() == 0 ? -kInfinity : S.row(row).segment(keys.begin, keys.size()).maxCoeff();
      const double l = exponentiate(S.row(row), keys, m);
      if (l == 0.0) continue;  // attends to no key
      inverse_sum[row] = 1.0 / l;
      LSE[static_cast<std::size_t>(block.begin + row)] = m + std::log(l);
      steps.drop(S.row(row), block.begin + row, block.keys.begin);
    }
    O.middleRows(block.begin, block.rows).noalias() = inverse_sum.asDiagonal() * (S * V_block);
  });
}

/// Adds one query head's gradients to dK and dV of its KV head, and writes its dQ.
void backward_head(const AttentionProblem& problem, const AttentionInputs& inputs,
                   const ForwardResult& forward, Index b, Index h, Gradients& gradients) {
  const Index kv_head = problem.kv_head_of(h);
  const auto Q = head_matrix(inputs.Q, b, h);
  const auto K = head_matrix(inputs.K, b, kv_head);
  const auto V = head_matrix(inputs.V, b, kv_head);
  const auto dO = head_matrix(inputs.dO, b, h);
  const auto O = head_matrix(forward.O, b, h);
  const auto LSE = forward.LSE.head(b, h);
  auto dQ = head_matrix(gradients.dQ, b, h);
  auto dK = head_matrix(gradients.dK, b, kv_head);
  auto dV = head_matrix(gradients.dV, b, kv_head);

  const ScoreSteps steps(problem, b, h);

  RowMatrix P, dS, slopes;
  for_each_row_block(problem, b, [&](const RowBlock& block) {
    if (block.keys.size() == 0) return;
    const auto Q_block = Q.middleRows(block.begin, block.rows);
    const auto dO_block = dO.middleRows(block.begin, block.rows);
    const auto K_block = K.middleRows(block.keys.begin, block.keys.size());
    const auto V_block = V.middleRows(block.keys.begin, block.keys.size());

    // Recompute P from the stored log-sum-exp
    P.noalias() = Q_block * K_block.transpose();
    P *= problem.softmax_scale();
    if (steps.caps()) slopes = P;
    for (Index row = 0; row < block.rows; ++row) {
      const KeyRange keys = keys_within(problem, block, row, b);
      steps.apply(P.row(row), block.begin + row, block.keys.begin);
      hide_masked_tiles(problem, block.begin + row, block.keys, P.row(row));
      exponentiate(P.row(row), keys, LSE[static_cast<std::size_t>(block.begin + row)]);
    }

    // dS = P * (dP - D), with dP = Z * dO V^T and D = rowsum(dO * O), through the soft cap
    const Eigen::VectorXd D =
        dO_block.cwiseProduct(O.middleRows(block.begin, block.rows)).rowwise().sum();
    dS.noalias() = dO_block * V_block.transpose();
    for (Index row = 0; row < block.rows; ++row) {
      steps.drop(dS.row(row), block.begin + row, block.keys.begin);
    }
    dS = P.cwiseProduct(dS.colwise() - D) * problem.softmax_scale();
    for (Index row = 0; row < block.rows && steps.caps(); ++row) {
      steps.slopes(slopes.row(row));
      dS.row(row).array() *= slopes.row(row).array();
    }

    // Add the block to the gradients
    for (Index row = 0; row < block.rows; ++row) {
      steps.drop(P.row(row), block.begin + row, block.keys.begin);
    }
    dV.middleRows(block.keys.begin, block.keys.size()).noalias() += P.transpose() * dO_block;
    dQ.middleRows(block.begin, block.rows).noalias() = dS * K_block;
    dK.middleRows(block.keys.begin, block.keys.size()).noalias() += dS.transpose() * Q_block;
  });
}

}  // namespace

ForwardResult naive_forward(const AttentionProblem& problem, const AttentionInputs& inputs) {
  ForwardResult result{HeadTensor(problem.batch, problem.heads, problem.N, problem.d),
                       HeadTensor(problem.batch, problem.heads, problem.N, 1, -kInfinity)};
  for (Index b = 0; b < problem.batch; ++b) {
    for (Index h = 0; h < problem.heads; ++h) forward_head(problem, inputs, b, h, result);
  }
  return result;
}

Gradients naive_backward(const AttentionProblem& problem, const AttentionInputs& inputs,
                         const ForwardResult& forward) {
  Gradients gradients{HeadTensor(problem.batch, problem.heads, problem.N, problem.d),
                      HeadTensor(problem.batch, problem.kv_heads, problem.N_kv, problem.d),
                      HeadTensor(problem.batch, problem.kv_heads, problem.N_kv, problem.d)};
  for (Index b = 0; b < problem.batch; ++b) {
    for (Index h = 0; h < problem.heads; ++h) {
      backward_head(problem, inputs, forward, b, h, gradients);
    }
  }
  return gradients;
}

PartialRow partial_forward(const AttentionProblem& problem, const AttentionInputs& inputs, Index b,
                           Index h, Index query, KeyRange seen) {
  PartialRow result{-kInfinity, 0.0, std::vector<double>(static_cast<std::size_t>(problem.d))};
  KeyRange keys = problem.keys_of(query, b);
  keys = {std::max(keys.begin, seen.begin), std::min(keys.end, seen.end)};
  if (keys.size() <= 0) return result;

  const auto K = head_matrix(inputs.K, b, problem.kv_head_of(h));
  const auto V = head_matrix(inputs.V, b, problem.kv_head_of(h));
  Eigen::VectorXd P =
      K.middleRows(keys.begin, keys.size()) * head_matrix(inputs.Q, b, h).row(query).transpose();
  P *= problem.softmax_scale();
  const ScoreSteps steps(problem, b, h);
  steps.apply(P, query, keys.begin);
  hide_masked_tiles(problem, query, keys, P);
  result.m = P.maxCoeff();
  if (result.m == -kInfinity) return result;
  result.l = exponentiate(P, {0, keys.size()}, result.m);
  steps.drop(P, query, keys.begin);
  Eigen::Map<Eigen::VectorXd>(result.O.data(), problem.d).noalias() =
      V.middleRows(keys.begin, keys.size()).transpose() * P / result.l;
  return result;
}

}  // namespace attnscope
