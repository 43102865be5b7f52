/// attnscope-cli simulate: the model of one problem.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/option_files.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/cli/simulation_json.h"
#include "app/report/kernel_dram.h"
#include "app/report/kernel_time.h"
#include "kernels/resolve.h"
#include "sim/packed_groups.h"
#include "sim/resolve.h"

namespace attnscope::cli {

namespace {

/// Replaces --tiling kernel by the kernel's tiles on the modelled GPU, since the model does not
/// depend on the kernels.
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
  ATTNSCOPE_TRY(auto inputs, load_inputs(spec.problem, spec.files, spec.inputs));
  const bool packed = model.run.query_heads_per_tile > 1;
  if (packed) inputs = with_packed_groups(spec.problem, std::move(inputs));
  ATTNSCOPE_TRY(NumericResult result, simulate_numbers(model.run, model.gpu, inputs));
  if (packed) result.output = with_separate_heads(spec.problem, result.output);
  if (has_nan(result, spec.pass)) return failed("the modelled numbers hold a NaN");
  return result;
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
  ATTNSCOPE_TRY(auto report, simulate(run, gpu));
  predict_kernel_dram(report, gpu, {}, {.most_transfers = kQuickTransfers});
  predict_kernel_time(report, gpu);
  ATTNSCOPE_TRY(const auto warps, count_warps(run, gpu));
  SimulationAnswer result{.report = std::move(report), .gpu = gpu, .warps = warps};
  if (!with_numbers) return result;
  ATTNSCOPE_TRY(result.numbers, run_numbers(model));
  if (const auto folder = given.text("out")) {
    result.unsaved = write_numbers(*folder, *result.numbers);
  }
  return result;
}

Result<ModelRun> parse_model_run(const GivenOptions& given) {
  ATTNSCOPE_TRY(auto asked, parse_run_of(given, algorithm_names()));
  ATTNSCOPE_TRY(const auto spec, with_kernel_tiling(std::move(asked)));
  ATTNSCOPE_TRY(auto gpu, gpu_of(spec));
  ATTNSCOPE_TRY(auto run, resolve(spec, gpu));
  return ModelRun{std::move(run), std::move(gpu)};
}

std::optional<Error> check_simulate_options(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto spec, parse_run_of(given, algorithm_names()));
  if (const auto gpu = gpu_of(spec); !gpu) return gpu.error();
  return check_folder(given, "out");
}

CommandSpec simulate_command() {
  return answering(
      {.name = "simulate",
       .summary = "Runs the model: traffic, operations, memory, time; numbers on request.",
       .options = joined(
           {run_options(FieldTarget::model),
            {{"check", "", "compute the values and report their error against the reference"},
             {"out", "DIR", "compute the values and write o, lse, dq, dk, dv as fp64 .npy files",
              false, writes_tensors()}}})},
      answer_simulate);
}

}  // namespace attnscope::cli
