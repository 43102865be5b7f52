#include "app/cli/kernel_request.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/cli/schedule_choices.h"
#include "kernels/catalog.h"
#include "kernels/compiled_tilings.h"
#include "reference/block_pattern.h"
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

std::vector<Tiling> tilings_of(const kernels::KernelInfo& kernel, PassKind pass,
                               const AttentionProblem& problem) {
  return pass == PassKind::backward ? kernels::backward_tilings(kernel, problem)
                                    : kernels::kernel_tilings(kernel, problem);
}

/// The kernel's tiling that agrees with what was asked; one side alone picks the first that has it.
std::optional<Tiling> asked_tiling(const kernels::KernelInfo& kernel, PassKind pass,
                                   const ProblemRequest& request) {
  if (!request.Br && !request.Bc) return std::nullopt;
  const auto tilings = tilings_of(kernel, pass, request.problem);
  for (const Tiling& tiling : tilings) {
    if (request.Br.value_or(tiling.Br) == tiling.Br &&
        request.Bc.value_or(tiling.Bc) == tiling.Bc) {
      return tiling;
    }
  }
  const Tiling fallback = tilings.empty() ? Tiling{} : tilings.front();
  return Tiling{request.Br.value_or(fallback.Br), request.Bc.value_or(fallback.Bc)};
}

Result<KernelChoice> choose_for_pass(const kernels::KernelInfo& kernel, PassKind pass,
                                     const ProblemRequest& request, bool deterministic) {
  const auto tiling = asked_tiling(kernel, pass, request);
  const auto error = pass == PassKind::backward
                         ? kernels::supports_backward(kernel, request.problem, tiling,
                                                      request.carry, deterministic)
                         : kernels::supports(kernel, request.problem, tiling, request.carry);
  if (error) return *error;
  return KernelChoice{.kernel = std::string(kernel.name),
                      .tiling = tiling,
                      .carry = request.carry,
                      .pass = pass,
                      .deterministic = deterministic && pass == PassKind::backward};
}

/// The tiles that the block mask of a run is drawn over: both passes have the backward pass's.
Tiling tiling_of_mask(const kernels::KernelInfo& kernel, const ProblemRequest& request) {
  const PassKind pass = request.pass == PassKind::forward ? PassKind::forward : PassKind::backward;
  if (const auto asked = asked_tiling(kernel, pass, request)) return *asked;
  const auto tilings = tilings_of(kernel, pass, request.problem);
  return tilings.empty() ? Tiling{} : tilings.front();
}

}  // namespace

std::vector<OptionSpec> block_mask_option() {
  return {{"block-mask", "MASK",
           "block_sparse2: butterfly, local-global:W,G, random:DENSITY[,SEED], "
           "uniform:DENSITY[,SEED] or FILE.npy [Tr, Tc]"}};
}

Result<ProblemRequest> parse_kernel_problem(const GivenOptions& given) {
  auto request = parse_problem(given, kernel_algorithms());
  if (!request) return request;
  if (auto error = check_schedule_choices(given, request.value().algorithm)) return *error;
  const auto text = given.text("block-mask");
  if (!text) return request;

  // Sizes are checked before a mask of such a size is drawn
  if (auto error = check_together(request.value())) return *error;
  const auto pattern = parse_block_pattern(*text);
  if (!pattern) return pattern.error();
  AttentionProblem& problem = request.value().problem;
  const kernels::KernelInfo* kernel = kernel_of(request.value().algorithm);
  const auto mask = make_block_mask(pattern.value(), problem.N, problem.N_kv,
                                    tiling_of_mask(*kernel, request.value()));
  if (!mask) return mask.error();
  problem.block_mask = mask.value();
  return request;
}

Result<std::vector<KernelChoice>> choose_kernels(const ProblemRequest& request,
                                                 bool deterministic) {
  if (auto error = check_together(request)) return *error;
  const kernels::KernelInfo* kernel = kernel_of(request.algorithm);
  if (kernel == nullptr) {
    return invalid_request(fmt::format("{} has no kernel; these have: {}", request.algorithm,
                                       fmt::join(kernel_algorithms(), ", ")));
  }
  std::vector<KernelChoice> choices;
  for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
    if (request.pass != pass && request.pass != PassKind::both) continue;
    auto choice = choose_for_pass(*kernel, pass, request, deterministic);
    if (!choice) return choice.error();
    choices.push_back(std::move(choice).value());
  }
  return choices;
}

nlohmann::ordered_json run_identity(const RecordingRow& row) {
  nlohmann::ordered_json identity;
  identity["problem"] = problem_to_json(row.problem);
  identity["algorithm"] = row.algorithm;
  identity["kernel"] = row.kernel;
  identity["pass"] = row.pass;
  if (row.tiling) identity["tiling"] = tiling_to_json(*row.tiling);
  if (row.problem.block_mask) identity["block_mask"] = row.problem.block_mask->text();
  identity["carry"] = to_string(row.carry);
  if (row.deterministic) identity["deterministic"] = true;
  identity["inputs"] = {{"kind", row.inputs}, {"seed", row.seed}};
  return identity;
}

}  // namespace attnscope::cli
