#include <fmt/core.h>

#include <algorithm>

#include "reference/block_mask.h"
#include "reference/capacity_text.h"
#include "reference/key_splits.h"
#include "reference/nearest_name.h"
#include "sim/alike_entries.h"
#include "sim/on_chip_fit.h"
#include "sim/schedule/catalog.h"
#include "sim/simulation.h"
#include "sim/tiling_rules.h"

namespace attnscope {

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

/// Whether a tiling's slots fit; `launches` and `options` are those of a pass.
bool tiling_fits(const Tiling& tiling, const Pass& launches, const ScheduleOptions& options,
                 const AttentionProblem& problem, const GpuDescription& gpu) {
  // One row tile uses every slot; a softmax block of long rows holds fewer of them
  AttentionProblem one_tile = problem;
  one_tile.N = tiling.Br;
  one_tile.N_kv = std::max(tiling.Bc, std::min(problem.N_kv, kLongRowKeys));
  return on_chip_fit(launches, {one_tile, tiling, options, {}}, gpu).fits;
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
  options.skips_padded_keys = algorithm != nullptr && algorithm->skips_padded_keys;
  if (algorithm != nullptr && algorithm->splits_keys) {
    options.splits = request.splits > 0
                         ? request.splits
                         : split_count(request.problem, tiling, request.gpu.sm_count);
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

/// Heads of each different key length are counted apart: their tiles are few enough together.
std::optional<Error> check_tile_count(const AttentionProblem& problem, const Tiling& tiling) {
  const Index Tr = ceil_div(problem.N, tiling.Br);
  Index tile_pairs = 0;
  const std::vector<AlikeEntries> kinds = alike_entries(problem);
  for (const AlikeEntries& alike : kinds) {
    tile_pairs += Tr * std::max<Index>(1, ceil_div(alike.key_count, tiling.Bc));
    if (tile_pairs > kMaxTilePairs) break;
  }
  if (tile_pairs <= kMaxTilePairs) return std::nullopt;
  const bool many = kinds.size() > 1;
  return invalid_request(fmt::format(
      "Br = {}, Bc = {} cuts the scores{} into {}{} tiles; at most {} can be counted: use larger "
      "tiles{}",
      tiling.Br, tiling.Bc, many ? fmt::format(" of {} different key lengths", kinds.size()) : "",
      many ? "more than " : "", many ? kMaxTilePairs : tile_pairs, kMaxTilePairs,
      many ? " or fewer different lengths" : ""));
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
    const auto& sram_bytes = request.gpu.given.sram_bytes;
    return invalid_request(fmt::format(
        "no tiling fits: with d = {} not even 16 x 16 does on {}{}; choose a smaller d{}",
        request.problem.d, request.gpu.name,
        sram_bytes
            ? fmt::format(" with the SRAM given (--sram-bytes), {}", capacity_text(*sram_bytes))
            : "",
        sram_bytes ? " or more SRAM" : ""));
  }
  if (auto error = validate(*tiling)) return invalid_request(*error);
  if (block_mask != nullptr) {
    if (auto error = check_block_mask(*block_mask, *algorithm, *tiling)) return *error;
  }
  if (auto error = check_split_count(request, *tiling)) return *error;
  if (auto error = check_tile_count(request.problem, *tiling)) return *error;
  return *tiling;
}

}  // namespace attnscope
