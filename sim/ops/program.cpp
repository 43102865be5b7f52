#include "sim/ops/program.h"

namespace attnscope {

void Program::flush() {
  if (size_ == 0) return;
  const std::span<const TileOp> ops(buffer_.data(), size_);
  for (Observer* observer : observers_) observer->observe(ops);
  size_ = 0;
}

}  // namespace attnscope
