#include "app/lessons/operation_results.h"

#include <bit>

#include "reference/fnv1a.h"
#include "sim/observers/numeric_executor.h"
#include "sim/schedule/algorithm.h"

namespace attnscope::lessons {

namespace {

/// Stores the operations and, if there is an executor, the hash of each one's result.
class OperationKeeper : public Observer {
 public:
  explicit OperationKeeper(NumericExecutor* executor) : executor_(executor) {}

  void begin_launch(std::string_view name, const TileGrid& grid) override {
    kept.launches.push_back(std::ssize(kept.ops));
    if (executor_ != nullptr) executor_->begin_launch(name, grid);
  }
  void begin_block(const BlockId& block) override {
    if (executor_ != nullptr) executor_->begin_block(block);
  }
  void observe(std::span<const TileOp> ops) override {
    for (const TileOp& op : ops) {
      kept.ops.push_back(op);
      if (executor_ == nullptr) continue;
      Fnv1a hash;
      // Read the sources of a store before it runs: it may be their last use
      const bool leaves_chip = !op.dests().empty() && !op.dests()[0].on_chip();
      if (leaves_chip) add_values(op.sources(), hash);
      executor_->execute(op);
      if (!leaves_chip) add_values(op.dests(), hash);
      kept.results.push_back(hash.value());
    }
  }

  HeadOperations kept;

 private:
  void add_values(std::span<const Tile> tiles, Fnv1a& hash) const {
    for (const Tile& tile : tiles) {
      if (!tile.on_chip()) continue;
      const auto& slots = executor_->on_chip()[static_cast<std::size_t>(tile.tensor)];
      const RowMatrix& values = slots[tile.slot - 1U].values;
      for (Index k = 0; k < values.size(); ++k) {
        hash.add(std::bit_cast<std::uint64_t>(values.data()[k]));
      }
    }
  }

  NumericExecutor* executor_;
};

}  // namespace

Result<HeadOperations> head_operations(const ModelRun& model, bool with_values) {
  const AttentionProblem& problem = model.run.problem;
  const Tiling& tiling = model.run.tiling;
  const Index tiles = ceil_div(problem.N, tiling.Br) * ceil_div(problem.N_kv, tiling.Bc);
  if (tiles > kMostFollowedTiles) {
    return unavailable("{} tiles of scores are too many to follow each operation; use at most {}",
                       tiles, kMostFollowedTiles);
  }
  if (with_values && problem.N * problem.N_kv > kMostFollowedScores) {
    return unavailable("{} x {} scores are too many to follow their values; use at most {}",
                       problem.N, problem.N_kv, kMostFollowedScores);
  }
  const ScheduleOptions options = schedule_options(model.run, model.gpu);
  const Algorithm& algorithm = *find_algorithm(model.run.algorithm());
  const Pass pass = make_head_pass(algorithm, model.run.pass(), options);
  const PassRun pass_run{problem, model.run.tiling, options};
  if (!with_values) {
    OperationKeeper keeper(nullptr);
    Observer* const observers[] = {&keeper};
    run_head(pass, pass_run, 0, 0, observers);
    return std::move(keeper.kept);
  }
  if (auto error = check_numeric_memory(model.run)) return *error;
  ATTNSCOPE_TRY(const auto inputs, inputs_of(model));
  NumericExecutor executor(problem, inputs, numeric_rules(model.run.asked));
  executor.begin_head(0, 0, pass.initial_values);
  OperationKeeper keeper(&executor);
  Observer* const observers[] = {&keeper};
  run_head(pass, pass_run, 0, 0, observers);
  return std::move(keeper.kept);
}

}  // namespace attnscope::lessons
