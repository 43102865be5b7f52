#include "app/cli/run_command.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/cli/kernel_request.h"
#include "app/cli/memory_check.h"
#include "app/cli/modelled_beside.h"
#include "app/cli/outputs.h"
#include "app/cli/table.h"
#include "app/cli/tensor_files.h"
#include "app/report/comparison_report.h"
#include "app/report/number_text.h"
#include "reference/naive_attention.h"
#include "reference/tolerance.h"
#include "reference/unfused_attention.h"

namespace attnscope::cli {

using nlohmann::ordered_json;

namespace {

/// A tensor of the kernel beside the reference's.
struct Check {
  ErrorReport error;
  Tolerance tolerance;
  bool passed() const { return within(error, tolerance); }
};

struct Checks {
  Check O;
  Check LSE;
};

Checks check_result(const AttentionProblem& problem, const AttentionInputs& inputs,
                    const RunResult& result) {
  const ForwardResult reference = naive_forward(problem, inputs);
  const ForwardResult yardstick = unfused_forward(problem, inputs);
  return {{compare(result.O.data, reference.O.data),
           tolerance_from(yardstick.O.data, reference.O.data, problem.dtype)},
          {compare(result.LSE.data, reference.LSE.data),
           tolerance_from(yardstick.LSE.data, reference.LSE.data, DType::fp32)}};
}

/// The model's floor for the run, or why there is none.
Result<SimulationReport> floor_of(const GivenOptions& given, const RecordingRow& row,
                                  const DeviceInfo& device) {
  const auto gpu = gpu_beside(given, device);
  if (!gpu) return gpu.error();
  return simulate({.problem = row.problem,
                   .algorithm = row.algorithm,
                   .tiling = row.tiling,
                   .carry = row.carry,
                   .gpu = gpu.value(),
                   .allow_overflow = true});
}

ordered_json run_document(const RecordingRow& row, const DeviceInfo& device,
                          const RunResult& result, const Result<SimulationReport>& floor,
                          const Checks& checks) {
  ordered_json document = {{"schema", "attnscope.run/1"}};
  document.update(run_identity(row));
  document["device"] = {{"name", device.name}, {"driver", device.driver}, {"cuda", device.cuda}};
  document["time"] = {{"measured_s", result.time_s}};
  if (floor) {
    document["time"]["predicted_s"] = floor.value().predicted_s;
    document["time"]["bound_by"] = floor.value().bound_by;
  }
  document["accuracy"] = {{"max_abs_error", checks.O.error.max_abs_error},
                          {"rel_fro_error", checks.O.error.rel_fro_error},
                          {"tolerance", checks.O.tolerance.max_abs},
                          {"lse_max_abs_error", checks.LSE.error.max_abs_error},
                          {"lse_tolerance", checks.LSE.tolerance.max_abs},
                          {"within_tolerance", checks.O.passed() && checks.LSE.passed()}};
  return document;
}

std::string run_text(const RecordingRow& row, const DeviceInfo& device, const RunResult& result,
                     const Result<SimulationReport>& floor, const Checks& checks) {
  const auto line = [](const char* name, const Check& check) {
    return std::vector<std::string>{name, fmt::format("{:.3g}", check.error.max_abs_error),
                                    fmt::format("{:.3g}", check.tolerance.max_abs),
                                    check.passed() ? "yes" : "NO"};
  };
  const std::string floor_text =
      floor ? seconds_text(floor.value().predicted_s) : "unavailable: " + floor.error().message;
  return fmt::format("{}\non {} (measured), one pass {}; modelled floor {}\n\n{}", run_title(row),
                     device.name, seconds_text(result.time_s), floor_text,
                     table_text({{"tensor", "max abs error", "tolerance", "within"},
                                 line("O", checks.O),
                                 line("LSE", checks.LSE)}));
}

std::optional<Error> run(const GivenOptions& given) {
  // Everything that can be refused is refused before the GPU is touched
  const auto outputs = parse_outputs(given);
  if (!outputs) return outputs.error();
  const auto request = parse_problem(given, kernel_algorithms());
  if (!request) return request.error();
  const auto choice = choose_kernel(request.value());
  if (!choice) return choice.error();
  if (const auto gpu = parse_gpu(given); !gpu) return gpu.error();
  const auto folder = given.text("out");
  if (folder) {
    if (auto error = check_folder("out", *folder)) return error;
  }
  const AttentionProblem& problem = request.value().problem;
  if (auto error = check_host_memory(problem)) return error;
  const auto inputs = load_inputs(problem, request.value().input_files, request.value().inputs);
  if (!inputs) return inputs.error();

  const auto library = KernelLibrary::load();
  if (!library) return library.error();
  show_progress("running the kernel");
  const auto result = library.value()->run_forward(problem, choice.value(), inputs.value());
  if (!result) return result.error();
  show_progress("computing the reference");
  const Checks checks = check_result(problem, inputs.value(), result.value());
  clear_progress();

  const RecordingRow row = describe_run(problem, choice.value(), request.value().inputs);
  const DeviceInfo& device = library.value()->device();
  const auto floor = floor_of(given, row, device);
  const ordered_json document = run_document(row, device, result.value(), floor, checks);
  if (folder) {
    if (auto error = write_forward_files(*folder, result.value().O, result.value().LSE)) {
      return error;
    }
  }
  if (auto error = write_outputs(outputs.value(), document, {document})) return error;
  if (!outputs.value().owns_standard_output()) {
    const std::string text = run_text(row, device, result.value(), floor, checks);
    if (auto error = write_text("-", text)) return error;
  }
  if (checks.O.passed() && checks.LSE.passed()) return std::nullopt;
  return failed("the kernel's result is outside the tolerance");
}

}  // namespace

CommandSpec run_command() {
  return {.name = "run",
          .summary = "Runs the real kernel once and checks it against the reference.",
          .operand = "",
          .options = joined({problem_options(),
                             model_options(),
                             input_options(),
                             {{"check", "", "always done by run"},
                              {"out", "DIR", "write o and lse as fp64 .npy files"}},
                             output_options()}),
          .run = run};
}

}  // namespace attnscope::cli
