#include "sim/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reference/block_mask.h"
#include "reference/nearest_name.h"
#include "sim/observers/flop_counter.h"
#include "sim/observers/hbm_footprint.h"
#include "sim/observers/occupancy.h"
#include "sim/schedule/catalog.h"
#include "sim/schedule/split_kv.h"
#include "sim/tiling_rules.h"

namespace attnscope {

namespace {

/// Everything that counting one head tells.
struct HeadCounts {
  std::vector<TrafficCounter::LaunchTraffic> traffic;
  std::vector<Flops> flops;
  std::vector<LaunchOccupancy> occupancy;
  HbmFootprint footprint;
  std::vector<Index> ops;  ///< of each launch
};

HeadCounts count_head(const Pass& pass, const PassRun& run, Index batch) {
  TrafficCounter traffic;
  FlopCounter flops;
  OccupancyObserver occupancy;
  HeadCounts counts;
  Observer* const observers[] = {&traffic, &flops, &occupancy, &counts.footprint};
  run_head(pass, run, batch, run.problem.heads_per_kv_head() - 1, observers);  // every launch
  counts.traffic = traffic.launches();
  counts.flops = flops.launches();
  counts.occupancy = occupancy.launches();
  counts.ops = flops.op_counts();
  return counts;
}

/// Batch entries whose heads are alike: those of one key length.
struct AlikeEntries {
  Index first = 0;
  Index count = 0;
};

std::vector<AlikeEntries> alike_entries(const AttentionProblem& problem) {
  if (!problem.has_key_lengths()) return {{0, problem.batch}};
  std::map<Index, AlikeEntries> by_length;
  for (Index b = 0; b < problem.batch; ++b) {
    AlikeEntries& entries = by_length[problem.key_lengths[static_cast<std::size_t>(b)]];
    if (entries.count++ == 0) entries.first = b;
  }
  std::vector<AlikeEntries> all;
  for (const auto& [length, entries] : by_length) all.push_back(entries);
  return all;
}

/// Heads of a batch entry that run the launch.
Index heads_of(const Launch& launch, const AttentionProblem& problem) {
  return launch.once_per_kv_head ? problem.kv_heads : problem.heads;
}

/// The papers' accounting of a launch: as requested, or each operand once.
Bytes paper_bytes(const Launch& launch, const BytesByTensor& requested,
                  const AttentionProblem& problem) {
  if (!launch.paper_counts_operands_once) return sum(requested);
  Bytes paper;
  for (int index = 0; index < kTensorCount; ++index) {
    const auto tensor = static_cast<Tensor>(index);
    if (tensor == Tensor::LSE) continue;  // the paper's standard attention has none
    const Index once = tensor_shape(tensor, problem).elems() * element_bytes(tensor, problem.dtype);
    if (of(requested, tensor).read_bytes > 0) paper.read_bytes += once;
    if (of(requested, tensor).write_bytes > 0) paper.write_bytes += once;
  }
  return paper;
}

/// Compulsory DRAM bytes of a launch, from the bytes that all heads request: operands once, results
/// once, as far as they are touched; a tensor that an earlier launch made, or a later one reads,
/// stays in L2 if it fits.
Bytes compulsory_bytes(std::span<const LaunchReport> launches, std::size_t index,
                       const AttentionProblem& problem, Index splits, Index l2_bytes) {
  Bytes dram;
  for (int t = 0; t < kTensorCount; ++t) {
    const auto tensor = static_cast<Tensor>(t);
    const Bytes& here = of(launches[index].by_tensor, tensor);
    const auto written_by = [&](const auto& launch) {
      return of(launch.by_tensor, tensor).write_bytes > 0;
    };
    const auto read_by = [&](const auto& launch) {
      return of(launch.by_tensor, tensor).read_bytes > 0;
    };
    const Index whole = whole_tensor_bytes(tensor, problem, splits);
    const bool made_before = std::ranges::any_of(launches.first(index), written_by);
    const bool read_after = std::ranges::any_of(launches.subspan(index + 1), read_by);
    const bool stays = whole <= l2_bytes;
    if (!(made_before && stays)) dram.read_bytes += std::min(whole, here.read_bytes);
    if (!(read_after && stays)) dram.write_bytes += std::min(whole, here.write_bytes);
  }
  return dram;
}

/// Roofline floor of one launch, and which roof.
struct Floor {
  double seconds = 0;
  std::string_view bound_by;
};

Floor roofline(const LaunchReport& launch, const AttentionProblem& problem,
               const GpuDescription& gpu) {
  const std::optional<double> matrix_rate = gpu.matrix_flops_per_s(problem.dtype);
  const bool tensor_cores = matrix_rate.has_value() && problem.dtype != DType::fp32;
  const auto matmul_flops = static_cast<double>(launch.matmul_flops);
  Floor floor{matmul_flops / matrix_rate.value_or(gpu.other_flops_per_s),
              tensor_cores ? "tensor_cores" : "cuda_cores"};
  const auto consider = [&floor](double seconds, std::string_view bound_by) {
    if (seconds > floor.seconds) floor = {seconds, bound_by};
  };
  consider(static_cast<double>(launch.non_matmul_flops) / gpu.other_flops_per_s, "cuda_cores");
  consider(static_cast<double>(launch.dram.total()) / gpu.dram_bytes_per_s, "dram");
  return floor;
}

/// Sums the launches into the report, and names the roof that bounds the longest one.
void add_time(SimulationReport& report, const GpuDescription& gpu) {
  double largest = -1;
  for (const LaunchReport& launch : report.launches) {
    const Floor floor = roofline(launch, report.problem, gpu);
    report.predicted_s += floor.seconds;
    if (floor.seconds > largest) {
      largest = floor.seconds;
      report.bound_by = floor.bound_by;
    }
  }
}

/// Bytes of the launch whose block takes most.
Index largest_block(std::span<const LaunchOccupancy> launches, OnChipSpace space) {
  Index largest = 0;
  for (const LaunchOccupancy& launch : launches) largest = std::max(largest, launch.bytes(space));
  return largest;
}

void add_occupancy(SimulationReport& report, std::span<const LaunchOccupancy> launches,
                   const GpuDescription& gpu) {
  report.sram_bytes_per_block = largest_block(launches, OnChipSpace::shared);
  report.register_bytes_per_block = largest_block(launches, OnChipSpace::registers);
  const auto check = [&](Index needed, Index available, std::string_view what) {
    if (needed <= available || !report.fits) return;
    report.fits = false;
    report.overflow_reason =
        fmt::format("Br = {}, Bc = {}, d = {} in {} needs {} bytes of {}; {} has {}",
                    report.tiling.Br, report.tiling.Bc, report.problem.d,
                    to_string(report.problem.dtype), needed, what, gpu.name, available);
  };
  check(report.sram_bytes_per_block, gpu.shared_bytes_per_block, "shared memory a thread block");
  check(report.register_bytes_per_block, gpu.register_bytes_per_sm, "registers");
}

}  // namespace

// The slots show in a one-tile head: no need to run the whole sweep.
std::vector<LaunchOccupancy> occupancy_of(const Pass& pass, const PassRun& run) {
  PassRun one_tile = run;
  one_tile.problem.N = std::min(run.problem.N, run.tiling.Br);
  one_tile.problem.mask = Mask::none();
  one_tile.problem.block_mask = nullptr;
  one_tile.problem.key_lengths.clear();
  one_tile.problem.cu_seqlens_q.clear();
  one_tile.problem.cu_seqlens_k.clear();
  OccupancyObserver occupancy;
  Observer* const observers[] = {&occupancy};
  for (const Launch& launch : pass.launches) {
    const TileGrid grid = launch.grid(one_tile.problem, run.tiling, run.options);
    Program program(observers);
    occupancy.begin_launch(launch.name, grid);
    launch.run(grid, 0, program);
  }
  return occupancy.launches();
}

namespace {

/// The same with d as a tensor-core kernel pads it; nothing where d needs no padding, or where the
/// products are a library's, which tiles d as well.
std::optional<PaddedOnChip> padded_occupancy(const Pass& pass, const PassRun& run,
                                             const GpuDescription& gpu) {
  const Index d = padded_head_dim(run.problem.d);
  const auto any_product = std::ranges::any_of(pass.launches, &Launch::paper_counts_operands_once);
  if (d == run.problem.d || any_product) return std::nullopt;
  PassRun padded = run;
  padded.problem.d = d;
  const std::vector<LaunchOccupancy> launches = occupancy_of(pass, padded);
  PaddedOnChip on_chip{.d = d,
                       .sram_bytes_per_block = largest_block(launches, OnChipSpace::shared),
                       .register_bytes_per_block = largest_block(launches, OnChipSpace::registers)};
  on_chip.fits = on_chip.sram_bytes_per_block <= gpu.shared_bytes_per_block &&
                 on_chip.register_bytes_per_block <= gpu.register_bytes_per_sm;
  return on_chip;
}

}  // namespace

ScheduleOptions schedule_options(const AttentionProblem& problem, Carry carry,
                                 const GpuDescription& gpu) {
  const Index rows = softmax_rows_per_block(problem.N_kv);
  // The rows of a block take at most half of the registers, in fp32
  const Index panel_cols =
      std::max<Index>(16, gpu.register_bytes_per_sm / (2 * rows * size_bytes(DType::fp32)));
  // Backward, P and dP are held, and with a soft cap S and its derivative
  const Index held = problem.score.soft_cap ? 4 : 2;
  return {.carry = carry,
          .softmax_panel_cols = problem.N_kv > panel_cols ? panel_cols : 0,
          .gradient_panel_cols = held * problem.N_kv > panel_cols ? panel_cols / held : 0,
          .heads_per_kv_head = problem.heads_per_kv_head(),
          .score_steps = score_steps_of(problem),
          .masked = !problem.mask.is_none() || problem.has_key_lengths() || problem.is_packed()};
}

namespace {

/// Enough keys for the row launches to choose the rows of a block as for any longer row.
constexpr Index kLongRowKeys = 2048;

}  // namespace

namespace {

/// Whether a tiling's slots fit; `launches` and `options` are those of a pass.
bool tiling_fits(const Tiling& tiling, const Pass& launches, const ScheduleOptions& options,
                 const AttentionProblem& problem, const GpuDescription& gpu) {
  // One row tile uses every slot; a softmax block of long rows holds fewer of them
  AttentionProblem one_tile = problem;
  one_tile.N = tiling.Br;
  one_tile.N_kv = std::max(tiling.Bc, std::min(problem.N_kv, kLongRowKeys));
  SimulationReport report;
  report.problem = problem;
  report.tiling = tiling;
  add_occupancy(report, occupancy_of(launches, {one_tile, tiling, options, {}}), gpu);
  return report.fits;
}

}  // namespace

std::optional<Tiling> largest_tiling(const Algorithm& algorithm, const AttentionProblem& problem,
                                     Carry carry, const GpuDescription& gpu, PassKind pass,
                                     const ScheduleVariant& variant) {
  ScheduleOptions options = schedule_options(problem, carry, gpu);
  options.variant = variant;
  const Pass launches = make_pass(algorithm, pass, options);
  std::optional<Tiling> best;
  for (Tiling next{16, 16}; tiling_fits(next, launches, options, problem, gpu);) {
    best = next;
    next = {next.Br + 16, next.Bc + 16};
  }
  return best;
}

std::optional<Tiling> default_tiling(const Algorithm& algorithm, const AttentionProblem& problem,
                                     Carry carry, const GpuDescription& gpu, PassKind pass,
                                     const ScheduleVariant& variant) {
  if (algorithm.sets_tiling_from_sram) {
    ScheduleOptions options = schedule_options(problem, carry, gpu);
    options.variant = variant;
    const Tiling by_rule = paper_tiling(gpu, problem.dtype, problem.d);
    const Pass launches = make_pass(algorithm, pass, options);
    if (tiling_fits(by_rule, launches, options, problem, gpu)) return by_rule;
  }
  return largest_tiling(algorithm, problem, carry, gpu, pass, variant);
}

ScheduleOptions schedule_options(const SimulationRequest& request, const Tiling& tiling) {
  ScheduleOptions options = schedule_options(request.problem, request.carry, request.gpu);
  options.output_rows = request.output_rows;
  options.skip_unused_kv = request.skip_unused_kv;
  options.variant = request.variant;
  const Algorithm* algorithm = find_algorithm(request.algorithm);
  if (algorithm != nullptr && algorithm->splits_keys) {
    options.splits = request.splits > 0
                         ? request.splits
                         : default_splits(request.problem, tiling, request.gpu.sm_count);
  }
  return options;
}

namespace {

/// The block mask belongs to an algorithm that takes one, and lies over these tiles.
std::optional<Error> check_block_mask(const BlockMask& M, const Algorithm& algorithm,
                                      const Tiling& tiling) {
  if (!algorithm.takes_block_mask) {
    return invalid_request(
        fmt::format("{} takes no block mask; block_sparse and block_sparse2 do", algorithm.name));
  }
  if (M.tiling() == tiling) return std::nullopt;
  return invalid_request(fmt::format(
      "block mask {} lies over tiles of {} x {}, the tiling is {} x {}; both must be the same",
      M.text(), M.tiling().Br, M.tiling().Bc, tiling.Br, tiling.Bc));
}

/// The algorithm has this pass, and the splits are not more than there are column tiles.
std::optional<Error> check_pass_and_splits(const SimulationRequest& request,
                                           const Algorithm& algorithm) {
  if (request.pass != PassKind::forward && !algorithm.has_backward()) {
    return invalid_request(
        fmt::format("{} is for decoding and has no backward pass; flash2 has one", algorithm.name));
  }
  if (request.splits < 0 || (request.splits > 0 && !algorithm.splits_keys)) {
    return invalid_request(fmt::format("{} splits are for split_kv, at least 1 of them; this is {}",
                                       request.splits, algorithm.name));
  }
  return std::nullopt;
}

/// Every split has a column tile.
std::optional<Error> check_split_count(const SimulationRequest& request, const Tiling& tiling) {
  const Index Tc = ceil_div(request.problem.N_kv, tiling.Bc);
  if (request.splits <= Tc) return std::nullopt;
  return invalid_request(
      fmt::format("{} splits of {} column tiles of {} keys; at most {} splits, or smaller tiles",
                  request.splits, Tc, tiling.Bc, Tc));
}

}  // namespace

Result<Tiling> settle_tiling(const SimulationRequest& request) {
  if (auto error = validate(request.problem)) return invalid_request(*error);
  const Algorithm* algorithm = find_algorithm(request.algorithm);
  if (algorithm == nullptr) {
    return invalid_request(unknown_name_message("algorithm", request.algorithm, algorithm_names()));
  }
  if (auto error = check_pass_and_splits(request, *algorithm)) return *error;
  if (auto error = validate(request.variant, algorithm->name, request.problem.score))
    return invalid_request(*error);
  const BlockMask* block_mask = request.problem.block_mask.get();
  std::optional<Tiling> tiling = request.tiling;
  if (!tiling && block_mask != nullptr) tiling = block_mask->tiling();
  if (!tiling) {
    tiling = default_tiling(*algorithm, request.problem, request.carry, request.gpu, request.pass,
                            request.variant);
  }
  if (!tiling) {
    return invalid_request(fmt::format("no tiling fits: with d = {} not even 16 x 16 does on {}",
                                       request.problem.d, request.gpu.name));
  }
  if (auto error = validate(*tiling)) return invalid_request(*error);
  if (block_mask != nullptr) {
    if (auto error = check_block_mask(*block_mask, *algorithm, *tiling)) return *error;
  }
  if (auto error = check_split_count(request, *tiling)) return *error;
  const Index tile_pairs =
      ceil_div(request.problem.N, tiling->Br) * ceil_div(request.problem.N_kv, tiling->Bc);
  if (tile_pairs > kMaxTilePairs) {
    return invalid_request(
        fmt::format("Br = {}, Bc = {} cuts the scores into {} tiles; at most {} can be counted: "
                    "use larger tiles",
                    tiling->Br, tiling->Bc, tile_pairs, kMaxTilePairs));
  }
  return *tiling;
}

Result<SimulationReport> simulate(const SimulationRequest& request) {
  // Refuse what cannot be computed
  const Result<Tiling> tiling = settle_tiling(request);
  if (!tiling) return tiling.error();
  const Algorithm* algorithm = find_algorithm(request.algorithm);

  // Refuse a tiling that does not fit, before counting it
  SimulationReport report;
  report.problem = request.problem;
  report.algorithm = algorithm->name;
  report.pass = request.pass;
  report.tiling = tiling.value();
  report.carry = request.carry;
  report.output_rows = request.output_rows;
  report.skip_unused_kv = request.skip_unused_kv;
  report.variant = request.variant;
  report.gpu = request.gpu.name;
  const ScheduleOptions options = schedule_options(request, tiling.value());
  report.splits = options.splits;
  const Pass pass = make_pass(*algorithm, request.pass, options);
  const PassRun run{request.problem, tiling.value(), options, {}};
  add_occupancy(report, occupancy_of(pass, run), request.gpu);
  report.padded = padded_occupancy(pass, run, request.gpu);
  if (!report.fits && !request.allow_overflow) {
    const auto nearest = default_tiling(*algorithm, request.problem, request.carry, request.gpu,
                                        request.pass, request.variant);
    return invalid_request(fmt::format(
        "the tiling does not fit: {}; {}", report.overflow_reason,
        nearest ? fmt::format("{} x {} does (or pass --allow-overflow)", nearest->Br, nearest->Bc)
                : "--allow-overflow counts it all the same"));
  }

  // Count one head of each kind of batch entry, and multiply by the heads that are alike
  for (const Launch& launch : pass.launches) {
    LaunchReport& entry = report.launches.emplace_back();
    entry.name = launch.name;
    entry.thread_blocks =
        request.problem.batch * heads_of(launch, request.problem) *
        launch.blocks_per_head(launch.grid(request.problem, tiling.value(), options));
  }
  for (const AlikeEntries& alike : alike_entries(request.problem)) {
    const HeadCounts counts = count_head(pass, run, alike.first);
    report.peak_hbm_bytes =
        std::max(report.peak_hbm_bytes, counts.footprint.peak_bytes(request.problem));
    for (std::size_t index = 0; index < pass.launches.size(); ++index) {
      const Launch& launch = pass.launches[index];
      const Index heads = alike.count * heads_of(launch, request.problem);
      const BytesByTensor& by_tensor = counts.traffic[index].by_tensor;
      LaunchReport& entry = report.launches[index];
      entry.paper += paper_bytes(launch, by_tensor, request.problem) * heads;
      for (std::size_t t = 0; t < by_tensor.size(); ++t) {
        entry.by_tensor[t] += by_tensor[t] * heads;
      }
      entry.matmul_flops += counts.flops[index].matmul * heads;
      entry.non_matmul_flops += counts.flops[index].non_matmul * heads;
      report.tile_ops += counts.ops[index] * heads;
    }
  }

  // Sum over the launches
  for (std::size_t index = 0; index < report.launches.size(); ++index) {
    LaunchReport& entry = report.launches[index];
    entry.requested = sum(entry.by_tensor);
    entry.dram = compulsory_bytes(report.launches, index, request.problem, options.splits,
                                  request.gpu.l2_bytes);
    report.paper += entry.paper;
    report.requested += entry.requested;
    for (std::size_t t = 0; t < report.by_tensor.size(); ++t) {
      report.by_tensor[t] += entry.by_tensor[t];
    }
    report.dram += entry.dram;
    report.matmul_flops += entry.matmul_flops;
    report.non_matmul_flops += entry.non_matmul_flops;
  }
  add_time(report, request.gpu);
  return report;
}

}  // namespace attnscope
