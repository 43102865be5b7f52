#include "kernels/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/default_tilings.h"
#include "kernels/run_programs.h"
#include "reference/block_mask.h"
#include "reference/message_text.h"
#include "reference/run_fields.h"

namespace attnscope::kernels {

Result<const KernelInfo*> choose_kernel(const RunSpec& spec) {
  const KernelInfo* const kernel = find_kernel(spec.kernel.empty() ? spec.algorithm : spec.kernel);
  if (kernel != nullptr && kernel->name == spec.algorithm) return kernel;
  if (kernel != nullptr) {
    return invalid_field(ErrorCode::contradiction, "kernel",
                         "kernel {0} computes only {0}; {1} is {2}", kernel->name,
                         field_name("algorithm"), spec.algorithm);
  }
  if (!spec.kernel.empty()) {
    return invalid_field(ErrorCode::unknown_name, "kernel",
                         unknown_name_message("kernel", spec.kernel, kernel_names()));
  }
  return not_applicable("algorithm", "{} has no kernel; these have: {}", spec.algorithm,
                        fmt::join(kernel_names(), ", "));
}

std::vector<const Knob*> available_knobs(const RunSpec& spec) {
  const auto kernel = choose_kernel(spec);
  if (!kernel || spec.problem.dtype == DType::fp32) return {};
  return kernel.value()->knobs(spec.pass);
}

namespace {

/// Why the kernel's pass does not accept a switch that it does not have.
std::string unknown_switch(std::string_view name, const KernelInfo& kernel, PassKind pass) {
  if (kernel.knobs(PassKind::both).empty()) {
    return fmt::format("kernel {} has no switches; leave out '{}'", kernel.name, printable(name));
  }
  if (kernel.has_knob(name, PassKind::both)) {
    return fmt::format("{} is a switch of the {} pass", name,
                       pass == PassKind::backward ? "forward" : "backward");
  }
  std::vector<std::string> names;
  for (const Knob* const own : kernel.knobs(pass)) names.emplace_back(own->name);
  return unknown_name_message(fmt::format("switch of kernel {}", kernel.name), name, names);
}

}  // namespace

Result<std::map<std::string, std::string>> check_switches(const RunSpec& spec) {
  ATTNSCOPE_TRY(const KernelInfo* const kernel, choose_kernel(spec));
  std::map<std::string, std::string> kept;
  for (const auto& [name, value] : spec.switches) {
    if (!kernel->has_knob(name, spec.pass)) {
      return not_applicable("switches", "{}", unknown_switch(name, *kernel, spec.pass));
    }
    if (spec.problem.dtype == DType::fp32) {
      return not_applicable("switches",
                            "{} is a switch of the kernels that use tensor cores; {} is fp32", name,
                            field_name("dtype"));
    }
    const Knob& knob = *find_knob(name);
    if (find_value(knob, value) == nullptr) {
      std::vector<std::string_view> names;
      for (const KnobValue& each : knob.values) names.push_back(each.name);
      return not_applicable("switches", "switch {} is '{}'; it accepts {}", name, printable(value),
                            fmt::join(names, ", "));
    }
    if (value != knob.values.front().name) kept.emplace(name, value);
  }
  return kept;
}

namespace {

/// Rejects choices that only the model has: they change the algorithm's order of tiles.
std::optional<Error> check_choices(const RunSpec& spec) {
  for (const RunField& field : run_fields()) {
    RunSpec plain = spec;
    field.parse(field.print(RunSpec{}), plain);
    const bool is_choice = plain.variant != spec.variant || plain.splits != spec.splits;
    if (field.target != FieldTarget::model || !is_choice) continue;
    const std::string value = field.print(spec);
    Error error =
        not_applicable(field.key, "{} is {}; kernel {} has no such choice: leave {} at its default",
                       field_name(field.key), value, spec.kernel, field_name(field.key));
    error.value = value;
    return error;
  }
  return std::nullopt;
}

/// One pass of a spec that requests both, without the switches that only the other pass has.
RunSpec spec_of_pass(RunSpec spec, PassKind pass) {
  if (const KernelInfo* const kernel = find_kernel(spec.algorithm)) {
    std::erase_if(spec.switches, [&](const auto& given) {
      return kernel->has_knob(given.first, PassKind::both) && !kernel->has_knob(given.first, pass);
    });
  }
  spec.pass = pass;
  return spec;
}

}  // namespace

std::optional<Error> check_program(const ResolvedRun& run, const ProgramTarget& target) {
  if (run.asked.switches.empty()) return std::nullopt;
  const ProgramTarget on_hopper{.compute_capability = std::string(kHopperComputeCapability)};
  const Knobs knobs = knobs_of(run.asked);
  ResolvedRun plain = run;
  plain.asked.switches.clear();
  plain = run_on_gpu(std::move(plain), on_hopper);
  const bool fits = has_hopper_program(run_on_gpu(run, on_hopper), knobs);
  const bool hopper = fits || (knobs.hopper != 0 && has_hopper_program(plain, {}));
  const bool lacks_hopper = !target.compute_capability.empty() && !target.has_hopper_instructions();
  const auto hopper_knobs = kernel_of(run).pass(run.pass()).hopper_knobs;
  const std::string_view where = target.compute_capability == kHopperComputeCapability
                                     ? " on tensors with these strides"
                                     : " on this GPU";
  for (const auto& [name, value] : run.asked.switches) {
    if (hopper && std::ranges::find(hopper_knobs, name) == hopper_knobs.end()) {
      return not_applicable("switches",
                            "on a Hopper GPU this {} pass runs a program that has no switch {}; "
                            "add instructions=mma to run the other program",
                            to_string(run.pass()), name);
    }
    if ((!hopper || lacks_hopper) && find_knob(name)->hopper_only) {
      return not_applicable("switches",
                            "{} is a switch of the program with Hopper's instructions, which does "
                            "not run this {} pass{}",
                            name, to_string(run.pass()), hopper ? where : "");
    }
  }
  if (!hopper || fits) return std::nullopt;
  return invalid_field(ErrorCode::does_not_fit, "switches",
                       "with stages={}, tiles of {}x{} do not fit in the shared memory of Hopper's "
                       "program; use smaller tiles, or add instructions=mma for the other program",
                       knobs.stages, plain.tiling.Br, plain.tiling.Bc);
}

std::optional<Tiling> own_tiling(std::string_view algorithm, PassKind pass,
                                 const AttentionProblem& problem, const ProgramTarget& target) {
  if (find_kernel(algorithm) == nullptr) return std::nullopt;
  const std::string name(algorithm);
  return default_tiling(
      {.asked = {.algorithm = name, .pass = pass, .kernel = name}, .problem = problem}, target);
}

Result<ResolvedRun> resolve(const RunSpec& spec, const ProgramTarget& target) {
  if (auto error = validate(spec)) return *error;
  ATTNSCOPE_TRY(const KernelInfo* const kernel, choose_kernel(spec));
  if (spec.pass == PassKind::both) {
    return not_applicable("pass",
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
  ATTNSCOPE_TRY(run.asked.switches, check_switches(spec));

  const Tiling own = default_tiling(run, target).value_or(Tiling{});
  run.tiling = {spec.Br.value_or(own.Br), spec.Bc.value_or(own.Bc)};
  if (auto error = draw_block_mask(run)) return *error;
  if (auto error = supports(run, target)) return *error;
  run = run_on_gpu(std::move(run), target);
  if (auto error = check_program(run, target)) return *error;
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
