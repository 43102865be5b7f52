/// The values of the softmax and of the score function, tile by tile.
#include <cmath>
#include <functional>

#include "reference/check.h"
#include "reference/rounding.h"
#include "sim/observers/numeric_executor.h"

namespace attnscope {

namespace {

/// exp(x - m); 0 for a row without a visible key so far (x = m = -inf).
double exp_against(double x, double m) {
  return x == -kInfinity && m == -kInfinity ? 0.0 : std::exp(x - m);
}

/// x / l; 0 for a row without a visible key so far (x = l = 0).
double divide_by_sum(double x, double l) {
  return x == 0.0 && l == 0.0 ? 0.0 : x / l;
}

/// Row maxima, [rows, 1]; NaN propagates, so that invalid values remain visible.
RowMatrix row_maxima(const RowMatrix& source) {
  RowMatrix maxima(source.rows(), 1);
  for (Eigen::Index r = 0; r < source.rows(); ++r) {
    maxima(r, 0) = source.row(r).maxCoeff<Eigen::PropagateNaN>();
  }
  return maxima;
}

/// The values, with every element replaced by f(values(r, c), row(r)).
template <typename F>
RowMatrix by_row(RowMatrix values, const RowMatrix& row, F f) {
  for (Eigen::Index r = 0; r < values.rows(); ++r) {
    for (Eigen::Index c = 0; c < values.cols(); ++c) values(r, c) = f(values(r, c), row(r, 0));
  }
  return values;
}

}  // namespace

/// The values of a tile of the scores, with every element replaced by f(value, query, key).
template <typename F>
RowMatrix NumericExecutor::by_key(RowMatrix values, const Tile& tile, F f) const {
  const Index row_begin = grid_->rows_of(tile).begin;
  const Index col_begin = grid_->keys_of(tile).begin;
  for (Eigen::Index r = 0; r < values.rows(); ++r) {
    for (Eigen::Index c = 0; c < values.cols(); ++c) {
      values(r, c) = f(values(r, c), row_begin + r, col_begin + c);
    }
  }
  return values;
}

/// The values that a step of the score function writes to its destination.
RowMatrix NumericExecutor::score_step_result(const TileOp& op) {
  const Tile& dest = op.dest_tiles[0];
  const double cap = problem_.score.soft_cap.value_or(0.0);
  const auto factor = [this](Index query, Index key) {
    return problem_.dropout_factor(batch_, head_, query, key);
  };
  switch (op.kind) {
    case OpKind::soft_cap:
      return read(dest).unaryExpr([cap](double x) { return cap * std::tanh(x / cap); });
    case OpKind::soft_cap_slope:
      return read(op.source_tiles[0]).unaryExpr([cap](double x) {
        return 1.0 - (x / cap) * (x / cap);
      });
    case OpKind::alibi:
      return by_key(read(dest), dest, [this](double x, Index query, Index key) {
        return x + problem_.alibi_bias(head_, query, key);
      });
    case OpKind::dropout:
      return by_key(read(op.source_tiles[0]), dest,
                    [&](double x, Index query, Index key) { return x * factor(query, key); });
    case OpKind::dropout_factors:
      return by_key(write(dest), dest,
                    [&](double, Index query, Index key) { return factor(query, key); });
    default:
      ATTNSCOPE_CHECK(to_string(op.kind), ==, "a step of the score function");
      return {};
  }
}

void NumericExecutor::running_max(const TileOp& op) {
  const RowMatrix maxima = row_maxima(read(op.source_tiles[0]));
  RowMatrix& m = update(op.dest_tiles[0]);
  const RowMatrix before = m;
  for (Eigen::Index r = 0; r < m.rows(); ++r) {
    const bool keep = std::isnan(m(r, 0)) || maxima(r, 0) <= m(r, 0);
    if (!keep) m(r, 0) = maxima(r, 0);
  }
  replace(op.dest_tiles[0]);  // alpha must rescale the sums to the m that is kept
  RowMatrix& alpha = write(op.dest_tiles[1]);
  for (Eigen::Index r = 0; r < m.rows(); ++r) {
    alpha(r, 0) = m(r, 0) == -kInfinity ? 1.0 : std::exp(before(r, 0) - m(r, 0));
  }
}

/// The values that a row-wise operation of the softmax writes to its destination.
RowMatrix NumericExecutor::softmax_result(const TileOp& op) {
  const auto source = [&](std::size_t k) -> const RowMatrix& { return read(op.source_tiles[k]); };
  const auto before = [&]() -> const RowMatrix& { return read(op.dest_tiles[0]); };
  switch (op.kind) {
    case OpKind::row_max:
      return row_maxima(source(0));
    case OpKind::exp:
      return by_row(source(0), source(1), exp_against);
    case OpKind::row_sum:
      return source(0).rowwise().sum();
    case OpKind::add_row_sum:
      return before() + source(0).rowwise().sum();
    case OpKind::rescale:
      return by_row(before(), source(0), std::multiplies<>());
    case OpKind::normalize:
      return by_row(before(), source(0), divide_by_sum);
    case OpKind::log_sum_exp:
      return source(0).array() + source(1).array().log();
    case OpKind::row_dot:
      return source(0).cwiseProduct(source(1)).rowwise().sum();
    case OpKind::add_row_dot:
      return before() + source(0).cwiseProduct(source(1)).rowwise().sum();
    case OpKind::softmax_gradient:
      return by_row(source(1), source(2), std::minus<>()).cwiseProduct(source(0));
    case OpKind::add:
      return before() + source(0);
    case OpKind::multiply:
      return before().cwiseProduct(source(0));
    case OpKind::scale:
      return before() * problem_.softmax_scale();
    case OpKind::convert:
      return source(0);
    default:
      ATTNSCOPE_CHECK(to_string(op.kind), ==, "a softmax operation");
      return {};
  }
}

}  // namespace attnscope
