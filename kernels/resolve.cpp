#include "kernels/resolve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "kernels/default_tilings.h"
#include "kernels/resolved_run.h"
#include "kernels/supports.h"
#include "reference/block_mask.h"
#include "reference/message_text.h"
#include "reference/run_fields.h"

namespace attnscope::kernels {

std::vector<std::string> kernel_algorithms() {
  std::vector<std::string> names;
  for (const KernelInfo& kernel : catalog()) names.emplace_back(kernel.algorithm);
  return names;
}

Result<const KernelInfo*> choose_kernel(const RunSpec& spec) {
  if (!spec.kernel.empty()) {
    const KernelInfo* named = find_kernel(spec.kernel);
    if (named == nullptr) {
      std::vector<std::string> names;
      for (const KernelInfo& kernel : catalog()) names.emplace_back(kernel.name);
      return invalid_field(ErrorCode::unknown_name, "kernel",
                           unknown_name_message("kernel", spec.kernel, names));
    }
    if (named->algorithm == spec.algorithm) return named;
    return invalid_field(ErrorCode::contradiction, "kernel", "kernel {} computes {}; {} is {}",
                         named->name, named->algorithm, field_name("algorithm"), spec.algorithm);
  }
  const auto found = std::ranges::find(catalog(), spec.algorithm, &KernelInfo::algorithm);
  if (found != catalog().end()) return &*found;
  return invalid_field(ErrorCode::not_applicable, "algorithm", "{} has no kernel; these have: {}",
                       spec.algorithm, fmt::join(kernel_algorithms(), ", "));
}

std::vector<const Knob*> available_knobs(const RunSpec& spec) {
  const auto kernel = choose_kernel(spec);
  if (!kernel || spec.problem.dtype == DType::fp32) return {};
  return kernel.value()->knobs(spec.pass);
}

namespace {

Error refused(const std::string& message) {
  return invalid_field(ErrorCode::not_applicable, "switches", message);
}

std::vector<std::string> names_of(const std::vector<const Knob*>& knobs) {
  std::vector<std::string> names;
  for (const Knob* const knob : knobs) names.emplace_back(knob->name);
  return names;
}

/// The error for a switch that the kernel's pass does not have.
Error unknown_switch(std::string_view name, const KernelInfo& kernel, PassKind pass) {
  if (kernel.knobs(PassKind::both).empty()) {
    return refused(
        fmt::format("kernel {} has no switches; leave out '{}'", kernel.name, printable(name)));
  }
  const Knob* const knob = find_knob(name);
  if (knob != nullptr && kernel.has_knob(*knob, PassKind::both)) {
    return refused(fmt::format("{} is a switch of the {} pass", name,
                               pass == PassKind::backward ? "forward" : "backward"));
  }
  return refused(unknown_name_message(fmt::format("switch of kernel {}", kernel.name), name,
                                      names_of(kernel.knobs(pass))));
}

}  // namespace

Result<std::map<std::string, std::string>> check_switches(
    const std::map<std::string, std::string>& switches, const KernelInfo& kernel, PassKind pass,
    DType dtype) {
  std::map<std::string, std::string> kept;
  for (const auto& [name, value] : switches) {
    const Knob* const knob = find_knob(name);
    if (knob == nullptr || !kernel.has_knob(*knob, pass)) {
      return unknown_switch(name, kernel, pass);
    }
    if (dtype == DType::fp32) {
      return refused(fmt::format("{} is a switch of the kernels that use tensor cores; {} is fp32",
                                 name, field_name("dtype")));
    }
    if (find_value(*knob, value) == nullptr) {
      std::vector<std::string_view> names;
      for (const KnobValue& each : knob->values) names.push_back(each.name);
      return refused(fmt::format("switch {} is '{}'; it accepts {}", name, printable(value),
                                 fmt::join(names, ", ")));
    }
    if (value != knob->values.front().name) kept.emplace(name, value);
  }
  return kept;
}

namespace {

/// Whether the field changes the algorithm's order of tiles in the model, as opposed to its GPU or
/// the way it is counted.
bool changes_schedule(const RunField& field, const RunSpec& spec) {
  RunSpec plain = spec;
  field.parse(field.print(RunSpec{}), plain);
  return plain.variant != spec.variant || plain.splits != spec.splits;
}

/// Rejects choices that only the model has.
std::optional<Error> check_choices(const RunSpec& spec, const KernelInfo& kernel) {
  for (const RunField& field : run_fields()) {
    if (field.target != FieldTarget::model || !changes_schedule(field, spec)) continue;
    const std::string value = field.print(spec);
    Error error = invalid_field(ErrorCode::not_applicable, field.key,
                                "{} is {}; kernel {} has no such choice: leave {} at its default",
                                field_name(field.key), value, kernel.name, field_name(field.key));
    error.value = value;
    return error;
  }
  return std::nullopt;
}

/// The run in the tiling that it uses on a Hopper GPU if no switch decides.
ResolvedRun run_on_hopper(ResolvedRun run) {
  const ProgramTarget hopper{.compute_capability = std::string(kHopperComputeCapability)};
  const auto switches = std::exchange(run.asked.switches, {});
  run.tiling = tiling_on_gpu(run, hopper);
  run.asked.switches = switches;
  return run;
}

/// If the run has two programs, rejects switches that its program does not have: the other program
/// never replaces it silently.
std::optional<Error> check_program(const ResolvedRun& run) {
  const Knobs knobs = knobs_of(run.asked);
  const ResolvedRun there = run_on_hopper(run);
  const bool hopper = knobs.hopper != 0 && has_hopper_program(there, {});
  const auto hopper_knobs = kernel_of(run).pass(run.pass()).hopper_knobs;
  for (const auto& [name, value] : run.asked.switches) {
    if (hopper && std::ranges::find(hopper_knobs, name) == hopper_knobs.end()) {
      return invalid_field(ErrorCode::not_applicable, "switches",
                           "on a Hopper GPU this {} pass runs a program that has no switch {}; add "
                           "instructions=mma to run the other program",
                           to_string(run.pass()), name);
    }
    if (!hopper && find_knob(name)->hopper_only) {
      return invalid_field(ErrorCode::not_applicable, "switches",
                           "{} is a switch of the program with Hopper's instructions, which does "
                           "not run this {} pass",
                           name, to_string(run.pass()));
    }
  }
  if (hopper && !has_hopper_program(there, knobs)) {
    return invalid_field(ErrorCode::does_not_fit, "switches",
                         "with stages={}, tiles of {}x{} do not fit in the shared memory of the "
                         "program for Hopper GPUs; use smaller tiles, or add instructions=mma to "
                         "run the other program",
                         knobs.stages, there.tiling.Br, there.tiling.Bc);
  }
  return std::nullopt;
}

/// The switches, except those that only the other pass has.
std::map<std::string, std::string> switches_of_pass(const RunSpec& spec, PassKind pass) {
  std::map<std::string, std::string> kept = spec.switches;
  const auto kernel = choose_kernel(spec);
  if (!kernel) return kept;
  for (const Knob* const knob : kernel.value()->knobs(PassKind::both)) {
    if (!kernel.value()->has_knob(*knob, pass)) kept.erase(std::string(knob->name));
  }
  return kept;
}

}  // namespace

std::optional<Tiling> own_tiling(std::string_view algorithm, PassKind pass,
                                 const AttentionProblem& problem, const ProgramTarget& target) {
  const auto kernel = std::ranges::find(catalog(), algorithm, &KernelInfo::algorithm);
  if (kernel == catalog().end()) return std::nullopt;
  return default_tiling(*kernel, pass, problem, Carry::problem, target);
}

Result<ResolvedRun> resolve(const RunSpec& spec, const ProgramTarget& target) {
  if (auto error = validate(spec)) return *error;
  const auto kernel = choose_kernel(spec);
  if (!kernel) return kernel.error();
  if (spec.pass == PassKind::both) {
    return invalid_field(ErrorCode::not_applicable, "pass",
                         "a kernel runs one pass at a time; {} must be forward or backward",
                         field_name("pass"));
  }
  ResolvedRun run{.asked = spec, .problem = spec.problem};
  run.asked.kernel = kernel.value()->name;
  if (spec.pass == PassKind::forward) {
    run.asked.deterministic = false;
    run.asked.variant.skip_unused_kv = false;  // a row tile loads only the tiles that it uses
  }
  if (auto error = check_choices(run.asked, *kernel.value())) return *error;
  ATTNSCOPE_TRY(run.asked.switches,
                check_switches(spec.switches, *kernel.value(), spec.pass, spec.problem.dtype));

  const Tiling own = default_tiling(*kernel.value(), spec.pass, spec.problem, spec.variant.carry,
                                    target, knobs_of(run.asked))
                         .value_or(Tiling{});
  run.tiling = {spec.Br.value_or(own.Br), spec.Bc.value_or(own.Bc)};
  if (auto error = draw_block_mask(run)) return *error;
  if (auto error = supports(run, target)) return *error;
  run.tiling = asked_tiling(run).value_or(run.tiling);
  if (auto error = check_program(run)) return *error;
  return run;
}

Result<std::vector<ResolvedRun>> resolve_passes(const RunSpec& spec, const ProgramTarget& target) {
  RunSpec last = spec;
  if (spec.pass == PassKind::both) {
    last.pass = PassKind::backward;
    last.switches = switches_of_pass(spec, PassKind::backward);
  }
  auto run = resolve(last, target);
  if (!run) return run.error();
  if (spec.pass != PassKind::both) return std::vector{std::move(run).value()};

  RunSpec first = spec;
  first.pass = PassKind::forward;
  first.switches = switches_of_pass(spec, PassKind::forward);
  first.files.dO.clear();
  first.problem.block_mask = run.value().problem.block_mask;
  auto forward = resolve(first, target);
  if (!forward) return forward.error();
  return std::vector{std::move(forward).value(), std::move(run).value()};
}

}  // namespace attnscope::kernels
