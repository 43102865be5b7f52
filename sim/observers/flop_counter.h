/// Counts floating-point operations: matrix products (2 a multiply-add) apart from the rest, where
/// max, subtract, exp, multiply, add, divide and log are 1 each.
#pragma once

#include <vector>

#include "sim/ops/observer.h"

namespace attnscope {

struct Flops {
  Index matmul = 0;
  Index non_matmul = 0;
  Flops& operator+=(const Flops& other) {
    matmul += other.matmul;
    non_matmul += other.non_matmul;
    return *this;
  }
  Flops operator*(Index count) const { return {matmul * count, non_matmul * count}; }
};

Flops flops_of(const TileOp& op, const TileGrid& grid);

class FlopCounter : public Observer {
 public:
  void begin_launch(std::string_view name, const TileGrid& grid) override;
  void observe(std::span<const TileOp> ops) override;

  /// One entry a launch, in the order in which they ran.
  const std::vector<Flops>& launches() const { return launches_; }
  /// Operations of every kind seen so far.
  Index op_count() const { return op_count_; }

 private:
  const TileGrid* grid_ = nullptr;
  std::vector<Flops> launches_;
  Index op_count_ = 0;
};

}  // namespace attnscope
