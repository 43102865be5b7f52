#include "tests/kernels/traced_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "kernels/catalog.h"
#include "kernels/flash2/flash2_backward_shared.cuh"
#include "kernels/flash2/flash2_forward_shared.cuh"
#include "kernels/kernel_parameters.h"
#include "kernels/measure/trace/trace_steps.h"
#include "kernels/run_programs.h"
#include "reference/check.h"
#include "reference/tiling.h"
#include "sim/schedule/algorithm.h"
#include "tests/kernels/step_of_operation.h"

namespace attnscope {

using kernels::TraceStep;

namespace {

struct Visit {
  TraceStep step;
  std::int32_t i = 0;
  std::int32_t j = 0;
  bool operator==(const Visit&) const = default;
};

Visit visit(TraceStep step, std::int32_t i, std::int32_t j) {
  return {step, kernels::has_row_tile(step) ? i : 0, kernels::has_column_tile(step) ? j : 0};
}

/// Whether the recording warps run an operation, or wait for the data that it loads: a trace of
/// agents has the steps of the first consumer and of the producer that serves it.
bool is_recorded(const TileOp& op) {
  const bool for_first =
      op.agent == Agent::producer && TileShare::from_part(op.dest_tiles[0].part).number == 0;
  return op.agent == Agent::block || op.agent == consumer(0) || for_first;
}

/// The steps that a block's schedule asks for, in its order.
class TwinSteps final : public Observer {
 public:
  explicit TwinSteps(std::span<const PseudoLine> code) : code_(code) {}

  void observe(std::span<const TileOp> ops) override {
    for (const TileOp& op : ops) {
      ++operations;
      if (!is_recorded(op)) continue;
      const Tile& tile = op.kind == OpKind::load ? op.source_tiles[0] : op.dest_tiles[0];
      if (op.kind == OpKind::scores) {
        i_ = tile.i;
        j_ = tile.j;
      }
      const auto step = step_of(op);
      if (!step || !step->whole) continue;
      ATTNSCOPE_CHECK(kernels::is_part_of(step->step, code_[op.line].step), ==, true);
      const bool on_tile =
          kernels::has_row_tile(step->step) && kernels::has_column_tile(step->step);
      steps.push_back(on_tile ? visit(step->step, i_, j_) : visit(step->step, tile.i, tile.j));
    }
  }

  std::vector<Visit> steps;
  Index operations = 0;

