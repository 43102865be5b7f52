#include "reference/unfused_attention.h"

#include <cmath>
#include <limits>

#include "reference/eigen_view.h"
#include "reference/rounding.h"
#include "reference/row_blocks.h"

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
  float l = 0.0f;
  for (Index k = 0; k < row.size(); ++k) {
    const bool visible = k >= keys.begin && k < keys.end;
    row[k] = visible ? std::exp(row[k] - m) : 0.0f;
    l += row[k];
  }
  for (Index k = keys.begin; k < keys.end; ++k) row[k] = store_as(dtype, row[k] / l);
  return m + std::log(l);
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

  RowMatrixF S, O_block;
  for_each_row_block(problem, [&](const RowBlock& block) {
    if (block.keys.size() == 0) return;
    S.noalias() = Q.middleRows(block.begin, block.rows) *
                  K.middleRows(block.keys.begin, block.keys.size()).transpose();
    S = S.unaryExpr(store).eval();
    for (Index row = 0; row < block.rows; ++row) {
      KeyRange keys = problem.keys_of(block.begin + row);
      keys = keys.size() == 0
                 ? KeyRange{}
                 : KeyRange{keys.begin - block.keys.begin, keys.end - block.keys.begin};
      LSE[static_cast<std::size_t>(block.begin + row)] = softmax_row(dtype, keys, S.row(row));
    }
    O_block.noalias() = S * V.middleRows(block.keys.begin, block.keys.size());
    O.middleRows(block.begin, block.rows) = O_block.unaryExpr(store).cast<double>();
  });
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

}  // namespace attnscope
