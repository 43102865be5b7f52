#include "kernels/resolve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "kernels/default_tilings.h"
#include "kernels/run_programs.h"
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
  std::vector<std::string> names;
  for (const Knob* const own : kernel.knobs(pass)) names.emplace_back(own->name);
  return refused(
      unknown_name_message(fmt::format("switch of kernel {}", kernel.name), name, names));
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

/// Rejects choices that only the model has: they change the algorithm's order of tiles, not the
/// modelled GPU or the way it is counted.
std::optional<Error> check_choices(const RunSpec& spec) {
  for (const RunField& field : run_fields()) {
    RunSpec plain = spec;
    field.parse(field.print(RunSpec{}), plain);
    const bool is_choice = plain.variant != spec.variant || plain.splits != spec.splits;
    if (field.target != FieldTarget::model || !is_choice) continue;
    const std::string value = field.print(spec);
    Error error = invalid_field(ErrorCode::not_applicable, field.key,
                                "{} is {}; kernel {} has no such choice: leave {} at its default",
                                field_name(field.key), value, spec.kernel, field_name(field.key));
    error.value = value;
    return error;
  }
  return std::nullopt;
}

/// If the run has two programs, rejects switches that its program does not have: the other program
/// never replaces it silently. The tiling that a Hopper GPU would use without switches
/// decides which program that is.
std::optional<Error> check_program(const ResolvedRun& run) {
  const Knobs knobs = knobs_of(run.asked);
  ResolvedRun there = run;
  there.asked.switches.clear();
  there.tiling =
      tiling_on_gpu(there, {.compute_capability = std::string(kHopperComputeCapability)});
  const bool hopper = knobs.hopper != 0 && has_hopper_program(there, {});
  const auto hopper_knobs = kernel_of(run).pass(run.pass()).hopper_knobs;
  for (const auto& [name, value] : run.asked.switches) {
    if (hopper && std::ranges::find(hopper_knobs, name) == hopper_knobs.end()) {
      return refused(
          fmt::format("on a Hopper GPU this {} pass runs a program that has no switch {}; add "
                      "instructions=mma to run the other program",
                      to_string(run.pass()), name));
    }
    if (!hopper && find_knob(name)->hopper_only) {
      return refused(
          fmt::format("{} is a switch of the program with Hopper's instructions, which does not "
                      "run this {} pass",
                      name, to_string(run.pass())));
    }
  }
  if (!hopper || has_hopper_program(there, knobs)) return std::nullopt;
  return invalid_field(ErrorCode::does_not_fit, "switches",
                       "with stages={}, tiles of {}x{} do not fit in the shared memory of the "
                       "program for Hopper GPUs; use smaller tiles, or add instructions=mma to "
                       "run the other program",
                       knobs.stages, there.tiling.Br, there.tiling.Bc);
}

/// One pass of a spec that requests both, without the switches that only the other pass has.
RunSpec spec_of_pass(RunSpec spec, PassKind pass) {
  const auto kernel = choose_kernel(spec);
  std::erase_if(spec.switches, [&](const auto& named) {
    const Knob* const knob = find_knob(named.first);
    return kernel && knob != nullptr && kernel.value()->has_knob(*knob, PassKind::both) &&
           !kernel.value()->has_knob(*knob, pass);
  });
  spec.pass = pass;
  return spec;
}

}  // namespace

std::optional<Tiling> own_tiling(std::string_view algorithm, PassKind pass,
                                 const AttentionProblem& problem, const ProgramTarget& target) {
  ResolvedRun run{.asked = {.algorithm = std::string(algorithm), .pass = pass}, .problem = problem};
  const auto kernel = choose_kernel(run.asked);
  if (!kernel) return std::nullopt;
  run.asked.kernel = kernel.value()->name;
  return default_tiling(std::move(run), target);
}

Result<ResolvedRun> resolve(const RunSpec& spec, const ProgramTarget& target) {
  if (auto error = validate(spec)) return *error;
  ATTNSCOPE_TRY(const KernelInfo* const kernel, choose_kernel(spec));
  if (spec.pass == PassKind::both) {
    return invalid_field(ErrorCode::not_applicable, "pass",
                         "a kernel runs one pass at a time; {} must be forward or backward",
                         field_name("pass"));
  }
  ResolvedRun run{.asked = spec, .problem = spec.problem};
  run.asked.kernel = kernel->name;
  if (spec.pass == PassKind::forward) {
    run.asked.deterministic = false;
    run.asked.variant.skip_unused_kv = false;  // a row tile loads only the tiles that it uses
  }
  if (auto error = check_choices(run.asked)) return *error;
  ATTNSCOPE_TRY(run.asked.switches,
                check_switches(spec.switches, *kernel, spec.pass, spec.problem.dtype));

  const Tiling own = default_tiling(run, target).value_or(Tiling{});
  run.tiling = {spec.Br.value_or(own.Br), spec.Bc.value_or(own.Bc)};
  if (auto error = draw_block_mask(run)) return *error;
  if (auto error = supports(run, target)) return *error;
  run.tiling = tiling_on_gpu(run, target);
  if (auto error = check_program(run)) return *error;
  return run;
}

Result<std::vector<ResolvedRun>> resolve_passes(const RunSpec& spec, const ProgramTarget& target) {
  if (spec.pass != PassKind::both) {
    ATTNSCOPE_TRY(auto run, resolve(spec, target));
    return std::vector{std::move(run)};
  }
  ATTNSCOPE_TRY(auto backward, resolve(spec_of_pass(spec, PassKind::backward), target));
  RunSpec first = spec_of_pass(spec, PassKind::forward);
  first.files.dO.clear();
  first.problem.block_mask = backward.problem.block_mask;
  ATTNSCOPE_TRY(auto forward, resolve(first, target));
  return std::vector{std::move(forward), std::move(backward)};
}

}  // namespace attnscope::kernels
