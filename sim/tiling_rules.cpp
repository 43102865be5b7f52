#include "sim/tiling_rules.h"

#include <algorithm>

#include "sim/on_chip_fit.h"
#include "sim/simulation.h"

namespace attnscope {

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

/// A row length from which on the row launches use the same number of rows per block.
constexpr Index kLongRowKeys = 2048;

/// Whether a tiling's slots fit; `launches` and `options` belong to one pass.
bool tiling_fits(const Tiling& tiling, const Pass& launches, const ScheduleOptions& options,
                 const AttentionProblem& problem, const GpuDescription& gpu) {
  // One row tile uses every slot; a softmax block of long rows holds fewer of them
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
  for (Tiling next{16, 16}; tiling_fits(next, launches, options, problem, gpu);) {
    best = next;
    next = {next.Br + 16, next.Bc + 16};
  }
  return best;
}

}  // namespace

std::optional<Tiling> default_tiling(const Algorithm& algorithm, const AttentionProblem& problem,
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
  return default_tiling(algorithm, problem, spec.variant, gpu, spec.pass);
}

}  // namespace attnscope
