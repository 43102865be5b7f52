#include "app/cli/run_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/kernel_request.h"
#include "app/cli/memory_check.h"
#include "app/cli/modelled_beside.h"
#include "app/cli/outputs.h"
#include "app/cli/simulation_json.h"
#include "app/cli/table.h"
#include "app/cli/tensor_files.h"
#include "app/report/comparison_report.h"
#include "app/report/number_text.h"
#include "reference/naive_attention.h"
#include "reference/one_line.h"
#include "reference/tolerance.h"
#include "reference/unfused_attention.h"
#include "sim/accuracy.h"

namespace attnscope::cli {

using nlohmann::ordered_json;

namespace {

/// A tensor of the kernel beside the reference's.
struct Check {
  const char* name;
  ErrorReport error;
  Tolerance tolerance;
  bool passed() const { return within(error, tolerance); }
};

/// What one pass gave.
struct PassOutcome {
  RecordingRow row;
  double time_s = 0.0;
  std::vector<Check> checks;
  bool passed() const { return std::ranges::all_of(checks, &Check::passed); }
};

std::vector<Check> check_outputs(const AttentionProblem& problem, const AttentionInputs& inputs,
                                 const ForwardResult& reference, const RunResult& result) {
  const ForwardResult yardstick = unfused_forward(problem, inputs);
  return {{"O", compare(result.O.data, reference.O.data),
           tolerance_from(yardstick.O.data, reference.O.data, problem.dtype)},
          {"LSE", compare(result.LSE.data, reference.LSE.data),
           tolerance_from(yardstick.LSE.data, reference.LSE.data, DType::fp32)}};
}

std::vector<Check> check_gradients(const AttentionProblem& problem, const AttentionInputs& inputs,
                                   const ForwardResult& forward, const Gradients& gradients) {
  const Gradients reference = naive_backward(problem, inputs, forward);
  const Gradients yardstick = unfused_backward(problem, inputs);
  const auto check = [&](const char* name, HeadTensor Gradients::*tensor) -> Check {
    const HeadTensor& ref = reference.*tensor;
    return {name, compare((gradients.*tensor).data, ref.data),
            gradient_tolerance(problem, inputs, (yardstick.*tensor).data, ref.data)};
  };
  return {check("dQ", &Gradients::dQ), check("dK", &Gradients::dK), check("dV", &Gradients::dV)};
}

/// What both passes are checked with, computed when the first of them has run.
class Reference {
 public:
  Reference(const AttentionProblem& problem, const AttentionInputs& inputs)
      : problem_(problem), inputs_(inputs) {}
  const ForwardResult& forward() {
    if (!forward_) {
      show_progress("computing the reference");
      forward_ = naive_forward(problem_, inputs_);
    }
    return *forward_;
  }

