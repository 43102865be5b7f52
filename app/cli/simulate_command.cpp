#include "app/cli/simulate_command.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/memory_check.h"
#include "app/cli/outputs.h"
#include "app/cli/problem_options.h"
#include "app/cli/schedule_choices.h"
#include "app/cli/simulation_json.h"
#include "app/cli/tensor_files.h"
#include "app/cli/tiling_choice.h"
#include "sim/packed_groups.h"
#include "sim/schedule/catalog.h"
#include "sim/simulation.h"

namespace attnscope::cli {

using nlohmann::ordered_json;

namespace {

bool asks_for_numbers(const GivenOptions& given) {
  for (const char* option : {"check", "out", "q", "k", "v", "do"}) {
    if (given.has(option)) return true;
  }
  return false;
}

/// The query heads of a group are rows of one tile.
bool is_packed(const ProblemRequest& request, const SimulationRequest& simulation) {
  return simulation.problem.heads != request.problem.heads;
}

/// Runs every head with true values and writes the outputs where --out says.
Result<SimulatedNumbers> run_numbers(const GivenOptions& given, const ProblemRequest& request,
                                     const SimulationRequest& simulation) {
  auto inputs = load_inputs(request.problem, request.input_files, request.inputs);
  if (!inputs) return inputs.error();
  const bool packed = is_packed(request, simulation);
  if (packed) inputs = with_packed_groups(request.problem, std::move(inputs).value());
  NumericOptions options;
  options.round_to_storage = given.has("round-to-storage");
  auto numbers = simulate_numbers(simulation, inputs.value(), options);
  if (!numbers) return numbers.error();
  if (packed) {
    numbers.value().output = with_separate_heads(request.problem, numbers.value().output);
  }
  if (has_nan(numbers.value(), request.pass)) {
    return failed("the modelled numbers hold a NaN");
  }
  if (const auto folder = given.text("out")) {
    const NumericResult& result = numbers.value();
    if (auto error = write_forward_files(*folder, result.output.O, result.output.LSE)) {
      return *error;
    }
    if (result.gradients) {
      if (auto error = write_gradient_files(*folder, *result.gradients)) return *error;
    }
  }
  return SimulatedNumbers{std::move(numbers).value(), request.inputs, request.input_files,
                          options.round_to_storage};
}

Result<SimulationAnswer> answer(const GivenOptions& given) {
  if (auto error = check_simulate_options(given)) return *error;
  const ProblemRequest request = parse_problem(given, algorithm_names()).value();
  const auto modelled = modelled_request(given);
  if (!modelled) return modelled.error();
  const SimulationRequest& simulation = modelled.value();
  if (asks_for_numbers(given)) {
    if (auto error = check_host_memory(request.problem)) return *error;
    if (auto error = check_numeric_memory(simulation)) return *error;
  }
  auto report = simulate(simulation);
  if (!report) return report.error();

  SimulationAnswer result{.report = std::move(report).value(), .gpu = simulation.gpu};
  if (is_packed(request, simulation)) {
    result.report.problem = request.problem;
    result.report.query_heads_per_tile = request.problem.heads_per_kv_head();
  }
  result.warps = count_warps(simulation, result.report.tiling, parse_warp_choice(given).value());
  if (asks_for_numbers(given)) {
    auto numbers = run_numbers(given, request, simulation);
    if (!numbers) return numbers.error();
    result.numbers = std::move(numbers).value();
  }
  return result;
}

std::optional<Error> run_simulate(const GivenOptions& given) {
  const auto outputs = parse_outputs(given);
  if (!outputs) return outputs.error();
  show_progress("simulating");
  const auto result = answer(given);
  clear_progress();
  if (!result) return result.error();
  const ordered_json document = simulation_json(result.value());
  if (auto error = write_outputs(outputs.value(), document, {document})) return error;
  if (outputs.value().owns_standard_output()) return std::nullopt;
  return write_text("-", simulation_text(result.value()));
}

}  // namespace

std::vector<OptionSpec> modelled_options() {
  return joined({problem_options(), {tiling_option()}, schedule_choice_options(), model_options()});
}

Result<SimulationRequest> modelled_request(const GivenOptions& given) {
  const auto request = parse_problem(given, algorithm_names());
  if (!request) return request.error();
  if (auto error = check_together(request.value())) return *error;
  if (auto error = check_schedule_choices(given, request.value().algorithm)) return *error;
  const auto gpu = parse_gpu(given);
  if (!gpu) return gpu.error();
  const auto tiling = chosen_tiling(given, request.value(), gpu.value());
  if (!tiling) return tiling.error();
  return with_schedule_choices(given, {.problem = request.value().problem,
                                       .algorithm = request.value().algorithm,
                                       .pass = request.value().pass,
                                       .tiling = tiling.value(),
                                       .carry = request.value().carry,
                                       .gpu = gpu.value(),
                                       .allow_overflow = given.has("allow-overflow")});
}

std::optional<Error> check_simulate_options(const GivenOptions& given) {
  const auto request = parse_problem(given, algorithm_names());
  if (!request) return request.error();
  if (auto error = check_schedule_choices(given, request.value().algorithm)) return error;
  if (const auto gpu = parse_gpu(given); !gpu) return gpu.error();
  const auto folder = given.text("out");
  return folder ? check_folder("out", *folder) : std::nullopt;
}

Result<ordered_json> simulate_document(const GivenOptions& given) {
  const auto result = answer(given);
  if (!result) return result.error();
  return simulation_json(result.value());
}

CommandSpec simulate_command() {
  return {.name = "simulate",
          .summary = "Runs the model: traffic, operations, memory, time; numbers on request.",
          .operand = "",
          .options = joined(
              {modelled_options(),
               input_options(),
               {{"check", "", "run the numbers and report the error against the reference"},
                {"round-to-storage", "", "round values where a kernel of --dtype rounds them"},
                {"out", "DIR", "run the numbers and write o, lse, dq, dk, dv as fp64 .npy files"}},
               output_options()}),
          .run = run_simulate};
}

}  // namespace attnscope::cli
