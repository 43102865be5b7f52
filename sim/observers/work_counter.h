/// Counts the operations outside matrix products by purpose: the papers' argument about rescaling,
/// in numbers. Costs as in flop_counter.h.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "sim/ops/observer.h"

namespace attnscope {

/// The purpose of an operation that is not a matrix product.
enum class Work : std::uint8_t {
  scale,             ///< scaling S
  scale_gradients,   ///< scaling the addends of dQ and dK, or dS
  score_function,    ///< steps on S and P besides scale, mask and softmax
  row_max,           ///< maxima over the scores
  exp,               ///< exponentials of the scores
  row_sum,           ///< sums over P
  rescale_scores,    ///< flash1: P~ brought to the common maximum
  divide_scores,     ///< P / l
  rescale_output,    ///< O brought to a new maximum
  divide_output,     ///< O / l
  statistics,        ///< one number per row: m, l, alpha, beta, LSE
  row_dot,           ///< D = rowsum(dO * O), or rowsum(P * dP)
  softmax_gradient,  ///< dS = P (dP - D)
  sums,              ///< adding gradients up
};
inline constexpr int kWorkCount = 14;

constexpr std::array<std::string_view, kWorkCount> enum_names(Work) {
  return split_names<kWorkCount>(
      "scale S, scale gradients, score function, row maxima, exp, row sums, rescale P~, P / l, "
      "rescale O, O / l, one number a row, D: row dot, softmax gradient, adding gradients");
}

using WorkFlops = std::array<Index, kWorkCount>;

class WorkCounter : public CountingObserver {
 public:
  void begin_launch(std::string_view name, const TileGrid& grid) override;
  void observe(std::span<const TileOp> ops) override;
  void mark() override { marks_.mark(launches_.back()); }
  void repeat(Index times) override { marks_.repeat(launches_.back(), times); }

  /// One entry a launch, in the order in which they ran.
  const std::vector<WorkFlops>& launches() const { return launches_; }

 private:
  const TileGrid* grid_ = nullptr;
  std::vector<WorkFlops> launches_;
  MarkedCounts<WorkFlops> marks_;
};

}  // namespace attnscope
