#include "app/report/run_difference.h"

#include <fmt/core.h>

#include "app/report/kernel_dram.h"
#include "kernels/resolve.h"
#include "kernels/run_programs.h"
#include "reference/field_rules.h"
#include "reference/key_splits.h"
#include "reference/run_fields.h"
#include "sim/resolve.h"

namespace attnscope {

namespace {

std::string tiling_words(const Tiling& tiling) {
  return fmt::format("{} x {}", tiling.Br, tiling.Bc);
}

/// The GPU's numbers that the user replaced: "another SRAM or L2 size"; empty if none.
std::string_view changed_numbers(const GpuDescription& gpu) {
  const bool sizes = gpu.what_if.sram_bytes || gpu.what_if.l2_bytes;
  if (sizes) return "another SRAM or L2 size";
  if (gpu.what_if != WhatIf{}) return "other rates";
  return gpu.is_altered ? "values that differ from the shipped description" : "";
}

/// Whether the field is a choice that affects a kernel: every field of a kernel except the problem
/// with its block mask, the tiles and the tensors.
bool is_choice(const RunField& field) {
  return field.json.empty() && field.target != FieldTarget::model && field.key != "block_mask";
}

/// Whether only one run sets the switch for the kernel's program, and all other switches agree.
bool differ_in_program(const RunSpec& a, const RunSpec& b) {
  auto of_a = a.switches, of_b = b.switches;
  return of_a.erase(kernels::kInstructionsKnob) != of_b.erase(kernels::kInstructionsKnob) &&
         of_a == of_b;
}

std::string choice_words(const RunField& field, const RunSpec& recorded, const RunSpec& modelled) {
  if (field.key == "switches" && differ_in_program(recorded, modelled)) {
    constexpr std::string_view kPrograms[] = {"Hopper's instructions", kernels::kTensorCores};
    const bool mma = recorded.switches.contains(kernels::kInstructionsKnob);
    return fmt::format("recorded with the program using {}, modelled for the one using {}",
                       kPrograms[mma ? 1 : 0], kPrograms[mma ? 0 : 1]);
  }
  if (field.key == "algorithm") return "recorded with " + recorded.algorithm;
  if (field.key == "pass") return fmt::format("recorded for the {} pass", to_string(recorded.pass));
  if (field.key == "carry") {
    return fmt::format("recorded with O in HBM in {}",
                       recorded.variant.carry == Carry::fp32 ? "fp32" : "the problem's type");
  }
  if (field.key == "deterministic" && recorded.deterministic) {
    return "recorded with dQ added in a fixed order, which is not modelled";
  }
  return fmt::format("recorded with a different setting of {}", field.label);
}

}  // namespace

bool describes(const GpuDescription& gpu, const DeviceInfo& device) {
  if (!changed_numbers(gpu).empty()) return false;
  const bool both_named = !gpu.device_name.empty() && !device.name.empty();
  if (both_named && gpu.device_name != device.name) return false;
  if (gpu.compute_capability != device.compute_capability) return false;
  if (gpu.sm_count != device.sm_count) return false;
  if (device.l2_bytes != 0 && gpu.l2_bytes != device.l2_bytes) return false;
  return device.memory_bytes == 0 || are_one_memory(gpu.hbm_bytes, device.memory_bytes);
}

ResolvedRun run_of_program(const RecordingRow& row, const GpuDescription& gpu) {
  ResolvedRun run = row.run;
  if (!row.measurement || row.measurement->instructions != kernels::kTensorCores) return run;
  if (!kernels::check_switches(run.asked)) return run;
  if (kernels::runs_on_hopper(run, program_target(gpu))) {
    run.asked.switches[kernels::kInstructionsKnob] = "mma";
  }
  return run;
}

namespace {

/// The agents of the kernel's program for this run on the GPU, if the program has any.
std::optional<kernels::ProgramAgents> kernel_agents(ResolvedRun run, const GpuDescription& gpu) {
  if (!kernels::check_switches(run.asked)) return std::nullopt;
  run.asked.kernel = run.algorithm();
  return kernels::agents_of(run, program_target(gpu));
}

/// The run's variant. If its agents and stages are those of its kernel on this GPU, they are
/// replaced by a single group of warps that both load and compute.
ScheduleVariant without_kernel_agents(const ResolvedRun& run, const GpuDescription& gpu) {
  ScheduleVariant variant = run.asked.variant;
  if (variant.consumers == 0) return variant;
  const auto agents = kernel_agents(run, gpu);
  if (agents && agents->consumers == variant.consumers && agents->stages == variant.stages) {
    variant.consumers = 0;
    variant.stages = 1;
  }
  return variant;
}

}  // namespace

std::string why_no_kernel(const SimulationReport& model, const GpuDescription& gpu) {
  const ResolvedRun& run = model.run;
  ScheduleVariant variant = without_kernel_agents(run, gpu);
  variant.visit_hidden = false;  // the kernel has this choice, too
  if (run.pass() == PassKind::both) {
    return "a kernel is measured one pass at a time: forward or backward";
  }
  if (const std::string words = to_string(variant); !words.empty()) {
    return fmt::format("no kernel runs {} with {}", run.algorithm(), words);
  }
  if (variant.skip_unused_kv && run.pass() == PassKind::backward) {
    return "the kernel loads K and V of every column tile, used or not";
  }
  if (run.query_heads_per_tile > 1) {
    return "the kernel gives every query head its own thread blocks";
  }
  if (find_algorithm(run.algorithm())->splits_keys &&
      run.splits != split_count(run.problem, run.tiling, gpu.sm_count)) {
    return fmt::format("the kernel splits the keys by its own rule, not into {} splits",
                       run.splits);
  }
  return {};
}

RunDifference difference(const SimulationReport& model, const GpuDescription& gpu,
                         const RecordingRow& row, const MeasuredOn& on) {
  const ResolvedRun& modelled = model.run;
  if (std::string why = why_no_kernel(model, gpu); !why.empty()) {
    return {DifferenceIn::kernel, std::move(why)};
  }
  if (modelled.problem != row.run.problem) {
    return {DifferenceIn::problem, "recorded for a different problem"};
  }
  const ResolvedRun recorded =
      row.run.tiling == modelled.tiling ? run_of_program(row, gpu) : row.run;
  for (const RunField& field : run_fields()) {
    if (!is_choice(field)) continue;
    // No switch changes what a kernel loads, stores or adds, so the model's schedule still applies
    const bool kernels_alone = field.target == FieldTarget::kernel && field.key != "switches" &&
                               !is_default(field, recorded.asked);
    if (!kernels_alone && field.print(modelled.asked) == field.print(recorded.asked)) continue;
    return {DifferenceIn::choice, choice_words(field, recorded.asked, modelled.asked)};
  }
  if (!describes(gpu, on.device)) {
    const std::string_view changed = changed_numbers(gpu);
    return {DifferenceIn::gpu,
            fmt::format("recorded on {}, modelled for {}{}", on.device.name, gpu.display_name,
                        changed.empty() ? "" : fmt::format(" with {}", changed))};
  }
  if (recorded.tiling.Br == 0) {
    return {DifferenceIn::tiling, "the recording does not name its tiles"};
  }
  if (recorded.tiling != modelled.tiling) {
    return {DifferenceIn::tiling,
            fmt::format("recorded with tiles of {}, modelled with tiles of {}",
                        tiling_words(recorded.tiling), tiling_words(modelled.tiling))};
  }
  if (!row.unidentified.empty()) {
    return {DifferenceIn::choice, "recorded with " + row.unidentified};
  }
  if (on.cache != CacheState::cold) {
    return {DifferenceIn::cache,
            fmt::format("recorded on {} with a {} L2 cache, modelled with a cold one",
                        on.device.name, to_string(on.cache))};
  }
  return {};
}

}  // namespace attnscope
