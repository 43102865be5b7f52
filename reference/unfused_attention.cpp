#include "reference/unfused_attention.h"

#include <cmath>
#include <limits>

#include "reference/eigen_view.h"
#include "reference/rounding.h"
#include "reference/row_blocks.h"
#include "reference/score_steps.h"

namespace attnscope {
namespace {

using RowMatrixF = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

float store_as(DType dtype, float x) {
  return static_cast<float>(round_to(dtype, static_cast<double>(x)));
}

/// Softmax of the visible part of a row, in fp32; P is stored in the problem's precision. Returns
/// LSE.
template <typename Row>
float softmax_row(DType dtype, const KeyRange& keys, Row&& row) {
  if (keys.size() == 0) {
    row.setZero();
    return -std::numeric_limits<float>::infinity();
  }
  const float m = row.segment(keys.begin, keys.size()).maxCoeff();
  if (m == -std::numeric_limits<float>::infinity()) return softmax_row(dtype, {}, row);
  float l = 0.0f;
  for (Index k = 0; k < row.size(); ++k) {
    const bool visible = k >= keys.begin && k < keys.end;
    row[k] = visible ? std::exp(row[k] - m) : 0.0f;
    l += row[k];
  }
  for (Index k = keys.begin; k < keys.end; ++k) row[k] = store_as(dtype, row[k] / l);
  return m + std::log(l);
}

/// Applies dropout to a stored block, and stores it again.
void drop_block(const ScoreSteps& steps, DType dtype, const RowBlock& block, RowMatrixF& P) {
  if (!steps.drops()) return;
  for (Index row = 0; row < block.rows; ++row) {
    steps.drop(P.row(row), block.begin + row, block.keys.begin);
  }
  P = P.unaryExpr([dtype](float x) { return store_as(dtype, x); }).eval();
}

void unfused_head(const AttentionProblem& problem, const AttentionInputs& inputs, Index b, Index h,
                  ForwardResult& result) {
  const DType dtype = problem.dtype;
  const auto store = [dtype](float x) { return store_as(dtype, x); };
  const float scale = static_cast<float>(problem.softmax_scale());
  const RowMatrixF Q = head_matrix(inputs.Q, b, h).cast<float>();
  const RowMatrixF V = head_matrix(inputs.V, b, problem.kv_head_of(h)).cast<float>();
  RowMatrixF K = head_matrix(inputs.K, b, problem.kv_head_of(h)).cast<float>();
  K = (K * scale).unaryExpr(store).eval();
  auto O = head_matrix(result.O, b, h);
  auto LSE = result.LSE.head(b, h);
  const ScoreSteps steps(problem, b, h);

  RowMatrixF S, O_block;
  for_each_row_block(problem, b, [&](const RowBlock& block) {
    if (block.keys.size() == 0) return;
    S.noalias() = Q.middleRows(block.begin, block.rows) *
                  K.middleRows(block.keys.begin, block.keys.size()).transpose();
    S = S.unaryExpr(store).eval();
    for (Index row = 0; row < block.rows; ++row) {
      steps.apply(S.row(row), block.begin + row, block.keys.begin);
      hide_masked_tiles(problem, block.begin + row, block.keys, S.row(row));
      LSE[static_cast<std::size_t>(block.begin + row)] =
          softmax_row(dtype, keys_within(problem, block, row, b), S.row(row));
    }
    drop_block(steps, dtype, block, S);
    O_block.noalias() = S * V.middleRows(block.keys.begin, block.keys.size());
    O.middleRows(block.begin, block.rows) = O_block.unaryExpr(store).cast<double>();
  });
}

/// Applies the score function and softmax to every row of a stored block of scores.
void softmax_block(const AttentionProblem& problem, const ScoreSteps& steps, Index b,
                   const RowBlock& block, RowMatrixF& S) {
  for (Index row = 0; row < block.rows; ++row) {
    steps.apply(S.row(row), block.begin + row, block.keys.begin);
    hide_masked_tiles(problem, block.begin + row, block.keys, S.row(row));
    softmax_row(problem.dtype, keys_within(problem, block, row, b), S.row(row));
  }
}

/// Adds one query head's dK and dV to those of its KV head, and writes its dQ.
void unfused_backward_head(const AttentionProblem& problem, const AttentionInputs& inputs, Index b,
                           Index h, Gradients& gradients) {
  const auto store = [dtype = problem.dtype](float x) { return store_as(dtype, x); };
  const float scale = static_cast<float>(problem.softmax_scale());
  const Index kv_head = problem.kv_head_of(h);
  const RowMatrixF Q = head_matrix(inputs.Q, b, h).cast<float>();
  const RowMatrixF V = head_matrix(inputs.V, b, kv_head).cast<float>();
  const RowMatrixF dO = head_matrix(inputs.dO, b, h).cast<float>();
  RowMatrixF K = head_matrix(inputs.K, b, kv_head).cast<float>();
  K = (K * scale).unaryExpr(store).eval();
  auto dQ = head_matrix(gradients.dQ, b, h);
  RowMatrixF dK = RowMatrixF::Zero(problem.N_kv, problem.d);
  RowMatrixF dV = RowMatrixF::Zero(problem.N_kv, problem.d);

  const ScoreSteps steps(problem, b, h);

  RowMatrixF P, P_dropped, dS, slopes, dQ_block;
  for_each_row_block(problem, b, [&](const RowBlock& block) {
    if (block.keys.size() == 0) return;
    const auto Q_block = Q.middleRows(block.begin, block.rows);
    const auto dO_block = dO.middleRows(block.begin, block.rows);
    const auto K_block = K.middleRows(block.keys.begin, block.keys.size());
    P.noalias() = Q_block * K_block.transpose();
    P = P.unaryExpr(store).eval();
    if (steps.caps()) slopes = P;
    softmax_block(problem, steps, b, block, P);

    dS.noalias() = dO_block * V.middleRows(block.keys.begin, block.keys.size()).transpose();
    dS = dS.unaryExpr(store).eval();
    drop_block(steps, problem.dtype, block, dS);
    const Eigen::VectorXf D = P.cwiseProduct(dS).rowwise().sum();
    dS = P.cwiseProduct(dS.colwise() - D).eval();
    for (Index row = 0; row < block.rows && steps.caps(); ++row) {
      steps.slopes(slopes.row(row));
      dS.row(row).array() *= slopes.row(row).array();
    }
    dS = dS.unaryExpr(store).eval();

    P_dropped = P;
    drop_block(steps, problem.dtype, block, P_dropped);
    dV.middleRows(block.keys.begin, block.keys.size()).noalias() +=
        P_dropped.transpose() * dO_block;
    dK.middleRows(block.keys.begin, block.keys.size()).noalias() += dS.transpose() * Q_block;
    dQ_block.noalias() = dS * K_block;
    dQ.middleRows(block.begin, block.rows) = dQ_block.unaryExpr(store).cast<double>();
  });
  const RowMatrixF dK_scaled = dK.unaryExpr(store) * scale;
  head_matrix(gradients.dK, b, kv_head) += dK_scaled.unaryExpr(store).cast<double>();
  head_matrix(gradients.dV, b, kv_head) += dV.unaryExpr(store).cast<double>();
}

}  // namespace

ForwardResult unfused_forward(const AttentionProblem& problem, const AttentionInputs& inputs) {
  ForwardResult result{HeadTensor(problem.batch, problem.heads, problem.N, problem.d),
                       HeadTensor(problem.batch, problem.heads, problem.N, 1,
                                  -std::numeric_limits<double>::infinity())};
  for (Index b = 0; b < problem.batch; ++b) {
    for (Index h = 0; h < problem.heads; ++h) unfused_head(problem, inputs, b, h, result);
  }
  return result;
}

Gradients unfused_backward(const AttentionProblem& problem, const AttentionInputs& inputs) {
  Gradients gradients{HeadTensor(problem.batch, problem.heads, problem.N, problem.d),
                      HeadTensor(problem.batch, problem.kv_heads, problem.N_kv, problem.d),
                      HeadTensor(problem.batch, problem.kv_heads, problem.N_kv, problem.d)};
  for (Index b = 0; b < problem.batch; ++b) {
    for (Index h = 0; h < problem.heads; ++h) {
      unfused_backward_head(problem, inputs, b, h, gradients);
    }
  }
  for (HeadTensor* sums : {&gradients.dK, &gradients.dV}) {
    for (double& sum : sums->data) sum = round_to(problem.dtype, sum);
  }
  return gradients;
}

}  // namespace attnscope
