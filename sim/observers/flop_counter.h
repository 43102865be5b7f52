/// Counts floating-point operations: matrix products (2 per multiply-add) separately from the rest,
/// where max, subtract, exp, tanh, multiply, add, divide and log are 1 each. Of the rest, exp, tanh
/// and log are also counted separately: an SM's special function units compute them, at a rate
/// far below that of a multiply-add.
#pragma once

#include <numeric>
#include <vector>

#include "reference/checked_count.h"
#include "sim/ops/observer.h"

namespace attnscope {

/// Sums and products throw CountTooLarge.
struct Flops {
  Index matmul = 0;
  Index non_matmul = 0;    ///< all others, exponentials included
  Index exponentials = 0;  ///< exp, tanh and log

  /// Operations of the CUDA cores besides matrix products.
  Index cuda_core() const { return non_matmul - exponentials; }

  Flops& operator+=(const Flops& other) {
    matmul = checked_sum(matmul, other.matmul);
    non_matmul = checked_sum(non_matmul, other.non_matmul);
    exponentials = checked_sum(exponentials, other.exponentials);
    return *this;
  }
  Flops operator-(const Flops& other) const {
    return {matmul - other.matmul, non_matmul - other.non_matmul,
            exponentials - other.exponentials};
  }
  bool operator==(const Flops&) const = default;
  Flops operator*(Index count) const {
    return {checked_product(matmul, count), checked_product(non_matmul, count),
            checked_product(exponentials, count)};
  }
};

Flops flops_of(const TileOp& op, const TileGrid& grid);

class FlopCounter : public CountingObserver {
 public:
  void begin_launch(std::string_view name, const TileGrid& grid) override;
  void observe(std::span<const TileOp> ops) override;
  void mark() override;
  void repeat(Index times) override;

  /// One entry a launch, in the order in which they ran.
  const std::vector<Flops>& launches() const { return launches_; }
  /// Tile operations of each launch, and of all.
  const std::vector<Index>& op_counts() const { return op_counts_; }
  Index op_count() const { return std::accumulate(op_counts_.begin(), op_counts_.end(), Index{0}); }

 private:
  const TileGrid* grid_ = nullptr;
  std::vector<Flops> launches_;
  std::vector<Index> op_counts_;
  MarkedCounts<Flops> marked_flops_;
  MarkedCounts<Index> marked_op_counts_;
};

}  // namespace attnscope
