/// A program's request as structs of the C interface. Internal to the client and its tests.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attnscope_kernels.h"
#include "kernels/client/kernel_library.h"

namespace attnscope {

/// A problem. The struct points into this object and into the problem, which must outlive it.
class CProblem {
 public:
  explicit CProblem(const AttentionProblem& problem);
  explicit CProblem(AttentionProblem&&) = delete;
  CProblem(const CProblem&) = delete;
  CProblem& operator=(const CProblem&) = delete;

  const attnscope_problem& value() const { return value_; }

 private:
  void set_block_mask(const BlockMask& mask);

  attnscope_problem value_{};
  std::vector<std::uint8_t> block_mask_;  ///< a byte a tile
};

/// The run's kernel and its choices. Points into the run.
attnscope_kernel c_kernel(const ResolvedRun& run);
attnscope_kernel c_kernel(ResolvedRun&& run) = delete;  // its name would not outlive the call
attnscope_protocol c_protocol(const Protocol& protocol);

}  // namespace attnscope
