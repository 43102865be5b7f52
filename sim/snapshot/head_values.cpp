#include "sim/snapshot/head_values.h"

#include <cmath>

#include "sim/observers/progress_observer.h"

namespace attnscope {

AttentionInputs inputs_of(const SteppedRequest& request, Index head) {
  const AttentionProblem& problem = request.run.problem;
  return request.given_inputs
             ? head_of(problem, *request.given_inputs, request.batch, head)
             : make_head_inputs(problem, request.run.asked.inputs, request.batch, head);
}

void begin_values(const SteppedRequest& request, const Pass& pass, const ScheduleOptions& options,
                  const AttentionProblem& one_head, NumericExecutor& executor) {
  executor.begin_head(0, 0, pass.initial_values);
  if (request.run.pass() != PassKind::backward) return;
  const ScheduleOptions whole = without_break(options);
  const Pass forward =
      make_pass(*find_algorithm(request.run.algorithm()), PassKind::forward, whole);
  const NumericRules rules = executor.rules();
  executor.set_rules(without_break(rules));
  executor.set_initial_values(forward.initial_values);
  Observer* const observers[] = {&executor};
  run_head(forward, {one_head, request.run.tiling, whole, {}}, 0, 0, observers);
  executor.set_rules(rules);
}

void run_rest_of_group(const SteppedRequest& request, const Pass& pass,
                       const ScheduleOptions& options, const std::atomic<bool>* cancel,
                       NumericExecutor& executor) {
  const AttentionProblem& problem = request.run.problem;
  const Index group = problem.heads_per_kv_head();
  Pass parts = pass;
  const auto summed =
      std::erase_if(parts.launches, [](const Launch& launch) { return launch.sums_group; });
  if (summed == 0) return;

  for (const Tensor tensor : {Tensor::dK_heads, Tensor::dV_heads}) {
    const Shape whole = tensor_shape(tensor, problem);
    executor.hbm(tensor).setConstant(whole.rows, whole.cols, std::nan(""));
  }
  const Index first = problem.kv_head_of(request.head) * group;
  for (Index head = first; head < first + group; ++head) {
    if (head == request.head) continue;
    const AttentionProblem one_head = one_head_of(problem, request.batch, head);
    const AttentionInputs inputs = inputs_of(request, head);
    NumericExecutor other(one_head, inputs, executor.rules());
    begin_values(request, pass, options, one_head, other);
    CancelObserver canceller(cancel);
    Observer* const observers[] = {&other, &canceller};
    run_head(parts, {problem, request.run.tiling, options, {}}, request.batch, head, observers);
    for (const Tensor tensor : {Tensor::dK_heads, Tensor::dV_heads}) {
      const Index row = (head - first) * problem.N_kv;
      executor.hbm(tensor).middleRows(row, problem.N_kv) =
          other.hbm(tensor).middleRows(row, problem.N_kv);
    }
  }
}

}  // namespace attnscope