 private:
  const AttentionProblem& problem_;
  const AttentionInputs& inputs_;
  std::optional<ForwardResult> forward_;
};

/// Runs the choice's pass, writes its tensors to the folder, and checks them.
Result<PassOutcome> run_pass(KernelLibrary& library, const ProblemRequest& request,
                             const KernelChoice& choice, const AttentionInputs& inputs,
                             Reference& reference, const std::optional<std::string>& folder) {
  const AttentionProblem& problem = request.problem;
  PassOutcome outcome{.row = describe_run(problem, choice, request.inputs)};
  show_progress("running the kernel");
  if (choice.pass == PassKind::forward) {
    const auto result = library.run_forward(problem, choice, inputs);
    if (!result) return result.error();
    outcome.time_s = result.value().time_s;
    if (folder) {
      if (auto error = write_forward_files(*folder, result.value().O, result.value().LSE)) {
        return *error;
      }
    }
    outcome.checks = check_outputs(problem, inputs, reference.forward(), result.value());
  } else {
    const auto result = library.run_backward(problem, choice, inputs);
    if (!result) return result.error();
    outcome.time_s = result.value().time_s;
    if (folder) {
      if (auto error = write_gradient_files(*folder, result.value().gradients)) return *error;
    }
    outcome.checks =
        check_gradients(problem, inputs, reference.forward(), result.value().gradients);
  }
  return outcome;
}

/// The lower bound of the run's time, or why there is none.
Result<SimulationReport> bound_of(const GivenOptions& given, const RecordingRow& row,
                                  const DeviceInfo& device) {
  const auto gpu = gpu_beside(given, device);
  if (!gpu) return gpu.error();
  if (!describes(gpu.value(), device)) {
    return unavailable(
        fmt::format("measured on {}, modelled for {}", device.name, gpu.value().display_name));
  }
  return simulate({.problem = row.problem,
                   .algorithm = row.algorithm,
                   .pass = parse_pass(row.pass).value(),
                   .tiling = row.tiling,
                   .carry = row.carry,
                   .gpu = gpu.value(),
                   .allow_overflow = true});
}

/// O's errors stand first and unnamed, as they have since the first version; other tensors are
/// named.
ordered_json accuracy_document(const PassOutcome& outcome) {
  ordered_json accuracy = ordered_json::object();
  for (const Check& check : outcome.checks) {
    const std::string_view name = check.name;
    if (name == "O") {
      accuracy["max_abs_error"] = check.error.max_abs_error;
      accuracy["rel_fro_error"] = check.error.rel_fro_error;
      accuracy["tolerance"] = check.tolerance.max_abs;
    } else if (name == "LSE") {
      accuracy["lse_max_abs_error"] = check.error.max_abs_error;
      accuracy["lse_tolerance"] = check.tolerance.max_abs;
    } else {
      accuracy[check.name] = {{"max_abs_error", check.error.max_abs_error},
                              {"rel_fro_error", check.error.rel_fro_error},
                              {"tolerance", check.tolerance.max_abs}};
    }
  }
  accuracy["within_tolerance"] = outcome.passed();
  return accuracy;
}

ordered_json run_document(const PassOutcome& outcome, const DeviceInfo& device,
                          const Result<SimulationReport>& bound) {
  ordered_json document = {{"schema", "attnscope.run/1"}};
  document.update(run_identity(outcome.row));
  document["device"] = {{"name", device.name}, {"driver", device.driver}, {"cuda", device.cuda}};
  document["time"] = {{"measured_s", outcome.time_s}};
  if (bound) document["time"].update(time_bound_json(bound.value()));
  document["accuracy"] = accuracy_document(outcome);
  return document;
}

std::string run_text(const PassOutcome& outcome, const DeviceInfo& device,
                     const Result<SimulationReport>& bound) {
  std::vector<std::vector<std::string>> lines = {
      {"tensor", "max abs error", "tolerance", "within"}};
  for (const Check& check : outcome.checks) {
    lines.push_back({check.name, fmt::format("{:.3g}", check.error.max_abs_error),
                     fmt::format("{:.3g}", check.tolerance.max_abs),
                     check.passed() ? "yes" : "NO"});
  }
  const std::string bound_text = bound ? seconds_text(bound.value().bound_s)
                                       : "unavailable: " + one_line(bound.error().message);
  std::string text =
      fmt::format("{}\non {} (measured), one {} pass {}; lower bound {} (modelled)\n\n{}",
                  run_title(outcome.row), one_line(device.name), outcome.row.pass,
                  seconds_text(outcome.time_s), bound_text, table_text(lines));
  const auto note =
      rounded_output_note(outcome.row.algorithm, outcome.row.carry, outcome.row.problem.dtype);
  return note.empty() ? text : fmt::format("{}\n{}\n", text, note);
}

std::optional<Error> run(const GivenOptions& given) {
  // Everything that can be refused is refused before the GPU is touched
  const auto outputs = parse_outputs(given);
  if (!outputs) return outputs.error();
  const auto request = parse_kernel_problem(given);
  if (!request) return request.error();
  const auto choices = choose_kernels(request.value(), given.has("deterministic"));
  if (!choices) return choices.error();
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
  const DeviceInfo& device = library.value()->device();
  ordered_json documents = ordered_json::array();
  std::string text;
  bool passed = true;
  Reference reference(problem, inputs.value());
  for (const KernelChoice& choice : choices.value()) {
    const auto outcome =
        run_pass(*library.value(), request.value(), choice, inputs.value(), reference, folder);
    clear_progress();
    if (!outcome) return outcome.error();
    const auto bound = bound_of(given, outcome.value().row, device);
    documents.push_back(run_document(outcome.value(), device, bound));
    text += (text.empty() ? "" : "\n") + run_text(outcome.value(), device, bound);
    passed = passed && outcome.value().passed();
  }

  // One pass is an object, both are a list
  const ordered_json document = documents.size() == 1 ? documents[0] : documents;
  if (auto error = write_outputs(outputs.value(), document, documents)) return error;
  if (!outputs.value().owns_standard_output()) {
    if (auto error = write_text("-", text)) return error;
  }
  if (passed) return std::nullopt;
  return failed("the kernel's result is outside the tolerance");
}

}  // namespace

CommandSpec run_command() {
  return {.name = "run",
          .summary = "Runs the real kernel once and checks it against the reference.",
          .operand = "",
          .options = joined({problem_options(),
                             block_mask_option(),
                             model_options(),
                             input_options(),
                             {{"check", "", "always done by run"},
                              {"deterministic", "", "backward: add up dQ in a fixed order"},
                              {"out", "DIR", "write o and lse, dq, dk and dv as fp64 .npy files"}},
                             output_options()}),
          .run = run};
}

}  // namespace attnscope::cli
