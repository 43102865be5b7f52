/// Traced kernels on a GPU: each executes its schedule's tile operations, gives the same results as
/// the plain kernel, and records the algorithm's m, l and alpha.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "kernels/default_tilings.h"
#include "kernels/measure/inputs/backward_tensors.h"
#include "kernels/measure/trace/kernel_trace.h"
#include "kernels/measure/trace_pass.h"
#include "kernels/split_kv/split_kv_shared.cuh"
#include "reference/key_splits.h"
#include "tests/kernels/forward_run.h"
#include "tests/kernels/online_states.h"
#include "tests/kernels/traced_problems.h"
#include "tests/kernels/traced_schedule.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {
namespace {

std::string described(const AttentionProblem& problem) {
  const std::string mask = problem.block_mask ? ", " + problem.block_mask->text() : "";
  return describe(problem) + ", " + extras_text(problem) + mask;
}

class TracedKernels : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (missing_gpu()) return;
    auto opened = Session::open(0);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    session_ = std::move(opened).value().release();
  }
  static void TearDownTestSuite() { delete session_; }

  /// Traces every row_step-th row, by default in the first traced tiling; fails the test on errors.
  static KernelTrace trace(std::string_view kernel_name, PassKind pass,
                           const AttentionProblem& problem, Index row_step,
                           const std::optional<Tiling>& tiling = std::nullopt) {
    KernelTrace trace;
    trace.run = test::kernel_run(kernel_name, problem, pass, tiling);
    trace.header.device = session_->device();
    const auto error = session_->run([&]() -> std::optional<Error> {
      const auto plan = plan_trace(trace.run, row_step, session_->target());
      if (!plan) return plan.error();
      const auto raw = trace_pass(*session_, trace.run, plan.value());
      if (!raw) return raw.error();
      const RawTrace& from = raw.value();
      trace.run.tiling = from.plan.tiling;
      trace.launch = from.plan.launch;
      trace.time_s = from.time_s;
      trace.plain_time_s = from.plain_time_s;
      return decode_trace({.blocks = from.blocks,
                           .events = from.events,
                           .events_per_block = static_cast<std::size_t>(from.plan.events_per_block),
                           .rows = from.rows,
                           .row_step = static_cast<std::size_t>(from.plan.row_step),
                           .rows_per_head = static_cast<std::size_t>(from.plan.rows_per_head),
                           .column_tiles = static_cast<std::size_t>(from.plan.column_tiles),
                           .row_parts = static_cast<std::size_t>(from.plan.row_parts)},
                          trace);
    });
    EXPECT_FALSE(error) << kernel_name << ": " << error->message;
    return trace;
  }

  static void expect_schedule(std::string_view kernel, PassKind pass,
                              const AttentionProblem& problem, Index splits = 1,
                              const std::optional<Tiling>& tiling = std::nullopt) {
    SCOPED_TRACE(std::string(kernel) + " " + std::string(to_string(pass)) + ", " +
                 described(problem));
    const KernelTrace traced = trace(kernel, pass, problem, 0, tiling);
    if (HasFailure()) return;
    const auto differences = differences_from_schedule(traced, splits);
    EXPECT_TRUE(differences.empty())
        << differences.size() << " differences; the first: " << differences.front();
    EXPECT_GT(scheduled_operations(traced, splits), 0);
  }

  /// Expects the same bits in `outputs`, of `rows` rows each, from the plain kernel and the traced
  /// one; NaN counts as a difference. `run` runs a pass on the tensors, with a trace or without.
  template <typename Tensors, typename Run>
  static void expect_plain_bits(std::string_view name, PassKind pass,
                                const AttentionProblem& problem,
                                const std::vector<CheckedTensor>& outputs, Index rows,
                                const Run& run) {
    SCOPED_TRACE(std::string(name) + ", " + described(problem));
    std::vector<std::vector<double>> plain, traced;
    const auto error = session_->run([&]() -> std::optional<Error> {
      const auto plan = plan_trace(test::kernel_run(name, problem, pass), 1, session_->target());
      if (!plan) return plan.error();
      auto tensors = Tensors::allocate(test::kernel_run(name, problem, pass, plan.value().tiling));
      if (!tensors) return tensors.error();
      tensors.value().generate_inputs(*session_, {});
      const TraceMemory memory(plan.value());
      const TraceBuffer buffer = memory.buffer();
      for (const TraceBuffer* trace : {static_cast<const TraceBuffer*>(nullptr), &buffer}) {
        tensors.value().invalidate_outputs();
        if (auto failure = run(tensors.value(), trace)) return failure;
        session_->stream().wait();
        for (const CheckedTensor output : outputs) {
          (trace ? traced : plain).push_back(tensors.value().fetch(output, 0, 0, 0, rows));
        }
      }
      return std::nullopt;
    });
    ASSERT_FALSE(error) << error->message;
    EXPECT_EQ(plain, traced);
  }

  static void expect_plain_output(std::string_view name, const AttentionProblem& problem) {
    expect_plain_bits<ForwardTensors>(name, PassKind::forward, problem, {CheckedTensor::O},
                                      problem.batch * problem.heads * problem.N,
                                      [](const ForwardTensors& tensors, const TraceBuffer* trace) {
                                        return tensors.pass(*session_, /*with_lse=*/true,
                                                            trace)({});
                                      });
  }

  /// Expects the same bits in dK and dV, but not in dQ, whose order of summation is random.
  static void expect_plain_key_gradients(std::string_view name, const AttentionProblem& problem) {
    expect_plain_bits<BackwardTensors>(
        name, PassKind::backward, problem, {CheckedTensor::dK, CheckedTensor::dV},
        problem.batch * problem.kv_heads * problem.N_kv,
        [](const BackwardTensors& tensors, const TraceBuffer* trace) {
          const auto error = tensors.run_forward(*session_);
          return error ? error : tensors.pass(*session_, trace)({});
        });
  }

  /// Expects the algorithm's m, l and alpha in double precision, and nothing for column tiles that
  /// the row's tile does not visit.
  static void expect_algorithms(const std::vector<TraceRow>& found,
                                const std::vector<std::optional<test::OnlineState>>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    double worst_m = 0.0, worst_l = 0.0, worst_alpha = 0.0;
    const auto worse = [](double& worst, float value, double model, double unit) {
      if (value == model) return;  // both -inf
      const double error = std::abs(value - model) / unit;
      if (!(error <= worst) && !std::isnan(worst)) worst = error;  // NaN stays
    };
    for (std::size_t j = 0; j < expected.size(); ++j) {
      const TraceRow& state = found[j];
      if (!expected[j]) {
        EXPECT_TRUE(std::isnan(state.m) && std::isnan(state.l) && std::isnan(state.alpha)) << j;
        continue;
      }
      worse(worst_m, state.m, expected[j]->m, 1.0);
      worse(worst_l, state.l, expected[j]->l, expected[j]->l);
      worse(worst_alpha, state.alpha, expected[j]->alpha, 1.0);
    }
    EXPECT_TRUE(worst_m <= 1e-5) << worst_m;
    EXPECT_TRUE(worst_l <= 1e-5) << worst_l;
    EXPECT_TRUE(worst_alpha <= 1e-5) << worst_alpha;
  }

  /// The same for every row_step-th row, and for each warp if `parts` warps share a row's keys.
  static void expect_states(std::string_view kernel, const AttentionProblem& problem,
                            Index row_step = 37, Index splits = 1, Index parts = 1) {
    SCOPED_TRACE(std::string(kernel) + ", " + described(problem));
    const KernelTrace traced = trace(kernel, PassKind::forward, problem, row_step);
    if (HasFailure()) return;
    const AttentionInputs inputs = make_inputs(problem, {});
    const Index rows = problem.batch * problem.heads * ceil_div(problem.N, row_step);
    ASSERT_EQ(std::ssize(traced.rows), rows);
    for (const TracedRow& row : traced.rows) {
      const auto expected = [&](const test::Sweep& sweep) {
        return test::online_states(problem, inputs, row, traced.run.tiling, sweep);
      };
      expect_algorithms(row.states, expected({.splits = splits}));
      ASSERT_EQ(std::ssize(row.parts), parts > 1 ? parts : 0);
      for (Index part = 0; part < std::ssize(row.parts); ++part) {
        expect_algorithms(row.parts[static_cast<std::size_t>(part)],
                          expected({.splits = splits, .part = part, .parts = parts}));
      }
    }
  }

  /// The number of splits of split_kv on this GPU.
  static Index splits_of(const AttentionProblem& problem) {
    const KernelInfo& kernel = *find_kernel("split_kv");
    const Tiling tiling = default_tilings(kernel, PassKind::forward, problem).front();
    return split_count(problem, tiling, session_->device().sm_count);
  }

  static Session* session_;
};

