#include "tests/kernels/traced_kernels.h"

#include <algorithm>
#include <cmath>

#include "app/report/report_text.h"
#include "kernels/default_tilings.h"
#include "kernels/measure/inputs/backward_tensors.h"
#include "kernels/measure/inputs/forward_tensors.h"
#include "kernels/measure/trace_pass.h"
#include "reference/key_splits.h"
#include "tests/kernels/forward_run.h"
#include "tests/kernels/online_states.h"
#include "tests/kernels/traced_schedule.h"
#include "tests/support/kernel_run.h"

namespace attnscope::kernels {

namespace {

/// Expects the algorithm's m, l and alpha in double precision, and nothing for column tiles that
/// the row's tile does not visit.
void expect_algorithms(const std::vector<TraceRow>& found,
                       const std::vector<std::optional<test::OnlineState>>& expected,
                       double l_error) {
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
  EXPECT_TRUE(worst_l <= l_error) << worst_l;
  EXPECT_TRUE(worst_alpha <= 1e-5) << worst_alpha;
}

/// Expects the same values in `outputs`, of `rows` rows each, from the plain kernel and the traced
/// one, to within `relative_error`; 0: the same bits. `run_pass` runs a pass on the tensors, with a
/// trace or without.
template <typename Tensors, typename RunPass>
void expect_plain_values(Session& session, ResolvedRun run,
                         const std::vector<CheckedTensor>& outputs, Index rows,
                         const RunPass& run_pass, double relative_error = 0.0) {
  SCOPED_TRACE(run_title(run));
  std::vector<std::vector<double>> plain, traced;
  const auto error = session.run([&]() -> std::optional<Error> {
    const auto plan = plan_trace(run, 1, session.target());
    if (!plan) return plan.error();
    run.tiling = plan.value().tiling;
    run.asked.set_tiling(run.tiling);
    auto tensors = Tensors::allocate(run);
    if (!tensors) return tensors.error();
    tensors.value().generate_inputs(session, {});
    const TraceMemory memory(plan.value());
    const TraceBuffer buffer = memory.buffer();
    for (const TraceBuffer* trace : {static_cast<const TraceBuffer*>(nullptr), &buffer}) {
      tensors.value().invalidate_outputs();
      if (auto failure = run_pass(tensors.value(), trace)) return failure;
      session.stream().wait();
      for (const CheckedTensor output : outputs) {
        (trace ? traced : plain).push_back(tensors.value().fetch(output, 0, 0, 0, rows));
      }
    }
    return std::nullopt;
  });
  ASSERT_FALSE(error) << error->message;
  ASSERT_EQ(plain.size(), traced.size());
  for (std::size_t output = 0; output < plain.size(); ++output) {
    ASSERT_EQ(plain[output].size(), traced[output].size());
    for (std::size_t n = 0; n < plain[output].size(); ++n) {
      const double expected = plain[output][n], found = traced[output][n];
      const double most = relative_error * std::abs(expected);
      ASSERT_TRUE(std::abs(found - expected) <= most) << n << ": " << found << ", " << expected;
    }
  }
}

}  // namespace

Session* TracedKernels::session_ = nullptr;

void TracedKernels::SetUpTestSuite() {
  if (missing_gpu()) return;
  auto opened = Session::open(0);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  session_ = std::move(opened).value().release();
}

void TracedKernels::TearDownTestSuite() {
  delete session_;
  session_ = nullptr;
}

const DeviceInfo& TracedKernels::device() {
  return session_->device();
}

ProgramTarget TracedKernels::target() {
  return session_->target();
}

KernelTrace TracedKernels::trace(const ResolvedRun& run, Index row_step) {
  KernelTrace trace;
  const auto error = session_->run([&]() -> std::optional<Error> {
    ATTNSCOPE_TRY(const auto plan, plan_trace(run, row_step, session_->target()));
    ATTNSCOPE_TRY(const auto raw, trace_pass(*session_, run, plan));
    ATTNSCOPE_TRY(trace, decode(raw, run, {.device = session_->device()}));
    return std::nullopt;
  });
  EXPECT_FALSE(error) << run_title(run) << ": " << error->message;
  return trace;
}

void TracedKernels::expect_schedule(const ResolvedRun& run, Index splits) {
  SCOPED_TRACE(run_title(run));
  const KernelTrace traced = trace(run, 0);
  if (HasFailure()) return;
  const auto differences = differences_from_schedule(traced, splits);
  EXPECT_TRUE(differences.empty())
      << differences.size() << " differences; the first: " << differences.front();
  EXPECT_GT(scheduled_operations(traced, splits), 0);
}

void TracedKernels::expect_plain_output(const ResolvedRun& run, double relative_error) {
  const AttentionProblem& problem = run.problem;
  const auto run_forward = [](const ForwardTensors& tensors, const TraceBuffer* trace) {
    return tensors.pass(*session_, /*with_lse=*/true, trace)({});
  };
  expect_plain_values<ForwardTensors>(*session_, run, {CheckedTensor::O},
                                      problem.batch * problem.heads * problem.N, run_forward,
                                      relative_error);
}

void TracedKernels::expect_plain_key_gradients(const ResolvedRun& run) {
  const AttentionProblem& problem = run.problem;
  expect_plain_values<BackwardTensors>(*session_, run, {CheckedTensor::dK, CheckedTensor::dV},
                                       problem.batch * problem.kv_heads * problem.N_kv,
                                       &TracedKernels::run_backward);
}

void TracedKernels::expect_plain_gradients(const ResolvedRun& run) {
  expect_plain_key_gradients(run);
  const AttentionProblem& problem = run.problem;
  expect_plain_values<BackwardTensors>(*session_, run, {CheckedTensor::dQ},
                                       problem.batch * problem.heads * problem.N,
                                       &TracedKernels::run_backward);
}

void TracedKernels::expect_states(const ResolvedRun& run, const States& states) {
  SCOPED_TRACE(run_title(run));
  const AttentionProblem& problem = run.problem;
  const KernelTrace traced = trace(run, states.row_step);
  if (HasFailure()) return;
  const AttentionInputs inputs = make_inputs(problem, {});
  const Index rows = problem.batch * problem.heads * ceil_div(problem.N, states.row_step);
  ASSERT_EQ(std::ssize(traced.rows), rows);
  for (const TracedRow& row : traced.rows) {
    const auto expected = [&](const test::Sweep& sweep) {
      return test::online_states(problem, inputs, row, traced.run.tiling, sweep);
    };
    expect_algorithms(row.states, expected({.splits = states.splits}), states.l_error);
    ASSERT_EQ(std::ssize(row.parts), states.parts > 1 ? states.parts : 0);
    for (Index part = 0; part < std::ssize(row.parts); ++part) {
      expect_algorithms(row.parts[static_cast<std::size_t>(part)],
                        expected({.splits = states.splits, .part = part, .parts = states.parts}),
                        states.l_error);
    }
  }
}

std::optional<Error> TracedKernels::run_backward(const BackwardTensors& tensors,
                                                 const TraceBuffer* trace) {
  const auto error = tensors.run_forward(*session_);
  return error ? error : tensors.pass(*session_, trace)({});
}

Index TracedKernels::splits_of(const AttentionProblem& problem) {
  const KernelInfo& kernel = *find_kernel("split_kv");
  const Tiling tiling = default_tilings(kernel, PassKind::forward, problem).front();
  return split_count(problem, tiling, session_->device().sm_count);
}

}  // namespace attnscope::kernels
