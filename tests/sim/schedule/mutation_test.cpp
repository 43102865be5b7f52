/// Every operation matters: the numbers of a schedule with one operation deleted are wrong, but for
/// an explicit list of true no-ops. Inputs have row maxima that rise from tile to tile, so that
/// alpha differs from 1 everywhere.

#include <gtest/gtest.h>

#include <cmath>

#include "sim/observers/numeric_executor.h"
#include "sim/schedule/catalog.h"
#include "sim/schedule/run_pass.h"
#include "sim/snapshot/describe_op.h"
#include "tests/support/tensor_assertions.h"

namespace attnscope {
namespace {

/// Passes every operation on to the executor but one.
class Deleter : public Observer {
 public:
  Deleter(NumericExecutor& executor, Index deleted) : executor_(executor), deleted_(deleted) {}
  void begin_launch(std::string_view name, const TileGrid& grid) override {
    executor_.begin_launch(name, grid);
    launch_ = name;
  }
  void begin_block(const BlockId& block) override {
    executor_.begin_block(block);
    first_tile_of_block_ = true;
  }
  void observe(std::span<const TileOp> ops) override {
    for (const TileOp& op : ops) {
      if (step_ == deleted_) {
        deleted_op_ = op;
        deleted_launch_ = launch_;
        deleted_in_first_tile_ = first_tile_of_block_;
      } else {
        executor_.execute(op);
      }
      // A tile ends with its product into O
      if (op.kind == OpKind::accumulate) first_tile_of_block_ = false;
      ++step_;
    }
  }

  Index step_count() const { return step_; }
  const TileOp& deleted_op() const { return deleted_op_; }
  std::string_view deleted_launch() const { return deleted_launch_; }
  bool deleted_in_first_tile() const { return deleted_in_first_tile_; }

 private:
  NumericExecutor& executor_;
  Index deleted_;
  Index step_ = 0;
  TileOp deleted_op_;
  std::string_view launch_, deleted_launch_;
  bool first_tile_of_block_ = true, deleted_in_first_tile_ = false;
};

/// Scores that rise with the key: K's rows grow along a direction that every query has in common.
AttentionInputs rising_inputs(const AttentionProblem& problem) {
  AttentionInputs inputs = make_inputs(problem, {InputKind::gaussian, 5});
  for (Index row = 0; row < problem.N; ++row) inputs.Q.at(0, 0, row, 0) = 2.0;
  for (Index key = 0; key < problem.N_kv; ++key) {
    inputs.K.at(0, 0, key, 0) = 0.25 * static_cast<double>(key);
  }
  return inputs;
}

/// The true no-ops. Each line says why nothing changes.
bool is_true_no_op(std::string_view algorithm, const TileOp& op, bool in_first_tile) {
  const Tensor dest = op.dest_tiles[0].tensor;
  if (algorithm == "flash2") {
    // In the first tile l and O are 0: rescaling 0 by alpha = exp(-inf) = 0 leaves 0
    return in_first_tile && op.kind == OpKind::rescale &&
           (dest == Tensor::l || dest == Tensor::O);
  }
  if (algorithm == "flash1") {
    // In the sweep of the first column tile l and O are 0 (from HBM), so rescaling leaves 0, and
    // m~ is the new maximum, so beta = 1
    const bool first_column = op.source_tiles[0].j == 0 || op.dest_tiles[0].j == 0;
    if (op.kind == OpKind::rescale && in_first_tile) return true;
    // The row maxima rise with j: m~ is always the new maximum, so beta = 1 in every tile
    const bool by_beta = op.source_tiles[0].tensor == Tensor::beta;
    if (op.kind == OpKind::rescale && by_beta) return true;
    (void)first_column;
  }
  return false;
}

class OpDeletion : public testing::TestWithParam<std::string_view> {};

TEST_P(OpDeletion, EveryOperationMattersButForTheListedNoOps) {
  const std::string_view name = GetParam();
  const Algorithm& algorithm = *find_algorithm(name);
  AttentionProblem problem{.N = 12, .N_kv = 15, .d = 4, .dtype = DType::fp32};
  problem.mask = Mask::causal();
  const AttentionInputs inputs = rising_inputs(problem);
  const ForwardResult reference = naive_forward(problem, inputs);
  const ScheduleOptions options{.standard_writes_lse = true};
  const Pass pass = algorithm.forward(options);
  const PassRun run{problem, {4, 5}, options, {}};

  Index step_count = 1;
  int no_ops = 0;
  for (Index deleted = -1; deleted < step_count; ++deleted) {
    NumericExecutor executor(problem, inputs, {});
    executor.begin_head(0, 0, pass.initial_values);
    Deleter deleter(executor, deleted);
    Observer* const observers[] = {&deleter};
    run_head(pass, run, 0, 0, observers);
    step_count = deleter.step_count();

    const RowMatrix& O = executor.hbm(Tensor::O);
    const RowMatrix LSE = executor.hbm(Tensor::LSE).size() > 0
                              ? executor.hbm(Tensor::LSE)
                              : RowMatrix(executor.hbm(Tensor::m).array() +
                                          executor.hbm(Tensor::l).array().log());
    const auto values = [](const RowMatrix& matrix) {
      return std::span<const double>(matrix.data(), static_cast<std::size_t>(matrix.size()));
    };
    const bool right = O.size() == reference.O.size() && LSE.size() == reference.LSE.size() &&
                       test::is_near(values(O), reference.O.data, 1e-9) &&
                       test::is_near(values(LSE), reference.LSE.data, 1e-9);
    if (deleted < 0) {
      ASSERT_TRUE(right) << "the whole schedule is wrong";
      continue;
    }
    const TileOp& op = deleter.deleted_op();
    const bool no_op = is_true_no_op(name, op, deleter.deleted_in_first_tile());
    no_ops += no_op ? 1 : 0;
    EXPECT_EQ(right, no_op) << "launch " << deleter.deleted_launch() << ", step " << deleted
                            << ": " << op_listing(op);
  }
  EXPECT_LT(no_ops, step_count / 4) << "the list of no-ops hides too much";
}

INSTANTIATE_TEST_SUITE_P(Forward, OpDeletion, testing::Values("standard", "flash1", "flash2"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace attnscope