Session* TracedKernels::session_ = nullptr;

TEST_F(TracedKernels, DoTheirSchedulesOperationsForward) {
  ATTNSCOPE_NEEDS_GPU();
  for (const char* kernel : {"flash1", "flash2"}) {
    for (const Index d : {16, 64, 128}) {
      expect_schedule(kernel, PassKind::forward, problem_of(d, 512, 512));
      expect_schedule(kernel, PassKind::forward, problem_of(d, 300, 409));
      expect_schedule(kernel, PassKind::forward, problem_of(d, 512, 512, Mask::causal()));
      expect_schedule(kernel, PassKind::forward, problem_of(d, 409, 300, Mask::causal()));
      expect_schedule(kernel, PassKind::forward,
                      problem_of(d, 300, 409, Mask::causal(Mask::Alignment::top_left)));
    }
  }
}

/// Traces tilings that a Hopper GPU computes with its own instructions.
TEST_F(TracedKernels, DoTheirSchedulesOperationsForwardInWideTiles) {
  ATTNSCOPE_NEEDS_GPU();
  for (const auto& [d, tiling] : {std::pair{64, Tiling{192, 128}},
                                  {64, Tiling{256, 64}},
                                  {128, Tiling{128, 128}},
                                  {128, Tiling{128, 176}}}) {
    for (const AttentionProblem& problem :
         {problem_of(d, 512, 512), problem_of(d, 300, 409), problem_of(d, 512, 512, Mask::causal()),
          problem_of(d, 409, 300, Mask::causal())}) {
      expect_schedule("flash2", PassKind::forward, problem, 1, tiling);
    }
  }
}

