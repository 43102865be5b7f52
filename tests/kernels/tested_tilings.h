/// The tilings that kernels are tested in.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/default_tilings.h"
#include "kernels/resolve.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {

/// The default ones, a small one and an unusual one that the kernel supports, and one that a Hopper
/// GPU computes with its own instructions.
inline std::vector<Tiling> tested_tilings(const KernelInfo& kernel, PassKind pass,
                                          const AttentionProblem& problem,
                                          Carry carry = Carry::problem) {
  std::vector<Tiling> tilings = default_tilings(kernel, pass, problem);
  if (kernel.block_shape(pass) == nullptr) return tilings;
  const Tiling small = problem.d <= 16 ? Tiling{16, 16} : Tiling{32, 32};
  for (const Tiling& tiling : {small, Tiling{48, 80}}) {
    const bool is_new = std::ranges::find(tilings, tiling) == tilings.end();
    if (is_new && !supports(test::kernel_run(kernel.name, problem, pass, tiling, carry)))
      tilings.push_back(tiling);
  }
  if (pass == PassKind::backward) return tilings;
  for (const Tiling& tiling : {Tiling{192, 128}, {128, 128}, {128, 80}}) {
    if (has_hopper_program(test::kernel_run(kernel.name, problem, pass, tiling), {})) {
      tilings.push_back(tiling);
      break;
    }
  }
  return tilings;
}

}  // namespace attnscope::kernels
