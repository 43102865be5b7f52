#include "sim/resolve.h"

#include <fmt/core.h>

#include <algorithm>

#include "reference/attention_problem.h"
#include "reference/block_mask.h"
#include "reference/key_splits.h"
#include "reference/message_text.h"
#include "sim/ops/tile_grid.h"
#include "sim/packed_groups.h"
#include "sim/schedule/breaks.h"
#include "sim/tiling_rules.h"

namespace attnscope {

Result<GpuDescription> gpu_of(const RunSpec& spec) {
  ATTNSCOPE_TRY(auto gpu, load_gpu(spec.gpu));
  return with_what_if(std::move(gpu), spec.what_if, "given");
}

namespace {

/// The requested sides, else those of the rule, the block mask or the default tiling, in this
/// order.
std::optional<Tiling> choose_tiling(const RunSpec& spec, const GpuDescription& gpu) {
  if (spec.Br && spec.Bc) return spec.tiling();
  std::optional<Tiling> tiling;
  const SharedBlockMask& mask = spec.problem.block_mask;
  if (mask && spec.tiling_rule == TilingRule::by_default) tiling = mask->tiling();
  if (!tiling) tiling = tiling_by_rule(spec, spec.tiling_rule, gpu);
  if (!tiling && (spec.Br || spec.Bc)) tiling = Tiling{16, 16};
  if (!tiling) return std::nullopt;
  return Tiling{spec.Br.value_or(tiling->Br), spec.Bc.value_or(tiling->Bc)};
}

Error no_tiling_fits(const RunSpec& spec, const GpuDescription& gpu) {
  const auto& sram_bytes = gpu.what_if.sram_bytes;
  Error error = invalid_field(
      ErrorCode::does_not_fit, "head_dim",
      "no tiling fits: with d = {} not even 16 x 16 does on {}{}; choose a smaller d{}",
      spec.problem.d, gpu.name,
      sram_bytes ? fmt::format(" with the SRAM given ({}), {}", field_name("sram_bytes"),
                               capacity_text(*sram_bytes))
                 : "",
      sram_bytes ? " or more SRAM" : "");
  error.value = fmt::format("{}", spec.problem.d);
  return error;
}

/// Checks that the algorithm accepts a block mask, and that the mask has the run's tiles.
std::optional<Error> check_block_mask(const ResolvedRun& run) {
  if (!run.problem.block_mask) return std::nullopt;
  const BlockMask& M = *run.problem.block_mask;
  if (!find_algorithm(run.algorithm())->takes_block_mask) {
    return not_applicable("block_mask", "{} takes no block mask; block_sparse and block_sparse2 do",
                          run.algorithm());
  }
  if (M.tiling() == run.tiling) return std::nullopt;
  return invalid_field(
      ErrorCode::contradiction, "block_mask",
      "block mask {} has tiles of {} x {}, but the tiling is {} x {}; both must be the same",
      M.text(), M.tiling().Br, M.tiling().Bc, run.tiling.Br, run.tiling.Bc);
}

/// Checks that the consumers can share the rows of a row tile equally; in the backward pass, the
/// keys of a column tile.
std::optional<Error> check_consumers(const ResolvedRun& run) {
  const Index consumers = run.asked.variant.consumers;
  const auto check = [&](std::string_view side, Index size,
                         std::string_view what) -> std::optional<Error> {
    if (consumers == 0 || size % consumers == 0) return std::nullopt;
    return invalid_field(ErrorCode::contradiction, side,
                         "{} consumers cannot share the {} {} equally; {} must be a multiple of {}",
                         consumers, size, what, field_name(side), consumers);
  };
  if (run.pass() != PassKind::backward) {
    if (auto error = check("Br", run.tiling.Br, "rows of a row tile")) return error;
  }
  if (run.pass() == PassKind::forward) return std::nullopt;
  return check("Bc", run.tiling.Bc, "keys of a column tile");
}

/// Checks that every split has a column tile.
std::optional<Error> check_split_count(const ResolvedRun& run) {
  const Index Tc = ceil_div(run.problem.N_kv, run.tiling.Bc);
  if (run.splits <= Tc) return std::nullopt;
  return invalid_field(
      ErrorCode::out_of_range, "splits",
      "{} splits of {} column tiles of {} keys; use at most {} splits, or smaller tiles",
      run.splits, Tc, run.tiling.Bc, Tc);
}

Index key_length_count(const AttentionProblem& problem) {
  return static_cast<Index>(group_batch_by_key_length(problem).size());
}

/// The number of row and column tiles over all distinct key lengths, since heads of each key length
/// are counted separately; a row tile counts once per split.
Index tile_count(const ResolvedRun& run) {
  const Tiling& tiling = run.tiling;
  const Index Tr = ceil_div(run.problem.N, tiling.Br), Tc = ceil_div(run.problem.N_kv, tiling.Bc);
  return key_length_count(run.problem) * (Tr * run.splits + Tc);
}

std::optional<Error> check_tile_count(const ResolvedRun& run) {
  const Tiling& tiling = run.tiling;
  const Index tiles = tile_count(run);
  if (tiles <= kMaxVisitedTiles) return std::nullopt;
  const Index lengths = key_length_count(run.problem);
  const bool splits = run.splits > 1;
  return invalid_field(
      ErrorCode::too_many, "Br",
      "Br = {}, Bc = {}{}{} gives {} row and column tiles to visit; at most {} can be "
      "counted: use larger tiles{}{}",
      tiling.Br, tiling.Bc, splits ? fmt::format(", with {} splits", run.splits) : "",
      lengths > 1 ? fmt::format(", for {} different key lengths", lengths) : "", tiles,
      kMaxVisitedTiles, splits ? " or fewer splits" : "",
      lengths > 1 ? " or fewer different lengths" : "");
}

/// Checks that the pass has the operation or statistic named by the break.
std::optional<Error> check_break(const ResolvedRun& run, const GpuDescription& gpu) {
  const auto& broken = run.asked.variant.broken;
  if (!broken.any()) return std::nullopt;
  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_head_pass(*find_algorithm(run.algorithm()), run.pass(), options);
  return attnscope::check_break(broken, pass, {run.problem, run.tiling, options, {}});
}

}  // namespace

Index counting_work(const ResolvedRun& run) {
  constexpr Index kOnesAVisit = 64;  // this many ones of a block mask take as long as a visit
  constexpr Index kEqualAVisit =
      128;  // the same for visits of equal rows, which are counted together
  const AttentionProblem& problem = run.problem;
  const bool are_equal = TileGrid::rows_see_equal_columns(problem);
  const Index ones =
      problem.block_mask ? key_length_count(problem) * problem.block_mask->nonzeros() : 0;
  return ceil_div(tile_count(run), are_equal ? kEqualAVisit : 1) + ones / kOnesAVisit;
}

Result<ResolvedRun> resolve(const RunSpec& spec, const GpuDescription& gpu,
                            const std::atomic<bool>* cancel) {
  if (auto error = validate(spec)) return *error;
  const Algorithm& algorithm = *find_algorithm(spec.algorithm);
  ResolvedRun run{.asked = spec, .problem = spec.problem};
  if (run.pass() == PassKind::forward) run.asked.deterministic = false;  // concerns only sums of dQ
  const bool packs = algorithm.splits_keys && !spec.separate_heads && can_pack_groups(spec.problem);
  if (packs) {
    run.problem = with_packed_groups(spec.problem);
    run.query_heads_per_tile = spec.problem.heads_per_kv_head();
  }

  RunSpec counted = spec;  // the rules apply to the problem that is counted
  counted.problem = run.problem;
  const auto tiling = choose_tiling(counted, gpu);
  if (!tiling) return no_tiling_fits(spec, gpu);
  if (auto error = validate(*tiling)) return *error;
  run.tiling = *tiling;
  if (auto error = check_consumers(run)) return *error;
  if (auto error = draw_block_mask(run, cancel)) return *error;
  if (auto error = check_block_mask(run)) return *error;
  if (algorithm.splits_keys) {
    run.splits = spec.splits ? *spec.splits : split_count(run.problem, *tiling, gpu.sm_count);
  }
  if (auto error = check_split_count(run)) return *error;
  if (auto error = check_tile_count(run)) return *error;
  if (auto error = check_break(run, gpu)) return *error;
  return run;
}

}  // namespace attnscope
