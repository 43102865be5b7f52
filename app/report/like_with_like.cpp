#include "app/report/like_with_like.h"

#include <fmt/core.h>

#include <cmath>

#include "reference/key_splits.h"
#include "reference/same_problem.h"
#include "sim/schedule/catalog.h"

namespace attnscope {

namespace {

/// Products are named after more memory than a device reports.
constexpr double kMemoryTolerance = 0.1;

std::string tiling_words(const Tiling& tiling) {
  return fmt::format("{} x {}", tiling.Br, tiling.Bc);
}

std::string gpu_words(const GpuDescription& gpu, const DeviceInfo& device) {
  const bool changed = gpu.given.sram_bytes || gpu.given.l2_bytes;
  return fmt::format("recorded on {}, modelled for {}{}", device.name, gpu.display_name,
                     changed ? " with another SRAM or L2 size" : "");
}

}  // namespace

bool describes(const GpuDescription& gpu, const DeviceInfo& device) {
  if (gpu.given.sram_bytes || gpu.given.l2_bytes) return false;
  if (gpu.compute_capability != device.compute_capability) return false;
  if (gpu.sm_count != device.sm_count) return false;
  if (device.l2_bytes != 0 && gpu.l2_bytes != device.l2_bytes) return false;
  const auto memory_bytes = static_cast<double>(gpu.hbm_bytes);
  return device.memory_bytes == 0 || std::abs(static_cast<double>(device.memory_bytes) -
                                              memory_bytes) <= kMemoryTolerance * memory_bytes;
}

std::string why_no_kernel(const SimulationReport& model, const GpuDescription& gpu) {
  if (model.pass == PassKind::both) {
    return "a kernel is measured one pass at a time: forward or backward";
  }
  if (const std::string variant = to_string(model.variant); !variant.empty()) {
    return fmt::format("no kernel is {} with {}", model.algorithm, variant);
  }
  if (model.skip_unused_kv && model.pass == PassKind::backward) {
    return "the kernel loads K and V of every column tile, used or not";
  }
  if (model.query_heads_per_tile > 1) {
    return "the kernel gives every query head its own thread blocks";
  }
  if (find_algorithm(model.algorithm)->splits_keys &&
      model.splits != split_count(model.problem, model.tiling, gpu.sm_count)) {
    return fmt::format("the kernel cuts the keys by its own rule, not into {} splits",
                       model.splits);
  }
  return {};
}

RunDifference difference(const SimulationReport& model, const GpuDescription& gpu,
                         const RecordingRow& row, const MeasuredOn& on) {
  if (std::string why = why_no_kernel(model, gpu); !why.empty()) {
    return {DifferenceIn::kernel, std::move(why)};
  }
  if (!same_problem(model.problem, row.problem)) {
    return {DifferenceIn::problem, "recorded of another problem"};
  }
  if (model.algorithm != row.algorithm) {
    return {DifferenceIn::algorithm, "recorded of " + row.algorithm};
  }
  if (to_string(model.pass) != row.pass) {
    return {DifferenceIn::pass, fmt::format("recorded of the {} pass", row.pass)};
  }
  if (model.carry != row.carry) {
    return {DifferenceIn::switches,
            fmt::format("recorded with O in HBM in {}",
                        row.carry == Carry::fp32 ? "fp32" : "the problem's type")};
  }
  if (row.deterministic) {
    return {DifferenceIn::switches,
            "recorded with dQ added in a fixed order, which the model does not have"};
  }
  if (!describes(gpu, on.device)) return {DifferenceIn::gpu, gpu_words(gpu, on.device)};
  if (!row.tiling) return {DifferenceIn::tiling, "the recording does not name its tiles"};
  if (*row.tiling != model.tiling) {
    return {DifferenceIn::tiling,
            fmt::format("recorded with tiles of {}, modelled with tiles of {}",
                        tiling_words(*row.tiling), tiling_words(model.tiling))};
  }
  if (on.cache != CacheState::cold) {
    return {DifferenceIn::cache,
            fmt::format("recorded on {} with a {} L2 cache, modelled with a cold one",
                        on.device.name, to_string(on.cache))};
  }
  return {};
}

}  // namespace attnscope
