#include "sim/tiling_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "reference/message_text.h"
#include "reference/tiling.h"

namespace attnscope {

ScheduleOptions schedule_options(const AttentionProblem& problem, const ScheduleVariant& variant,
                                 const GpuDescription& gpu) {
  const Index rows = softmax_rows_per_block(problem.N_kv);
  // The rows of a block take at most half of the registers, in fp32
  const Index panel_cols =
      std::max<Index>(16, gpu.register_bytes_per_sm / (2 * rows * size_bytes(DType::fp32)));
  // The backward pass keeps P and dP, and with a soft cap S and its derivative
  const Index held = problem.score.soft_cap ? 4 : 2;
  return {.variant = variant,
          .softmax_panel_cols = problem.N_kv > panel_cols ? panel_cols : 0,
          .gradient_panel_cols = held * problem.N_kv > panel_cols ? panel_cols / held : 0,
          .heads_per_kv_head = problem.heads_per_kv_head(),
          .score_steps = score_steps_of(problem),
          .masked = !problem.mask.is_none() || problem.has_key_lengths() || problem.is_packed()};
}

ScheduleOptions schedule_options(const ResolvedRun& run, const GpuDescription& gpu) {
  ScheduleOptions options = schedule_options(run.problem, run.asked.variant, gpu);
  options.skips_padded_keys = find_algorithm(run.algorithm())->skips_padded_keys;
  options.splits = run.splits;
  return options;
}

Tiling paper_tiling(Index sram_elems, Index d) {
  const Index Bc = std::max<Index>(1, ceil_div(sram_elems, 4 * d));
  return {std::min(Bc, d), Bc};
}

Index sram_elems(const GpuDescription& gpu, DType dtype) {
  return gpu.shared_bytes_per_block / size_bytes(dtype);
}

Tiling paper_tiling(const GpuDescription& gpu, DType dtype, Index d) {
  return paper_tiling(sram_elems(gpu, dtype), d);
}

namespace {

/// The row length above which the row launches use the same number of rows per block.
constexpr Index kLongRowKeys = 2048;

/// Whether a tiling's slots fit; `launches` and `options` are those of one pass.
bool tiling_fits(const Tiling& tiling, const Pass& launches, const ScheduleOptions& options,
                 const AttentionProblem& problem, const GpuDescription& gpu) {
  // One row tile uses all slots; a softmax block of long rows holds fewer rows
  AttentionProblem one_tile = problem;
  one_tile.N = tiling.Br;
  one_tile.N_kv = std::max(tiling.Bc, std::min(problem.N_kv, kLongRowKeys));
  return on_chip_fit(launches, {one_tile, tiling, options, {}}, gpu).fits;
}

std::optional<Tiling> largest_tiling(const Algorithm& algorithm, const AttentionProblem& problem,
                                     const ScheduleVariant& variant, const GpuDescription& gpu,
                                     PassKind pass) {
  const ScheduleOptions options = schedule_options(problem, variant, gpu);
  const Pass launches = make_pass(algorithm, pass, options);
  std::optional<Tiling> best;
  // Every consumer has the same number of rows (backward: keys)
  const Index step = std::lcm(Index{16}, std::max<Index>(variant.consumers, 1));
  for (Tiling next{step, step}; tiling_fits(next, launches, options, problem, gpu);) {
    best = next;
    next = {next.Br + step, next.Bc + step};
  }
  return best;
}

}  // namespace

std::optional<Tiling> model_tiling(const Algorithm& algorithm, const AttentionProblem& problem,
                                   const ScheduleVariant& variant, const GpuDescription& gpu,
                                   PassKind pass) {
  if (algorithm.sets_tiling_from_sram) {
    const ScheduleOptions options = schedule_options(problem, variant, gpu);
    const Tiling by_rule = paper_tiling(gpu, problem.dtype, problem.d);
    const Pass launches = make_pass(algorithm, pass, options);
    if (tiling_fits(by_rule, launches, options, problem, gpu)) return by_rule;
  }
  return largest_tiling(algorithm, problem, variant, gpu, pass);
}

std::optional<Tiling> tiling_by_rule(const RunSpec& spec, TilingRule rule,
                                     const GpuDescription& gpu) {
  const Algorithm& algorithm = *find_algorithm(spec.algorithm);
  const AttentionProblem& problem = spec.problem;
  switch (rule) {
    case TilingRule::paper:
      return paper_tiling(gpu, problem.dtype, problem.d);
    case TilingRule::largest:
      return largest_tiling(algorithm, problem, spec.variant, gpu, spec.pass);
    case TilingRule::by_default:
    case TilingRule::kernel:
      break;
  }
  return model_tiling(algorithm, problem, spec.variant, gpu, spec.pass);
}

// A head of one tile uses all slots: no need to run the whole sweep.
std::vector<LaunchOccupancy> occupancy_of(const Pass& pass, const PassRun& run) {
  PassRun one_tile = run;
  const ScheduleVariant& variant = run.options.variant;
  if (variant.consumers > 0) {
    // Agents without rows or keys use no slots; in the backward pass, row tiles have one slot per
    // stage
    one_tile.problem.N = run.tiling.Br * variant.stages;
    one_tile.problem.N_kv = std::max(run.problem.N_kv, run.tiling.Bc);
  } else {
    one_tile.problem.N = std::min(run.problem.N, run.tiling.Br);
  }
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

/// Bytes of the launch whose thread block needs the most.
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
        gpu.shared_bytes_per_block, "shared memory per thread block",
        gpu.what_if.sram_bytes ? "the SRAM given" : gpu.name);
  check(fit.padded ? fit.padded->register_bytes_per_block : fit.register_bytes_per_block,
        gpu.register_bytes_per_sm, "registers", gpu.name);
  if (fit.padded) fit.padded->fits = fit.fits;
  return fit;
}

}  // namespace attnscope
