/// attnscope-cli run: runs the real kernel once and checks it against the reference.

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/option_files.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/cli/run_options.h"
#include "app/documents/simulation_json.h"
#include "app/documents/time_json.h"
#include "app/report/compare.h"
#include "app/report/report_text.h"
#include "kernels/measure/gpu.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"
#include "reference/message_text.h"
#include "reference/naive_attention.h"
#include "reference/tolerance.h"
#include "reference/unfused_attention.h"
#include "sim/resolve.h"

namespace attnscope::cli {

namespace {

/// A tensor's error, kernel against reference, and the tolerated error.
struct Check {
  const char* name;
  ErrorReport error;
  Tolerance tolerance;
  bool passed() const { return within(error, tolerance); }
};

/// The results of one pass.
struct PassOutcome {
  ResolvedRun run;
  std::optional<Error> unsaved = {};  ///< why its tensors could not be written
  TimeStatistics time;
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

/// Runs one pass, writes its tensors to the folder, and checks them. The first pass that needs the
/// `reference` computes it for both.
Result<PassOutcome> run_pass(Gpu& gpu, const ResolvedRun& run, const AttentionInputs& inputs,
                             std::optional<ForwardResult>& reference,
                             const std::optional<std::string>& folder) {
  const AttentionProblem& problem = run.problem;
  PassOutcome outcome{.run = run};
  const auto forward_reference = [&]() -> const ForwardResult& {
    if (!reference) {
      show_progress("computing the reference");
      reference = naive_forward(problem, inputs);
    }
    return *reference;
  };
  show_progress("running the kernel");
  if (auto error = compile_with_progress(gpu, run, kernels::RunUse::run)) return *error;
  if (run.pass() == PassKind::forward) {
    ATTNSCOPE_TRY(const auto result, gpu.run_forward(run, inputs));
    outcome.time = result.time;
    if (folder) {
      const auto& [O, LSE, time] = result;
      outcome.unsaved = write_tensor_files(*folder, {{"o", O}, {"lse", LSE}});
    }
    outcome.checks = check_outputs(problem, inputs, forward_reference(), result);
  } else {
    ATTNSCOPE_TRY(const auto result, gpu.run_backward(run, inputs));
    outcome.time = result.time;
    if (folder) {
      const auto& [dQ, dK, dV] = result.gradients;
      outcome.unsaved = write_tensor_files(*folder, {{"dq", dQ}, {"dk", dK}, {"dv", dV}});
    }
    outcome.checks = check_gradients(problem, inputs, forward_reference(), result.gradients);
  }
  return outcome;
}

/// The lower bound of the run's time, or why there is none.
Result<SimulationReport> bound_of(const GivenOptions& given, const ResolvedRun& run,
                                  const DeviceInfo& device) {
  ATTNSCOPE_TRY(const auto gpu, gpu_beside(given, run.asked, device));
  if (!describes(gpu, device)) {
    return unavailable("measured on {}, modelled for {}", device.name, gpu.display_name);
  }
  return model_kernel_run(run, gpu);
}

/// The document of a pass's errors. O's errors come first, without a name, for compatibility with
/// the document's first version; those of other tensors are named.
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

/// The instructions of the kernel's matrix products on this GPU.
std::string instructions_of(const ResolvedRun& run, const DeviceInfo& device) {
  const kernels::ProgramTarget target{.compute_capability = device.compute_capability};
  return std::string(kernels::instructions_of(kernels::programs_of(run, target)));
}

ordered_json run_document(const PassOutcome& outcome, const DeviceInfo& device,
                          const Result<SimulationReport>& bound) {
  ordered_json document = {{"schema", "attnscope.run/1"}};
  document.update(run_identity(outcome.run));
  document["device"] = {{"name", device.name}, {"driver", device.driver}, {"cuda", device.cuda}};
  document["instructions"] = instructions_of(outcome.run, device);
  document["time"] = {{"measured_s", outcome.time.median_s}};
  if (const auto& hz = outcome.time.sm_clock_hz) document["time"]["sm_clock_hz"] = *hz;
  if (bound) document["time"].update(time_bound_json(bound.value()));
  document["accuracy"] = accuracy_document(outcome);
  return document;
}

std::string run_text(const PassOutcome& outcome, const DeviceInfo& device,
                     const Result<SimulationReport>& bound) {
  Lines lines = {{"tensor", "max abs error", "tolerance", "within"}};
  for (const Check& check : outcome.checks) {
    lines.push_back({check.name, fmt::format("{:.3g}", check.error.max_abs_error),
                     fmt::format("{:.3g}", check.tolerance.max_abs),
                     check.passed() ? "yes" : "NO"});
  }
  const std::string bound_text = bound
                                     ? seconds_text(bound.value().bound_s)
                                     : "unavailable: " + words(bound.error(), Reader::command_line);
  const auto& hz = outcome.time.sm_clock_hz;
  const std::string clock = hz ? fmt::format(" at an SM clock of {}", clock_text(*hz)) : "";
  const std::string text =
      fmt::format("{}, {}\non {} (measured), one {} pass {}{}; lower bound {} (modelled)\n\n{}",
                  run_title(outcome.run), instructions_of(outcome.run, device),
                  one_line(device.name), to_string(outcome.run.pass()),
                  seconds_text(outcome.time.median_s), clock, bound_text, table_text(lines));
  const auto note = rounding_note(outcome.run);
  return note.empty() ? text : fmt::format("{}\n{}\n", text, note);
}

struct Prepared {
  std::shared_ptr<Gpu> gpu;
  AttentionInputs inputs;
};

/// A bad file is reported even without a GPU; a missing GPU is reported before inputs are
/// generated, which can take minutes.
Result<Prepared> prepare(const AttentionProblem& problem, const RunSpec& spec) {
  Prepared prepared;
  if (!spec.files.any()) {
    ATTNSCOPE_TRY(prepared.gpu, Gpu::open());
  }
  ATTNSCOPE_TRY(prepared.inputs, load_inputs(problem, spec.files, spec.inputs));
  if (!prepared.gpu) {
    ATTNSCOPE_TRY(prepared.gpu, Gpu::open());
  }
  return prepared;
}

Result<Answer> answer_run(const GivenOptions& given) {
  // Reject invalid requests before the GPU is used
  ATTNSCOPE_TRY(const auto spec, parse_run_of(given, kernels::kernel_names()));
  ATTNSCOPE_TRY(const auto checked, kernels::resolve_passes(spec));
  if (const auto gpu = gpu_of(spec); !gpu) return gpu.error();
  if (auto error = check_folder(given, "out")) return *error;
  const AttentionProblem& problem = checked.front().problem;
  if (auto error = check_host_memory(problem)) return *error;
  ATTNSCOPE_TRY(const auto prepared, prepare(problem, spec));
  const auto& [gpu, inputs] = prepared;
  ATTNSCOPE_TRY(auto runs, kernels::resolve_passes(spec, gpu->target()));
  const DeviceInfo& device = gpu->device();
  ordered_json documents = ordered_json::array();
  Answer answer;
  std::optional<ForwardResult> reference;
  for (ResolvedRun& run : runs) {
    if (spec.files.any()) run.files_hash = hash_of_inputs(inputs);
    ATTNSCOPE_TRY(const auto outcome, run_pass(*gpu, run, inputs, reference, given.text("out")));
    const auto bound = bound_of(given, run, device);
    documents.push_back(run_document(outcome, device, bound));
    answer.text += (answer.text.empty() ? "" : "\n") + run_text(outcome, device, bound);
    if (outcome.unsaved) answer.failure = outcome.unsaved;
    if (outcome.passed() || answer.failure) continue;
    answer.failure = failed("the kernel's result is outside the tolerance");
  }

  // One pass is an object, two passes are a list
  answer.json = json_text(documents.size() == 1 ? documents[0] : documents);
  answer.csv = csv_text(documents);
  return answer;
}

}  // namespace

CommandSpec run_command() {
  return answering(
      {.name = "run",
       .summary = "Runs the real kernel once and checks it against the reference.",
       .options = joined({run_options(FieldTarget::kernel),
                          modelled_gpu_options(),
                          {{"check", "", "always done by run"},
                           {"out", "DIR", "write o and lse, dq, dk and dv as fp64 .npy files",
                            false, writes_tensors()}}})},
      answer_run);
}

}  // namespace attnscope::cli
