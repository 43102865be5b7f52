/// attnscope-cli simulate: the model of one problem.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/option_files.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/row_files.h"
#include "app/cli/run_options.h"
#include "app/cli/simulation_json.h"
#include "kernels/resolve.h"
#include "sim/packed_groups.h"
#include "sim/resolve.h"

namespace attnscope::cli {

namespace {

/// The model does not depend on the kernels: replaces --tiling kernel by the kernel's tiles on the
/// modelled GPU.
Result<RunSpec> with_kernel_tiling(RunSpec spec) {
  if (spec.tiling_rule != TilingRule::kernel) return spec;
  RunSpec asked{.problem = spec.problem, .algorithm = spec.algorithm, .pass = spec.pass};
  if (asked.pass == PassKind::both) asked.pass = PassKind::forward;
  if (spec.pass == PassKind::forward) asked.variant.carry = spec.variant.carry;
  const auto gpu = gpu_of(spec);
  if (!gpu) return gpu.error();
  const auto run = kernels::resolve(asked);
  if (!run) {
    Error error = run.error();
    error.message = fmt::format("{} kernel: {}", field_name("tiling_rule"), error.message);
    return error;
  }
  spec.tiling_rule = TilingRule::by_default;
  const Tiling own = kernels::tiling_on_gpu(run.value(), gpu.value().shared_bytes_per_block);
  spec.set_tiling({spec.Br.value_or(own.Br), spec.Bc.value_or(own.Bc)});
  return spec;
}

/// Runs every head with true values.
Result<NumericResult> run_numbers(const ModelRun& model) {
  const RunSpec& spec = model.run.asked;
  auto inputs = load_inputs(spec.problem, spec.files, spec.inputs);
  if (!inputs) return inputs.error();
  const bool packed = model.run.query_heads_per_tile > 1;
  if (packed) inputs = with_packed_groups(spec.problem, std::move(inputs).value());
  auto numbers = simulate_numbers(model.run, model.gpu, inputs.value());
  if (!numbers) return numbers;
  NumericResult& result = numbers.value();
  if (packed) result.output = with_separate_heads(spec.problem, result.output);
  if (has_nan(result, spec.pass)) return failed("the modelled numbers hold a NaN");
  return numbers;
}

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
  const auto result = simulate_once(given);
  if (!result) return result.error();
  const ordered_json document = simulation_json(result.value());
  return Answer{json_text(document), csv_text(ordered_json::array({document})),
                simulation_text(result.value()), result.value().unsaved};
}

}  // namespace

Result<SimulationAnswer> simulate_once(const GivenOptions& given) {
  if (auto error = check_simulate_options(given)) return *error;
  const auto model = parse_model_run(given);
  if (!model) return model.error();
  const auto& [run, gpu] = model.value();
  const bool with_numbers = given.has("check") || given.has("out") || run.asked.files.any();
  if (with_numbers) {
    if (auto error = check_host_memory(run.asked.problem)) return *error;
    if (auto error = check_numeric_memory(run)) return *error;
  }
  auto report = simulate(run, gpu);
  if (!report) return report.error();
  const auto warps = count_warps(run, gpu);
  if (!warps) return warps.error();
  SimulationAnswer result{.report = std::move(report).value(), .gpu = gpu, .warps = warps.value()};
  if (!with_numbers) return result;
  auto numbers = run_numbers(model.value());
  if (!numbers) return numbers.error();
  if (const auto folder = given.text("out")) {
    result.unsaved = write_numbers(*folder, numbers.value());
  }
  result.numbers = std::move(numbers).value();
  return result;
}

Result<ModelRun> parse_model_run(const GivenOptions& given) {
  auto spec = parse_run_of(given, algorithm_names());
  if (spec) spec = with_kernel_tiling(std::move(spec).value());
  if (!spec) return spec.error();
  auto gpu = gpu_of(spec.value());
  if (!gpu) return gpu.error();
  auto run = resolve(spec.value(), gpu.value());
  if (!run) return run.error();
  return ModelRun{std::move(run).value(), std::move(gpu).value()};
}

std::optional<Error> check_simulate_options(const GivenOptions& given) {
  const auto spec = parse_run_of(given, algorithm_names());
  if (!spec) return spec.error();
  if (const auto gpu = gpu_of(spec.value()); !gpu) return gpu.error();
  return check_folder(given, "out");
}

CommandSpec simulate_command() {
  return answering(
      {.name = "simulate",
       .summary = "Runs the model: traffic, operations, memory, time; numbers on request.",
       .options = joined(
           {run_options(FieldTarget::model),
            {{"check", "", "run the numbers and report the error against the reference"},
             {"out", "DIR", "run the numbers and write o, lse, dq, dk, dv as fp64 .npy files",
              false, writes_tensors()}}})},
      answer_simulate);
}

}  // namespace attnscope::cli
