/// A run of a kernel as a test requests it, whether or not the kernel supports it.
#pragma once

#include <optional>
#include <string_view>

#include "reference/run_spec.h"

namespace attnscope::test {

/// A run of the kernel; without a tiling, the kernel chooses one.
inline ResolvedRun kernel_run(std::string_view kernel, const AttentionProblem& problem,
                              PassKind pass = PassKind::forward,
                              const std::optional<Tiling>& tiling = std::nullopt,
                              Carry carry = Carry::problem) {
  ResolvedRun run{.problem = problem, .tiling = tiling.value_or(Tiling{0, 0})};
  run.asked.problem = problem;
  run.asked.algorithm = run.asked.kernel = kernel;
  run.asked.pass = pass;
  run.asked.variant.carry = carry;
  if (tiling) run.asked.set_tiling(*tiling);
  return run;
}

}  // namespace attnscope::test
