#include "sim/schedule/run_pass.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "reference/check.h"

namespace attnscope {

std::vector<Index> BlockOrder::sequence(Index count) const {
  std::vector<Index> blocks(static_cast<std::size_t>(count));
  std::iota(blocks.begin(), blocks.end(), Index{0});
  if (kind == Kind::descending) std::ranges::reverse(blocks);
  if (kind == Kind::shuffled) {
    std::mt19937_64 generator(seed);
    std::ranges::shuffle(blocks, generator);
  }
  return blocks;
}

namespace {

void run_block(const Launch& launch, const TileGrid& grid, const BlockId& id, Program& program,
               std::span<Observer* const> observers) {
  for (Observer* observer : observers) observer->begin_block(id);
  program.begin_block(id);
  launch.run(grid, id.block, program);
  for (Observer* observer : observers) observer->end_block();
}

/// One head's thread blocks of a launch.
void run_blocks(const Launch& launch, const TileGrid& grid, const PassRun& run, Index batch,
                Index head, Program& program, std::span<Observer* const> observers) {
  const Index count = launch.blocks_per_head(grid);
  if (run.order.kind == BlockOrder::Kind::ascending) {
    for (Index block = 0; block < count; ++block) {
      run_block(launch, grid, {batch, head, block}, program, observers);
    }
    return;
  }
  for (const Index block : run.order.sequence(count)) {
    run_block(launch, grid, {batch, head, block}, program, observers);
  }
}

bool last_of_group(const PassRun& run, Index head) {
  return (head + 1) % run.problem.heads_per_kv_head() == 0;
}

}  // namespace

void run_head(const Pass& pass, const PassRun& run, Index batch, Index head,
              std::span<Observer* const> observers) {
  ATTNSCOPE_CHECK((run.options.score_steps == score_steps_of(run.problem)), ==, true);
  for (const Launch& launch : pass.launches) {
    if (launch.once_per_kv_head && !last_of_group(run, head)) continue;
    TileGrid grid = launch.grid(run.problem, run.tiling, run.options);
    grid.set_batch(batch);
    Program program(observers);
    for (Observer* observer : observers) observer->begin_launch(launch.name, grid);
    run_blocks(launch, grid, run, batch, head, program, observers);
    for (Observer* observer : observers) observer->end_launch();
  }
}

void run_all_heads(const Pass& pass, const PassRun& run, std::span<Observer* const> observers) {
  ATTNSCOPE_CHECK((run.options.score_steps == score_steps_of(run.problem)), ==, true);
  for (const Launch& launch : pass.launches) {
    TileGrid grid = launch.grid(run.problem, run.tiling, run.options);
    Program program(observers);
    for (Observer* observer : observers) observer->begin_launch(launch.name, grid);
    for (Index batch = 0; batch < run.problem.batch; ++batch) {
      grid.set_batch(batch);
      for (Index head = 0; head < run.problem.heads; ++head) {
        if (launch.once_per_kv_head && !last_of_group(run, head)) continue;
        run_blocks(launch, grid, run, batch, head, program, observers);
      }
    }
    for (Observer* observer : observers) observer->end_launch();
  }
}

}  // namespace attnscope
