#include "app/cli/kernel_request.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kernels/catalog.h"
#include "reference/json/problem_json.h"

namespace attnscope::cli {

std::vector<std::string> kernel_algorithms() {
  std::vector<std::string> names;
  for (const kernels::KernelInfo& kernel : kernels::catalog()) {
    names.emplace_back(kernel.algorithm);
  }
  return names;
}

namespace {

const kernels::KernelInfo* kernel_of(const std::string& algorithm) {
  for (const kernels::KernelInfo& kernel : kernels::catalog()) {
    if (kernel.algorithm == algorithm) return &kernel;
  }
  return nullptr;
}

/// The kernel's tiling that agrees with what was asked; one side alone picks the first that has it.
std::optional<Tiling> asked_tiling(const kernels::KernelInfo& kernel,
                                   const ProblemRequest& request) {
  if (!request.Br && !request.Bc) return std::nullopt;
  const auto tilings = kernels::kernel_tilings(kernel, request.problem.dtype, request.problem.d);
  for (const Tiling& tiling : tilings) {
    if (request.Br.value_or(tiling.Br) == tiling.Br &&
        request.Bc.value_or(tiling.Bc) == tiling.Bc) {
      return tiling;
    }
  }
  const Tiling fallback = tilings.empty() ? Tiling{} : tilings.front();
  return Tiling{request.Br.value_or(fallback.Br), request.Bc.value_or(fallback.Bc)};
}

}  // namespace

Result<KernelChoice> choose_kernel(const ProblemRequest& request) {
  if (auto error = check_together(request)) return *error;
  if (request.pass != PassKind::forward) {
    return invalid_request(
        fmt::format("--pass is {}; the kernels compute forward", to_string(request.pass)));
  }
  const kernels::KernelInfo* kernel = kernel_of(request.algorithm);
  if (kernel == nullptr) {
    return invalid_request(fmt::format("{} has no kernel; these have: {}", request.algorithm,
                                       fmt::join(kernel_algorithms(), ", ")));
  }
  const auto tiling = asked_tiling(*kernel, request);
  if (auto error = kernels::supports(*kernel, request.problem, tiling, request.carry)) {
    return *error;
  }
  return KernelChoice{std::string(kernel->name), tiling, request.carry};
}

nlohmann::ordered_json run_identity(const RecordingRow& row) {
  nlohmann::ordered_json identity;
  identity["problem"] = problem_to_json(row.problem);
  identity["algorithm"] = row.algorithm;
  identity["kernel"] = row.kernel;
  identity["pass"] = row.pass;
  if (row.tiling) identity["tiling"] = {{"Br", row.tiling->Br}, {"Bc", row.tiling->Bc}};
  identity["carry"] = to_string(row.carry);
  identity["inputs"] = {{"kind", row.inputs}, {"seed", row.seed}};
  return identity;
}

}  // namespace attnscope::cli