TEST_F(TracedKernels, DoTheirSchedulesOperationsBackward) {
  ATTNSCOPE_NEEDS_GPU();
  for (const char* kernel : {"flash1", "flash2"}) {
    for (const Index d : {16, 64, 128}) {
      expect_schedule(kernel, PassKind::backward, problem_of(d, 512, 512));
      expect_schedule(kernel, PassKind::backward, problem_of(d, 300, 409));
      expect_schedule(kernel, PassKind::backward, problem_of(d, 409, 300, Mask::causal()));
    }
  }
}

/// Traces tilings that a Hopper GPU computes with its own instructions.
TEST_F(TracedKernels, DoTheirSchedulesOperationsBackwardInWideTiles) {
  ATTNSCOPE_NEEDS_GPU();
  for (const auto& [d, tiling] : {std::pair{64, Tiling{128, 128}},
                                  {96, Tiling{64, 128}},
                                  {192, Tiling{64, 64}},
                                  {256, Tiling{64, 64}}}) {
    for (const AttentionProblem& problem : {problem_of(d, 512, 512), problem_of(d, 300, 409),
                                            problem_of(d, 409, 300, Mask::causal())}) {
      expect_schedule("flash2", PassKind::backward, problem, 1, tiling);
    }
  }
}

TEST_F(TracedKernels, DoTheirSchedulesOperationsOverSplitKeys) {
  ATTNSCOPE_NEEDS_GPU();
  for (const Index d : {16, 64, 128}) {
    for (const Index N : {1, 20}) {
      const AttentionProblem problem = problem_of(d, N, 5000);
      expect_schedule("split_kv", PassKind::forward, problem, splits_of(problem));
    }
  }
}

TEST_F(TracedKernels, DoTheirSchedulesOperationsOnCudaCores) {
  ATTNSCOPE_NEEDS_GPU();
  for (const AttentionProblem& problem :
       {fp32_problem(512, 512), fp32_problem(300, 409), fp32_problem(512, 512, Mask::causal()),
        fp32_problem(409, 300, Mask::causal()),
        fp32_problem(300, 409, Mask::causal(Mask::Alignment::top_left))}) {
    expect_schedule("flash1", PassKind::forward, problem);
    expect_schedule("flash2", PassKind::forward, problem);
    expect_schedule("flash2", PassKind::backward, problem);
  }
}

TEST_F(TracedKernels, DoTheirSchedulesOperationsOnListedTiles) {
  ATTNSCOPE_NEEDS_GPU();
  for (const PassKind pass : {PassKind::forward, PassKind::backward}) {
    for (const AttentionProblem& problem : sparse_problems(pass)) {
      expect_schedule("block_sparse2", pass, problem);
    }
  }
}

TEST_F(TracedKernels, ComputeWhatThePlainOnesCompute) {
  ATTNSCOPE_NEEDS_GPU();
  for (const char* name : {"flash1", "flash2", "split_kv"}) {
    for (const Index d : {16, 64, 128}) expect_plain_output(name, problem_of(d, 300, 409));
  }
  for (const char* name : {"flash1", "flash2"}) {
    for (const Index d : {16, 64, 128}) {
      expect_plain_key_gradients(name, problem_of(d, 300, 409));
      expect_plain_key_gradients(name, problem_of(d, 409, 300, Mask::causal()));
    }
  }
  for (const char* name : {"flash1", "flash2"}) {
    expect_plain_output(name, fp32_problem(300, 409));
    expect_plain_output(name, fp32_problem(409, 300, Mask::causal()));
  }
  expect_plain_key_gradients("flash2", fp32_problem(300, 409));
  for (const AttentionProblem& problem : sparse_problems(PassKind::forward)) {
    expect_plain_output("block_sparse2", problem);
  }
  for (const AttentionProblem& problem : sparse_problems(PassKind::backward)) {
    expect_plain_key_gradients("block_sparse2", problem);
  }
}

