#include "app/seek/find_operation.h"

#include <algorithm>
#include <ranges>

#include "sim/observers/progress_observer.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

namespace {

/// Thrown to end a block's program early.
struct SeenEnough {};

/// Hands on the operations with the steps asked for.
class OperationVisitor : public Observer {
 public:
  OperationVisitor(const BlockSteps& block, const Span& steps,
                   const std::function<bool(const Operation&)>& see)
      : operation_{block.steps.begin, block.launch}, steps_(steps), see_(see) {}

  void observe(std::span<const TileOp> ops) override {
    for (const TileOp& op : ops) {
      if (operation_.step >= steps_.end) throw SeenEnough{};
      operation_.op = op;
      if (operation_.step >= steps_.begin && !see_(operation_)) throw SeenEnough{};
      ++operation_.step;
    }
  }

 private:
  Operation operation_;
  Span steps_;
  const std::function<bool(const Operation&)>& see_;
};

/// The steps that may touch the thing: from the first to the last one that touches a tile of the
/// scores, those of a line's launch, else all.
Span steps_of(const Thing& thing, const RunInfo& run) {
  if (const auto* line = std::get_if<CodeLine>(&thing)) {
    return {run.launches[line->launch].begin, run.launches[line->launch].end};
  }
  const auto* scores = std::get_if<ScoreTile>(&thing);
  if (scores == nullptr) return {0, run.step_count};
  const Tiling& tiling = run.tiling();
  Span steps{run.step_count, 0};
  for (Index i = scores->area.rows.begin / tiling.Br; i * tiling.Br < scores->area.rows.end; ++i) {
    for (Index j = scores->area.cols.begin / tiling.Bc; j * tiling.Bc < scores->area.cols.end;
         ++j) {
      const TileLife& life = run.score_tiles[static_cast<std::size_t>(i * run.Tc + j)];
      if (life.first < 0) continue;
      steps.begin = std::min<Index>(steps.begin, life.first);
      steps.end = std::max<Index>(steps.end, life.last + 1);
    }
  }
  return steps;
}

/// The blocks of the run with any of these steps, in order.
std::vector<BlockSteps> blocks_with(const RunInfo& run, const Span& steps) {
  std::vector<BlockSteps> blocks;
  for (std::size_t launch = 0; launch < run.launches.size(); ++launch) {
    if (!steps.meets({run.launches[launch].begin, run.launches[launch].end})) continue;
    std::ranges::copy_if(blocks_of(run, launch), std::back_inserter(blocks),
                         [&](const BlockSteps& block) { return steps.meets(block.steps); });
  }
  return blocks;
}

}  // namespace

std::vector<BlockSteps> blocks_of(const RunInfo& run, std::size_t launch) {
  const StepSpan& whole = run.launches[launch];
  if (run.pass.launches[launch].blocks_per_head == block_per_head) {
    return {{launch, 0, {whole.begin, whole.end}}};
  }
  // The outer loop of any other launch is over its thread blocks
  const auto first = std::ranges::lower_bound(run.outer, whole.begin, {}, &StepSpan::begin);
  std::vector<BlockSteps> blocks;
  for (auto span = first; span != run.outer.end() && span->begin < whole.end; ++span) {
    blocks.push_back({launch, span - first, {span->begin, span->end}});
  }
  return blocks;
}

void for_each_operation(const RunInfo& run, const BlockSteps& block, const Span& steps,
                        const std::atomic<bool>* cancel,
                        const std::function<bool(const Operation&)>& see) {
  OperationVisitor visitor(block, steps, see);
  CancelObserver canceller(cancel);
  Observer* const observers[] = {&canceller, &visitor};
  Program program(observers);
  program.begin_block({run.batch, run.head, block.block});
  try {
    run.pass.launches[block.launch].run(run.grids[block.launch], block.block, program);
  } catch (const SeenEnough&) {
    // The rest of the block was not asked for
  }
}

std::optional<Index> find_operation(const RunInfo& run, const Thing& thing, Index from,
                                    SeekDirection direction, const std::atomic<bool>& cancel,
                                    const std::function<void(double)>& progress) {
  if (const auto* operation = std::get_if<Operation>(&thing)) return operation->step;
  const bool later = direction == SeekDirection::later;
  Span steps = steps_of(thing, run);
  if (later) steps.begin = std::max(steps.begin, from + 1);
  if (!later) steps.end = std::min(steps.end, from);
  if (steps.begin >= steps.end) return std::nullopt;
  std::vector<BlockSteps> blocks = blocks_with(run, steps);
  if (!later) std::ranges::reverse(blocks);

  std::optional<Index> found;
  for (const BlockSteps& block : blocks) {
    for_each_operation(run, block, steps, &cancel, [&](const Operation& operation) {
      if (touches(thing, run, operation)) found = operation.step;
      return !(later && found);
    });
    if (found) return found;
    const Index searched = later ? block.steps.end - steps.begin : steps.end - block.steps.begin;
    if (progress) {
      progress(static_cast<double>(searched) / static_cast<double>(steps.end - steps.begin));
    }
  }
  return found;
}

}  // namespace attnscope::app
