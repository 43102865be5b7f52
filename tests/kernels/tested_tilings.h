/// The tilings that kernels are tested in.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/catalog.h"
#include "kernels/default_tilings.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {

/// The default tilings, including those of Hopper, a small one, and an unusual one, each if the
/// kernel supports it.
inline std::vector<Tiling> tested_tilings(const KernelInfo& kernel, PassKind pass,
                                          const AttentionProblem& problem,
                                          Carry carry = Carry::problem) {
  std::vector<Tiling> tilings = default_tilings(kernel, pass, problem);
  if (tilings.empty() || kernel.pass(pass).uses_cublas()) return tilings;
  const Tiling small = problem.d <= 16 ? Tiling{16, 16} : Tiling{32, 32};
  std::vector<Tiling> further = hopper_tilings(kernel, pass, problem);
  further.insert(further.end(), {small, Tiling{48, 80}});
  for (const Tiling& tiling : further) {
    const bool is_new = std::ranges::find(tilings, tiling) == tilings.end();
    if (is_new && !supports(test::kernel_run(kernel.name, problem, pass, tiling, carry)))
      tilings.push_back(tiling);
  }
  return tilings;
}

/// Whether a Hopper GPU runs a different program from other GPUs in this tiling: instructions=mma
/// then selects theirs.
inline bool has_two_programs(const KernelInfo& kernel, PassKind pass,
                             const AttentionProblem& problem, const Tiling& tiling) {
  return has_hopper_program(test::kernel_run(kernel.name, problem, pass, tiling), {});
}

}  // namespace attnscope::kernels
