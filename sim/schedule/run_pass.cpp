#include "sim/schedule/algorithm.h"

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

/// Runs one head's thread blocks of a launch.
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

/// Calls visit(block, count) for runs of `count` equal thread blocks, of which `block` is one;
/// together the runs are all thread blocks of the launch.
template <typename Visit>
void for_equal_blocks(const Launch& launch, const TileGrid& g, Visit visit) {
  const bool asks = !launch.ignores_mask;
  const Index parts = g.d_parts();
  if (launch.blocks_per_head == block_per_row_tile) {
    for (Index i = 0, equal = 0; i < g.Tr(); i += equal) {
      equal = g.equal_whole_rows(static_cast<std::int32_t>(i), asks);
      for (Index part = 0; part < parts; ++part) visit(i * parts + part, equal);
    }
    return;
  }
  if (launch.blocks_per_head == block_per_column_tile) {
    for (Index j = 0, equal = 0; j < g.Tc(); j += equal) {
      equal = g.equal_whole_columns(static_cast<std::int32_t>(j), asks);
      for (Index part = 0; part < parts; ++part) visit(j * parts + part, equal);
    }
    return;
  }

  // Blocks of one row: those of its column tiles, or of its splits
  const Index blocks = launch.blocks_per_head(g);
  const Index in_row = launch.blocks_per_head == block_per_head ? blocks : blocks / g.Tr();
  const bool by_tile = launch.blocks_per_head == block_per_tile;
  const bool equal_columns = !asks || g.rows_see_equal_columns();
  for (Index first = 0, rows = 0; first < blocks; first += rows * in_row) {
    const auto i = static_cast<std::int32_t>(first / in_row);
    rows = equal_columns ? std::min(g.equal_whole_rows(i, false), blocks / in_row - i) : 1;
    for (std::int32_t part = 0, equal = 1; part < in_row; part += equal) {
      if (by_tile) {
        equal = static_cast<std::int32_t>(g.equal_columns(i, g.column_tiles(), part));
      }
      visit(first + part, rows * equal);
    }
  }
}

bool last_of_group(const PassRun& run, Index head) {
  return (head + 1) % run.problem.heads_per_kv_head() == 0;
}

/// Runs one head's thread blocks of every launch in which it takes part. `program_of(launch)`: the
/// program that passes a launch's operations to the observers.
template <typename ProgramOf>
void run_launches(const Pass& pass, const PassRun& run, Index batch, Index head,
                  std::span<Observer* const> observers, ProgramOf program_of) {
  ATTNSCOPE_CHECK((run.options.score_steps == score_steps_of(run.problem)), ==, true);
  for (const Launch& launch : pass.launches) {
    if (launch.once_per_kv_head && !last_of_group(run, head)) continue;
    TileGrid grid = launch.grid(run.problem, run.tiling, run.options);
    grid.set_batch(batch);
    Program program = program_of(launch);
    for (Observer* observer : observers) observer->begin_launch(launch.name, grid);
    run_blocks(launch, grid, run, batch, head, program, observers);
    for (Observer* observer : observers) observer->end_launch();
  }
}

}  // namespace

void run_head(const Pass& pass, const PassRun& run, Index batch, Index head,
              std::span<Observer* const> observers) {
  run_launches(pass, run, batch, head, observers,
               [&](const Launch& /*launch*/) { return Program(observers); });
}

void count_blocks(const Pass& pass, const PassRun& run, Index batch, Index head,
                  std::span<CountingObserver* const> counters) {
  const std::vector<Observer*> observers(counters.begin(), counters.end());
  run_launches(pass, run, batch, head, observers, [&](const Launch& launch) {
    return launch.by_agents() ? Program(std::span<Observer* const>(observers)) : Program(counters);
  });
}

void count_head(const Pass& pass, const PassRun& run, Index batch, Index head,
                std::span<CountingObserver* const> counters) {
  ATTNSCOPE_CHECK((run.options.score_steps == score_steps_of(run.problem)), ==, true);
  const std::vector<Observer*> observers(counters.begin(), counters.end());
  for (const Launch& launch : pass.launches) {
    if (launch.once_per_kv_head && !last_of_group(run, head)) continue;
    TileGrid grid = launch.grid(run.problem, run.tiling, run.options);
    grid.set_batch(batch);
    Program program(counters);
    for (Observer* observer : observers) observer->begin_launch(launch.name, grid);
    for_equal_blocks(launch, grid, [&](Index block, Index count) {
      program.mark();
      run_block(launch, grid, {batch, head, block}, program, observers);
      program.repeat(count - 1);
    });
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
