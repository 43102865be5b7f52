#include "sim/on_chip_fit.h"

#include <fmt/core.h>

#include <algorithm>

#include "reference/head_dim.h"
#include "reference/message_text.h"

namespace attnscope {

// A head of one tile uses every slot: no need to run the whole sweep.
std::vector<LaunchOccupancy> occupancy_of(const Pass& pass, const PassRun& run) {
  PassRun one_tile = run;
  one_tile.problem.N = std::min(run.problem.N, run.tiling.Br);
  one_tile.problem.mask = Mask::none();
  one_tile.problem.block_mask = nullptr;
  one_tile.problem.key_lengths.clear();
  one_tile.problem.cu_seqlens_q.clear();
  one_tile.problem.cu_seqlens_k.clear();
  OccupancyObserver occupancy;
  CountingObserver* const counters[] = {&occupancy};
  for (const Launch& launch : pass.launches) {
    const TileGrid grid = launch.grid(one_tile.problem, run.tiling, run.options);
    Program program(counters);
    occupancy.begin_launch(launch.name, grid);
    launch.run(grid, 0, program);
  }
  return occupancy.launches();
}

namespace {

/// Bytes of the launch whose thread block needs most.
Index largest_block(std::span<const LaunchOccupancy> launches, OnChipSpace space) {
  Index largest = 0;
  for (const LaunchOccupancy& launch : launches) largest = std::max(largest, launch.bytes(space));
  return largest;
}

}  // namespace

OnChipFit on_chip_fit(const Pass& pass, const PassRun& run, const GpuDescription& gpu) {
  const std::vector<LaunchOccupancy> valid = occupancy_of(pass, run);
  OnChipFit fit{.sram_bytes_per_block = largest_block(valid, OnChipSpace::shared),
                .register_bytes_per_block = largest_block(valid, OnChipSpace::registers)};

  // Pad d as the kernels do, except for a library's products
  const Index d = padded_head_dim(run.problem.d);
  const bool any_product = std::ranges::any_of(pass.launches, &Launch::paper_counts_operands_once);
  if (d != run.problem.d && !any_product) {
    PassRun padded = run;
    padded.problem.d = d;
    const std::vector<LaunchOccupancy> launches = occupancy_of(pass, padded);
    fit.padded = {.d = d,
                  .sram_bytes_per_block = largest_block(launches, OnChipSpace::shared),
                  .register_bytes_per_block = largest_block(launches, OnChipSpace::registers)};
  }

  // Check the memory that a kernel would need
  const std::string padding = fit.padded ? fmt::format(" (padded to {})", d) : "";
  const auto check = [&](Index needed, Index available, std::string_view what,
                         std::string_view whose) {
    if (needed <= available || !fit.fits) return;
    fit.fits = false;
    const std::string needs = capacity_text(needed), has = capacity_text(available);
    fit.overflow_reason = fmt::format("Br = {}, Bc = {}, d = {}{} in {} needs {} of {}; {} has {}",
                                      run.tiling.Br, run.tiling.Bc, run.problem.d, padding,
                                      to_string(run.problem.dtype), needs, what, whose, has);
    if (needs == has) fit.overflow_reason += fmt::format(", {} bytes less", needed - available);
  };
  check(fit.padded ? fit.padded->sram_bytes_per_block : fit.sram_bytes_per_block,
        gpu.shared_bytes_per_block, "shared memory a thread block",
        gpu.given.sram_bytes ? "the SRAM given" : gpu.name);
  check(fit.padded ? fit.padded->register_bytes_per_block : fit.register_bytes_per_block,
        gpu.register_bytes_per_sm, "registers", gpu.name);
  if (fit.padded) fit.padded->fits = fit.fits;
  return fit;
}

}  // namespace attnscope
