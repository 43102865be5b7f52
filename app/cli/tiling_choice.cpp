#include "app/cli/tiling_choice.h"

#include <fmt/core.h>

#include <array>

#include "kernels/catalog.h"
#include "kernels/compiled_tilings.h"
#include "reference/nearest_name.h"
#include "sim/schedule/catalog.h"
#include "sim/simulation.h"
#include "sim/tiling_rules.h"

namespace attnscope::cli {

namespace {

/// The tiles that the algorithm's kernel was compiled with.
Result<Tiling> kernel_tiling(const ProblemRequest& request) {
  const AttentionProblem& problem = request.problem;
  for (const kernels::KernelInfo& kernel : kernels::catalog()) {
    if (kernel.algorithm != request.algorithm) continue;
    const auto tilings = request.pass == PassKind::backward
                             ? kernels::backward_tilings(kernel, problem)
                             : kernels::kernel_tilings(kernel, problem);
    if (!tilings.empty()) return tilings.front();
  }
  return invalid_request(
      fmt::format("--tiling kernel: {} has no {} kernel for d = {} in {}; attnscope-cli list "
                  "kernels says what there is",
                  request.algorithm, to_string(request.pass), problem.d, to_string(problem.dtype)));
}

Result<std::optional<Tiling>> tiling_of_rule(const GivenOptions& given,
                                             const ProblemRequest& request,
                                             const GpuDescription& gpu) {
  const auto rule = given.text("tiling");
  if (!rule) return std::optional<Tiling>();
  const AttentionProblem& problem = request.problem;
  if (*rule == "paper") return std::optional(paper_tiling(gpu, problem.dtype, problem.d));
  if (*rule == "largest") {
    return largest_tiling(*find_algorithm(request.algorithm), problem, request.carry, gpu,
                          request.pass);
  }
  if (*rule == "kernel") {
    const auto tiling = kernel_tiling(request);
    if (!tiling) return tiling.error();
    return std::optional(tiling.value());
  }
  const std::array<std::string, 3> known = {"paper", "largest", "kernel"};
  return invalid_request(unknown_name_message("tiling rule", *rule, known));
}

}  // namespace

OptionSpec tiling_option() {
  return {"tiling", "RULE",
          "paper: Bc = ceil(M/4d), Br = min(Bc, d); largest: that fits; kernel: the GPU kernel's "
          "[flash1: paper where it fits, else largest]"};
}

Result<std::optional<Tiling>> chosen_tiling(const GivenOptions& given,
                                            const ProblemRequest& request,
                                            const GpuDescription& gpu) {
  auto by_rule = tiling_of_rule(given, request, gpu);
  if (!by_rule || (!request.Br && !request.Bc)) return by_rule;
  std::optional<Tiling> other_side = by_rule.value();
  if (!other_side && !(request.Br && request.Bc)) {
    other_side = default_tiling(*find_algorithm(request.algorithm), request.problem, request.carry,
                                gpu, request.pass);
  }
  const Tiling fallback = other_side.value_or(Tiling{16, 16});
  return std::optional(Tiling{request.Br.value_or(fallback.Br), request.Bc.value_or(fallback.Bc)});
}

}  // namespace attnscope::cli
