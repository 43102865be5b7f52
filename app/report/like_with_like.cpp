#include "app/report/like_with_like.h"

#include <fmt/core.h>

#include "reference/key_splits.h"
#include "reference/run_fields.h"

namespace attnscope {

namespace {

std::string tiling_words(const Tiling& tiling) {
  return fmt::format("{} x {}", tiling.Br, tiling.Bc);
}

/// The user's numbers in place of the GPU's: "another SRAM or L2 size"; empty without any.
std::string_view changed_numbers(const GpuDescription& gpu) {
  if (gpu.given.sram_bytes || gpu.given.l2_bytes) return "another SRAM or L2 size";
  return gpu.is_altered ? "values that differ from the shipped description" : "";
}

/// Whether the field is a choice that changes what a kernel does: every field of a kernel except
/// the problem with its block mask, the tiles and the tensors.
bool is_choice(const RunField& field) {
  return field.json.empty() && field.target != FieldTarget::model && field.key != "block_mask";
}

std::string choice_words(const RunField& field, const RunSpec& recorded) {
  if (field.key == "algorithm") return "recorded with " + recorded.algorithm;
  if (field.key == "pass") return fmt::format("recorded for the {} pass", to_string(recorded.pass));
  if (field.key == "carry") {
    return fmt::format("recorded with O in HBM in {}",
                       recorded.variant.carry == Carry::fp32 ? "fp32" : "the problem's type");
  }
  if (field.key == "deterministic" && recorded.deterministic) {
    return "recorded with dQ added in a fixed order, which is not modelled";
  }
  return fmt::format("recorded with another setting of {}", field.label);
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

std::string why_no_kernel(const SimulationReport& model, const GpuDescription& gpu) {
  const ResolvedRun& run = model.run;
  const ScheduleVariant& variant = run.asked.variant;
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
    return fmt::format("the kernel cuts the keys by its own rule, not into {} splits", run.splits);
  }
  return {};
}

RunDifference difference(const SimulationReport& model, const GpuDescription& gpu,
                         const RecordingRow& row, const MeasuredOn& on) {
  const ResolvedRun& modelled = model.run;
  const ResolvedRun& recorded = row.run;
  if (std::string why = why_no_kernel(model, gpu); !why.empty()) {
    return {DifferenceIn::kernel, std::move(why)};
  }
  if (modelled.problem != recorded.problem) {
    return {DifferenceIn::problem, "recorded for another problem"};
  }
  for (const RunField& field : run_fields()) {
    if (!is_choice(field)) continue;
    const bool kernels_alone =
        field.target == FieldTarget::kernel && !is_default(field, recorded.asked);
    if (!kernels_alone && field.print(modelled.asked) == field.print(recorded.asked)) continue;
    return {DifferenceIn::choice, choice_words(field, recorded.asked)};
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
