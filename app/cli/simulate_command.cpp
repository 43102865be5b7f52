/// attnscope-cli simulate: runs the model on one problem.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/option_files.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/documents/simulation_json.h"
#include "sim/resolve.h"

namespace attnscope::cli {

namespace {

/// Writes the outputs to the folder.
std::optional<Error> write_numbers(const std::string& folder, const NumericResult& numbers) {
  const auto& [O, LSE] = numbers.output;
  if (auto error = write_tensor_files(folder, {{"o", O}, {"lse", LSE}})) return error;
  if (!numbers.gradients) return std::nullopt;
  const auto& [dQ, dK, dV] = *numbers.gradients;
  return write_tensor_files(folder, {{"dq", dQ}, {"dk", dK}, {"dv", dV}});
}

Result<Answer> answer_simulate(const GivenOptions& given) {
  show_progress("counting");
  ATTNSCOPE_TRY(const auto result, simulate_once(given));
  const ordered_json document = simulation_json(result);
  return Answer{json_text(document), csv_text(ordered_json::array({document})),
                simulation_text(result), result.unsaved};
}

}  // namespace

Result<SimulationAnswer> simulate_once(const GivenOptions& given) {
  if (auto error = check_simulate_options(given)) return *error;
  ATTNSCOPE_TRY(const auto model, parse_model_run(given));
  const auto& [run, gpu] = model;
  const bool with_numbers = given.has("check") || given.has("out") || run.asked.files.any();
  if (with_numbers) {
    if (auto error = check_host_memory(run.asked.problem)) return *error;
    if (auto error = check_numeric_memory(run)) return *error;
  }
  ATTNSCOPE_TRY(SimulationAnswer result, count_run(model));
  predict_run(result);
  if (!with_numbers) return result;
  ATTNSCOPE_TRY(result.numbers, run_numbers(model));
  if (const auto folder = given.text("out")) {
    result.unsaved = write_numbers(*folder, *result.numbers);
  }
  return result;
}

Result<ModelRun> parse_model_run(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto asked, parse_run_of(given, algorithm_names()));
  return model_run(asked);
}

std::optional<Error> check_simulate_options(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto spec, parse_run_of(given, algorithm_names()));
  if (const auto gpu = gpu_of(spec); !gpu) return gpu.error();
  return check_folder(given, "out");
}

CommandSpec simulate_command() {
  return answering(
      {.name = "simulate",
       .summary = "Runs the model: traffic, operations, memory, time; values on request.",
       .options = joined(
           {run_options(FieldTarget::model),
            {{"check", "", "compute the values and report their error against the reference"},
             {"out", "DIR", "compute the values and write o, lse, dq, dk, dv as fp64 .npy files",
              false, writes_tensors()}}})},
      answer_simulate);
}

}  // namespace attnscope::cli