TEST_F(TracedKernels, RecordTheMLAndAlphaOfTheAlgorithm) {
  ATTNSCOPE_NEEDS_GPU();
  for (const char* kernel : {"flash1", "flash2"}) {
    for (const Index d : {16, 64, 128}) expect_states(kernel, problem_of(d, 300, 409));
    expect_states(kernel, fp32_problem(300, 409));
    for (const AttentionProblem& problem : scored_problems(kernel)) expect_states(kernel, problem);
  }
  for (const AttentionProblem& problem : sparse_problems(PassKind::forward)) {
    expect_states("block_sparse2", problem);
  }
  for (const AttentionProblem& problem : scored_problems("block_sparse2")) {
    expect_states("block_sparse2", problem);
  }
}

TEST_F(TracedKernels, RecordTheMLAndAlphaOfEachWarpWhereWarpsShareARowsKeys) {
  ATTNSCOPE_NEEDS_GPU();
  constexpr Index kRowStep = 7;
  constexpr int kWarps = split_kv_warps({kSplitRows, 64});
  for (const Index d : {16, 64, 128}) {
    // One split and several; a partial last column tile; warps and splits that see no key
    for (const AttentionProblem& problem :
         {problem_of(d, 1, 5000), problem_of(d, 20, 5000), problem_of(d, 20, 5000, Mask::causal()),
          problem_of(d, 300, 409),
          problem_of(d, 20, 300, Mask::causal(Mask::Alignment::top_left))}) {
      expect_states("split_kv", problem, kRowStep, splits_of(problem), kWarps);
    }
  }
}

TEST_F(TracedKernels, DoTheirSchedulesOperationsWithScoreFunctions) {
  ATTNSCOPE_NEEDS_GPU();
  for (const char* kernel : {"flash1", "flash2", "block_sparse2"}) {
    for (const AttentionProblem& problem : scored_problems(kernel)) {
      expect_schedule(kernel, PassKind::forward, problem);
      expect_schedule(kernel, PassKind::backward, problem);
    }
  }
}

TEST_F(TracedKernels, ComputeWhatThePlainOnesComputeWithScoreFunctions) {
  ATTNSCOPE_NEEDS_GPU();
  for (const char* kernel : {"flash1", "flash2", "block_sparse2"}) {
    for (const AttentionProblem& problem : scored_problems(kernel)) {
      expect_plain_output(kernel, problem);
      expect_plain_key_gradients(kernel, problem);
    }
  }
}

/// A block's steps are those of its first warp.
TEST_F(TracedKernels, LeaveARescaleOutOnlyWhereAlphaIsOne) {
  ATTNSCOPE_NEEDS_GPU();
  constexpr Index kFirstWarpRows = 16;
  const KernelTrace traced =
      trace("flash2", PassKind::forward, problem_of(16, 64, 2048), /*row_step=*/1);
  Index left_out = 0;
  for (const TracedBlock& block : traced.blocks) {
    for (const TracedStep& step : block.steps) {
      if (step.done) continue;
      ++left_out;
      ASSERT_EQ(step.step, TraceStep::rescale);
      for (const TracedRow& row : traced.rows) {
        const Index tile_row = row.row - step.i * traced.run.tiling.Br;
        const bool of_warp = row.batch == block.batch && row.head == block.head && 0 <= tile_row &&
                             tile_row < kFirstWarpRows;
        if (!of_warp) continue;
        EXPECT_EQ(row.states[static_cast<std::size_t>(step.j)].alpha, 1.0f);
      }
    }
  }
  EXPECT_GT(left_out, 0);
}

TEST_F(TracedKernels, RunOnSmsOfTheGpuWithinThePassesTime) {
  ATTNSCOPE_NEEDS_GPU();
  const KernelTrace traced =
      trace("flash2", PassKind::forward, problem_of(64, 2048, 2048), /*row_step=*/0);
  const std::vector<Index> slots = block_slots(traced);
  EXPECT_LE(*std::ranges::max_element(slots), 1);  // two blocks fit on an SM
  for (const TracedBlock& block : traced.blocks) {
    EXPECT_LT(block.sm, session_->device().sm_count);
    EXPECT_LT(block.begin_ps, block.end_ps);
    EXPECT_LE(block.steps.back().end_ps, block.end_ps + 1000);
  }
  EXPECT_LT(static_cast<double>(traced.end_ps()) * 1e-12, 2 * traced.time_s);
  EXPECT_GT(traced.sm_clock_mhz, 300.0);
  EXPECT_LT(traced.sm_clock_mhz, 4000.0);
}

}  // namespace
}  // namespace attnscope::kernels
