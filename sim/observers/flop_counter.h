/// Counts floating-point operations: matrix products (2 per multiply-add) separately from the rest,
/// where max, subtract, exp, tanh, multiply, add, divide and log count as 1 each. Of the rest, exp,
/// tanh and log are also counted separately: an SM's special function units compute them at a rate
/// far below that of multiply-adds.
#pragma once

#include <array>
#include <string_view>

#include "reference/checked_count.h"
#include "sim/ops/observer.h"

namespace attnscope {

/// Sums and products throw CountTooLarge.
struct Flops {
  Index matmul = 0;
  Index non_matmul = 0;    ///< all others, exponentials included
  Index exponentials = 0;  ///< exp, tanh and log

  /// Operations of the CUDA cores other than matrix products.
  Index cuda_core() const { return non_matmul - exponentials; }

  bool operator==(const Flops&) const = default;
  static constexpr std::array kCounts = {&Flops::matmul, &Flops::non_matmul, &Flops::exponentials};
};

Flops flops_of(const TileOp& op, const TileGrid& grid);

class FlopCounter : public LaunchCounter<Flops> {
 public:
  void observe(std::span<const TileOp> ops) override;
};

/// Counts tile operations.
class OpCounter : public LaunchCounter<Index> {
 public:
  void observe(std::span<const TileOp> ops) override { counts() += std::ssize(ops); }
};

/// The purpose of an operation that is not a matrix product.
enum class Work : std::uint8_t {
  scale,             ///< scaling S
  scale_gradients,   ///< scaling the addends of dQ and dK, or dS
  score_function,    ///< steps on S and P other than scale, mask and softmax
  row_max,           ///< maxima over the scores
  exp,               ///< exponentials of the scores
  row_sum,           ///< sums over P
  rescale_scores,    ///< flash1: rescaling P~ to the common maximum
  divide_scores,     ///< P / l
  rescale_output,    ///< rescaling O to a new maximum
  divide_output,     ///< O / l
  statistics,        ///< one number per row: m, l, alpha, beta, LSE
  row_dot,           ///< D = rowsum(dO * O), or rowsum(P * dP)
  softmax_gradient,  ///< dS = P (dP - D)
  sums,              ///< summing gradients
};
inline constexpr int kWorkCount = 14;

constexpr std::array<std::string_view, kWorkCount> enum_names(Work) {
  return split_names<kWorkCount>(
      "scale S, scale gradients, score function, row maxima, exp, row sums, rescale P~, P / l, "
      "rescale O, O / l, one number a row, D: row dot, softmax gradient, adding gradients");
}

using WorkFlops = std::array<Index, kWorkCount>;

/// Counts the operations outside matrix products by purpose: the papers' argument about rescaling,
/// in numbers.
class WorkCounter : public LaunchCounter<WorkFlops> {
 public:
  void observe(std::span<const TileOp> ops) override;
};

}  // namespace attnscope
