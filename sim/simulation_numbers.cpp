#include <algorithm>
#include <cmath>

#include "sim/observers/numeric_executor.h"
#include "sim/schedule/algorithm.h"
#include "sim/simulation.h"

namespace attnscope {

namespace {

/// Total memory of inputs, results, executor and reference, in fp64.
double numeric_bytes(const ResolvedRun& run) {
  const AttentionProblem& problem = run.problem;
  const auto number = [](Index count) { return static_cast<double>(count); };
  const double query_elems = number(problem.N) * number(problem.d);
  const double key_elems = number(problem.N_kv) * number(problem.d);
  const double scores = number(problem.N) * number(problem.N_kv);
  const double heads = number(problem.batch) * number(problem.heads);
  const double kv_heads = number(problem.batch) * number(problem.kv_heads);
  const bool gradients = run.pass() != PassKind::forward;

  // Q, dO, O and the reference's O, dQ twice; K, V, dK and dV twice
  double elems =
      heads * query_elems * (gradients ? 6 : 4) + kv_heads * key_elems * (gradients ? 6 : 2);
  // Add one head's HBM: its tensors, O and dQ between passes, the gradients of the heads of a
  // group, the score matrices
  elems += query_elems * (gradients ? 6 : 4) + key_elems * (gradients ? 4 : 2);
  const double group = number(problem.heads_per_kv_head());
  if (gradients && problem.heads_per_kv_head() > 1) elems += 2 * group * key_elems;
  const bool whole_rows = find_algorithm(run.algorithm())->softmax == SoftmaxForm::whole_rows;
  elems += scores * (gradients && whole_rows ? 4 : 2);
  if (whole_rows) elems += 2 * number(softmax_rows_per_block(problem.N_kv) * problem.N_kv);
  // The reference's block of scores, and the tiles on chip with the copies that products make
  elems += number(std::min<Index>(problem.N, 128)) * number(problem.N_kv) * (gradients ? 2 : 1);
  const double rows = number(std::min(problem.N, run.tiling.Br));
  const double cols = number(std::min(problem.N_kv, run.tiling.Bc));
  elems += 6 * (rows * cols + (rows + cols) * number(problem.d));
  return elems * static_cast<double>(sizeof(double));
}

}  // namespace

std::optional<Error> check_numeric_memory(const ResolvedRun& run) {
  const double bytes = numeric_bytes(run);
  if (bytes <= kMaxNumericBytes) return std::nullopt;
  return invalid_field(ErrorCode::does_not_fit, "seq_len",
                       "values of this problem need {:.0f} GB of memory (limit: {:.0f} GB); "
                       "choose a smaller problem, or count only",
                       bytes / 1e9, kMaxNumericBytes / 1e9);
}

Result<NumericResult> simulate_numbers(const ResolvedRun& run, const GpuDescription& gpu,
                                       const AttentionInputs& inputs,
                                       const NumericOptions& options) {
  const AttentionProblem& problem = run.problem;
  if (auto error = check_numeric_memory(run)) return *error;
  if (const auto report = simulate(run, gpu); !report) return report.error();

  ScheduleOptions schedule = schedule_options(run, gpu);
  schedule.standard_writes_lse = true;
  const Algorithm& algorithm = *find_algorithm(run.algorithm());
  const bool with_gradients = run.pass() != PassKind::forward;
  // A break of the backward pass does not affect the forward pass before it
  const bool breaks_forward = run.pass() != PassKind::backward;
  const Pass forward =
      make_pass(algorithm, PassKind::forward, breaks_forward ? schedule : without_break(schedule));
  const Pass backward =
      with_gradients ? make_pass(algorithm, PassKind::backward, schedule) : Pass{};
  const PassRun pass_run{problem, run.tiling, schedule, options.order};
  const NumericRules rules = numeric_rules(run.asked);
  NumericExecutor executor(problem, inputs, rules);
  Observer* const observers[] = {&executor};

  NumericResult result;
  result.output.O = HeadTensor(problem.batch, problem.heads, problem.N, problem.d);
  result.output.LSE = HeadTensor(problem.batch, problem.heads, problem.N, 1);
  if (with_gradients) {
    const HeadTensor keys(problem.batch, problem.kv_heads, problem.N_kv, problem.d);
    result.gradients = Gradients{result.output.O, keys, keys};
  }
  for (Index b = 0; b < problem.batch; ++b) {
    for (Index h = 0; h < problem.heads; ++h) {
      executor.begin_head(b, h, forward.initial_values);
      executor.set_rules(breaks_forward ? rules : without_break(rules));
      run_head(forward, pass_run, b, h, observers);
      head_matrix(result.output.O, b, h) = executor.hbm(Tensor::O);
      head_matrix(result.output.LSE, b, h) = log_sum_exp(executor);
      if (!with_gradients) continue;

      // The backward pass starts from the HBM state after the forward pass
      executor.set_rules(rules);
      executor.set_initial_values(backward.initial_values);
      run_head(backward, pass_run, b, h, observers);
      head_matrix(result.gradients->dQ, b, h) = executor.hbm(Tensor::dQ);
      if ((h + 1) % problem.heads_per_kv_head() != 0) continue;  // group not summed yet
      head_matrix(result.gradients->dK, b, problem.kv_head_of(h)) = executor.hbm(Tensor::dK);
      head_matrix(result.gradients->dV, b, problem.kv_head_of(h)) = executor.hbm(Tensor::dV);
    }
  }
  const ForwardResult reference = naive_forward(problem, inputs);
  result.O_error = compare(result.output.O.data, reference.O.data);
  result.LSE_error = compare(result.output.LSE.data, reference.LSE.data);
  if (with_gradients) {
    const Gradients gradients = naive_backward(problem, inputs, reference);
    result.dQ_error = compare(result.gradients->dQ.data, gradients.dQ.data);
    result.dK_error = compare(result.gradients->dK.data, gradients.dK.data);
    result.dV_error = compare(result.gradients->dV.data, gradients.dV.data);
  }
  return result;
}

}  // namespace attnscope
