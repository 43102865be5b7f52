/// What to run: a kernel of the catalog on a problem.
#pragma once

#include <optional>

#include "kernels/catalog.h"

namespace attnscope::kernels {

struct KernelRequest {
  AttentionProblem problem;
  const KernelInfo* kernel = nullptr;
  std::optional<Tiling> tiling;  ///< nothing: the kernel's default
  Carry carry = Carry::problem;
  bool deterministic = false;  ///< backward: dQ is the same to the bit on every run
};

}  // namespace attnscope::kernels
