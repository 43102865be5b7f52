#include "app/seek/find_operation.h"

#include <algorithm>
#include <ranges>

#include "sim/snapshot/op_window.h"

namespace attnscope::app {

namespace {

/// The steps that may touch the thing: for a tile of scores, from the first to the last step that
/// touches it; for a line, the steps of its launch; else all steps.
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

/// The steps of a thread block of a launch.
struct BlockSteps {
  std::size_t launch = 0;
  Index block = 0;  ///< within the head
  Span steps;
};

/// Every thread block of the launch, in order.
std::vector<BlockSteps> blocks_of(const RunInfo& run, std::size_t launch) {
  const StepSpan& whole = run.launches[launch];
  if (run.pass.launches[launch].blocks_per_head == block_per_head) {
    return {{launch, 0, {whole.begin, whole.end}}};
  }
  // In any other launch, each iteration of the outer loop is a thread block
  const auto first = std::ranges::lower_bound(run.outer, whole.begin, {}, &StepSpan::begin);
  std::vector<BlockSteps> blocks;
  for (auto span = first; span != run.outer.end() && span->begin < whole.end; ++span) {
    blocks.push_back({launch, span - first, {span->begin, span->end}});
  }
  return blocks;
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
    const Index first = block.steps.begin;
    const auto visit = [&](Index local, const TileOp& op) {
      if (touches(thing, run, {first + local, block.launch, op})) found = first + local;
      return !(later && found);
    };
    regenerate(run, {block.launch, block.block, steps.begin - first, steps.end - first}, visit,
               &cancel);
    if (found) return found;
    const Index searched = later ? block.steps.end - steps.begin : steps.end - block.steps.begin;
    if (progress) {
      progress(static_cast<double>(searched) / static_cast<double>(steps.end - steps.begin));
    }
  }
  return found;
}

}  // namespace attnscope::app