 private:
  std::span<const PseudoLine> code_;
  std::int32_t i_ = 0, j_ = 0;  ///< tile of the newest scores
};

struct TracedLaunch {
  Launch launch;
  TileGrid grid;
};

TracedLaunch launch_of(const KernelTrace& trace, Index splits) {
  const Algorithm* algorithm = find_algorithm(trace.run.algorithm());
  ATTNSCOPE_CHECK(algorithm != nullptr, ==, true);
  ScheduleOptions options;
  options.score_steps = score_steps_of(trace.run.problem);
  options.skips_padded_keys = algorithm->skips_padded_keys;
  options.heads_per_kv_head = trace.run.problem.heads / trace.run.problem.kv_heads;
  options.splits = splits;
  const kernels::ProgramTarget target{trace.header.device.compute_capability};
  const auto agents = kernels::agents_of(trace.run, target);
  if (agents && trace.run.pass() == PassKind::forward) {
    options.variant.stages = agents->stages;
    options.variant.consumers = agents->consumers;
  }
  options.masked = !trace.run.problem.mask.is_none();
  const Pass pass = make_pass(*algorithm, trace.run.pass(), options);
  const auto found = std::ranges::find(pass.launches, trace.launch, &Launch::name);
  ATTNSCOPE_CHECK(found != pass.launches.end(), ==, true);
  return {*found, found->grid(trace.run.problem, trace.run.tiling, options)};
}

TwinSteps steps_of_block(TracedLaunch& traced, const BlockId& block) {
  traced.grid.set_batch(block.batch);
  TwinSteps steps(traced.launch.pseudo_code);
  Observer* const observers[] = {&steps};
  Program program(observers);
  program.begin_block(block);
  traced.launch.run(traced.grid, block.block, program);
  return steps;
}

/// Whether the step loads tiles. Kernels load row statistics with plain loads, separately from
/// these asynchronous copies.
bool is_copy(const Visit& visit) {
  return (visit.step >= TraceStep::load_Qi && visit.step < TraceStep::load_statistics) ||
         visit.step == TraceStep::load_dQi;
}

template <typename Chosen>
std::vector<Visit> chosen_of(const std::vector<Visit>& all, const Chosen& chosen) {
  std::vector<Visit> some;
  std::ranges::copy_if(all, std::back_inserter(some), chosen);
  return some;
}

bool is_product(const Visit& visit) {
  return kernels::step_class(visit.step) == kernels::StepClass::matrix;
}

/// The tiles (i, j) that matrix products visit, once per visit.
std::vector<Visit> tiles_in_order(const std::vector<Visit>& products) {
  std::vector<Visit> tiles;
  for (const Visit& step : products) {
    const Visit tile{TraceStep::scores, step.i, step.j};
    if (tiles.empty() || tiles.back() != tile) tiles.push_back(tile);
  }
  return tiles;
}

/// Whether the launch is flash2's forward pass with Hopper's instructions.
bool is_hopper_forward(const KernelTrace& trace) {
  const kernels::ProgramTarget target{trace.header.device.compute_capability};
  return trace.run.pass() == PassKind::forward && kernels::runs_on_hopper(trace.run, target);
}

/// Whether the program starts S of a tile before the output product of the previous tile, so that
/// the softmax is computed while that product is running.
bool skews_products(const KernelTrace& trace) {
  return is_hopper_forward(trace) && kernels::knobs_of(trace.run.asked).overlap != 0;
}

/// The first of the column tiles that are hidden from that program's first consumer, the only one
/// that is recorded: it skips them, except for the very first tile.
Index past_last_of_first_consumer(const KernelTrace& trace, const TileGrid& grid,
                                  const TracedBlock& block) {
  constexpr Index kConsumerRows = 64;
  const kernels::Knobs knobs = kernels::knobs_of(trace.run.asked);
  const bool takes_turns =
      knobs.ping_pong != 0 && knobs.overlap != 0 && grid.tiling().Br == 2 * kConsumerRows;
  if (!is_hopper_forward(trace) || knobs.trim == 0 || takes_turns || knobs.visit_hidden != 0) {
    return grid.Tc();
  }
  const auto i = static_cast<std::int32_t>(block.block);
  const Index last = grid.row_begin(i) + std::min(kConsumerRows, grid.rows_of(i)) - 1;
  return ceil_div(trace.run.problem.keys_of(last, block.batch).end, grid.tiling().Bc);
}

/// Whether two groups of warps share a tile's products, and one is ahead: flash2's backward pass
/// for wide heads with Hopper's instructions. The recording group has S and dV.
bool splits_products(const KernelTrace& trace) {
  const kernels::ProgramTarget target{trace.header.device.compute_capability};
  return trace.run.pass() == PassKind::backward &&
         kernels::flash2_wide_gradient_holds(padded_head_dim(trace.run.problem.d),
                                             trace.run.tiling) &&
         kernels::runs_on_hopper(trace.run, target);
}
bool is_of_first_group(const Visit& visit) {
  return visit.step == TraceStep::scores || visit.step == TraceStep::accumulate_dV;
}

/// The products in the order of a skewing program: S of the next tile, then O + P V of this one.
std::vector<Visit> skewed(std::vector<Visit> products) {
  for (std::size_t n = 1; n + 1 < products.size(); n += 2) {
    std::swap(products[n], products[n + 1]);
  }
  return products;
}

/// The warps that share the keys of flash2's column tiles; 1: each has its own rows.
Index sliced_warps(const KernelTrace& trace) {
  const kernels::Knobs knobs = kernels::knobs_of(trace.run.asked);
  if (knobs.sliced_k == 0) return 1;
  return knobs.warps > 0 ? knobs.warps : kernels::flash2_sliced_warps(trace.run.tiling);
}

/// Whether the first warp's part of tile (i, j) of the scores, which begins where the tile does,
/// has a key that is hidden from one of its rows.
bool first_warp_masks(const KernelTrace& trace, const TileGrid& grid, Index batch,
                      const Visit& at) {
  const bool forward = trace.run.pass() == PassKind::forward;  // else eight warps, two side by side
  const Tiling& tiling = trace.run.tiling;
  const Index slices = sliced_warps(trace);
  const Index part_rows = slices > 1 ? tiling.Br : forward ? 16 : tiling.Br / 2;
  const Index part_keys = forward ? tiling.Bc / slices : 32;
  const Index first_key = grid.col_begin(at.j);
  const Index rows = std::min(part_rows, grid.rows_of(at.i));
  for (Index row = grid.row_begin(at.i); row < grid.row_begin(at.i) + rows; ++row) {
    const KeyRange seen = trace.run.problem.keys_of(row, batch);
    if (seen.begin > first_key || seen.end < first_key + part_keys) return true;
  }
  return false;
}

/// The steps that the schedule requires of a block's first warp.
std::vector<Visit> scheduled_steps(const KernelTrace& trace, TracedLaunch& traced,
                                   const TracedBlock& block) {
  std::vector<Visit> scheduled =
      steps_of_block(traced, {block.batch, block.head, block.block}).steps;
  const bool flash1_backward =
      trace.run.algorithm() == "flash1" && trace.run.pass() == PassKind::backward;
  const kernels::ScoreFeatures features = flash1_backward
                                              ? kernels::flash1_backward_features(trace.run.problem)
                                              : kernels::score_features(trace.run.problem);
  const Index past_last = past_last_of_first_consumer(trace, traced.grid, block);
  const auto first = std::ranges::find(scheduled, TraceStep::scores, &Visit::step);
  const std::int32_t first_tile = first == scheduled.end() ? 0 : first->j;
  std::erase_if(scheduled, [&](const Visit& step) {
    return kernels::has_column_tile(step.step) && step.j >= past_last && step.j != first_tile;
  });
  if (!features.key_ranges && sliced_warps(trace) == 1) return scheduled;
  std::erase_if(scheduled, [&](const Visit& step) {
    return step.step == TraceStep::mask && !first_warp_masks(trace, traced.grid, block.batch, step);
  });
  return scheduled;
}

/// The steps that a block recorded, except for waiting, masks that hide only padding, and loads of
/// column tiles that are all padding: they read nothing.
std::vector<Visit> recorded_steps(const TracedBlock& block, const TileGrid& grid) {
  const bool padded = grid.cols_of(grid.Tc() - 1) < grid.tiling().Bc;
  std::vector<Visit> recorded;
  for (const TracedStep& step : block.steps) {
    if (step.step == TraceStep::wait) continue;
    const bool loads_keys = step.step == TraceStep::load_Kj || step.step == TraceStep::load_Vj;
    if (loads_keys && grid.is_padding(step.j)) continue;
    const bool hides_padding = padded && step.j == grid.Tc() - 1 && !grid.edge(step.i, step.j);
    if (step.step == TraceStep::mask && hides_padding) continue;
    recorded.push_back(visit(step.step, step.i, step.j));
  }
  return recorded;
}

std::string name(const std::vector<Visit>& visits, std::size_t n) {
  if (n >= visits.size()) return "nothing";
  return fmt::format("{} ({}, {})", kernels::step_name(visits[n].step), visits[n].i, visits[n].j);
}

/// The first difference between two sequences; nothing when they agree.
std::optional<std::string> parting(std::string_view what, const std::vector<Visit>& recorded,
                                   const std::vector<Visit>& scheduled) {
  if (recorded == scheduled) return std::nullopt;
  const auto at =
      static_cast<std::size_t>(std::ranges::mismatch(recorded, scheduled).in1 - recorded.begin());
  return fmt::format("{}: {} recorded, {} in the schedule; number {} is {}, not {}", what,
                     recorded.size(), scheduled.size(), at, name(recorded, at),
                     name(scheduled, at));
}

}  // namespace

std::vector<std::string> differences_from_schedule(const KernelTrace& trace, Index splits) {
  TracedLaunch traced = launch_of(trace, splits);
  std::vector<std::string> differences;
  const Index blocks = trace.run.problem.batch * trace.run.problem.heads *
                       traced.launch.blocks_per_head(traced.grid);
  if (static_cast<Index>(trace.blocks.size()) != blocks) {
    differences.push_back(
        fmt::format("{} thread blocks recorded, {} in the schedule", trace.blocks.size(), blocks));
  }
  const bool is_skewed = skews_products(trace), is_split = splits_products(trace);
  for (const TracedBlock& block : trace.blocks) {
    const std::vector<Visit> scheduled = scheduled_steps(trace, traced, block);
    const std::vector<Visit> recorded = recorded_steps(block, traced.grid);
    const auto compare = [&](std::string_view what, const std::vector<Visit>& ours,
                             const std::vector<Visit>& theirs) {
      const auto line = parting(what, ours, theirs);
      if (!line) return;
      differences.push_back(fmt::format("batch {}, head {}, block {}: {}", block.batch, block.head,
                                        block.block, *line));
    };
    for (int n = 0; n < kernels::kTraceStepCount; ++n) {
      const auto is_step = [step = static_cast<TraceStep>(n)](const Visit& v) {
        return v.step == step;
      };
      compare(kernels::step_name(static_cast<TraceStep>(n)), chosen_of(recorded, is_step),
              chosen_of(scheduled, is_step));
    }
    compare("copies in order", chosen_of(recorded, is_copy), chosen_of(scheduled, is_copy));
    const auto is_ordered = [&](const Visit& visit) {
      return is_product(visit) && (!is_split || is_of_first_group(visit));
    };
    const std::vector<Visit> products = chosen_of(scheduled, is_ordered);
    compare("tiles in order", tiles_in_order(chosen_of(recorded, is_ordered)),
            tiles_in_order(is_skewed ? skewed(products) : products));
  }
  return differences;
}

Index scheduled_operations(const KernelTrace& trace, Index splits) {
  TracedLaunch traced = launch_of(trace, splits);
  Index operations = 0;
  for (const TracedBlock& block : trace.blocks) {
    operations += steps_of_block(traced, {block.batch, block.head, block.block}).operations;
  }
  return operations;
}

}  // namespace attnscope
