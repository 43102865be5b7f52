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
};

}  // namespace attnscope::kernels
