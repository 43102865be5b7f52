#include "kernels/measure/measure_forward.h"

#include <algorithm>

#include "kernels/measure/measure_pass.h"

namespace attnscope::kernels {

std::optional<Error> run_forward(Session& session, const ResolvedRun& run, HostForward& host) {
  const AttentionProblem& problem = run.problem;
  auto allocated = ForwardTensors::allocate(run);
  if (!allocated) return allocated.error();
  ForwardTensors& tensors = allocated.value();
  tensors.upload_inputs(host.Q, host.K, host.V);
  tensors.invalidate_outputs();
  if (auto error = tensors.pass(session, /*with_lse=*/true)({})) return error;
  session.stream().wait();

  for (Index b = 0; b < problem.batch; ++b) {
    for (Index h = 0; h < problem.heads; ++h) {
      const auto first_row = (b * problem.heads + h) * problem.N;
      const auto O = tensors.fetch(CheckedTensor::O, b, h, 0, problem.N);
      const auto LSE = tensors.fetch(CheckedTensor::LSE, b, h, 0, problem.N);
      std::copy(O.begin(), O.end(), host.O + first_row * problem.d);
      std::copy(LSE.begin(), LSE.end(), host.LSE + first_row);
    }
  }

  const auto time = quick_time(session, tensors.pass(session, /*with_lse=*/false));
  if (!time) return time.error();
  host.time = time.value();
  return std::nullopt;
}

namespace {

/// Checks rows of one pass with LSE against the reference.
Result<Accuracy> check_output(Session& session, const ResolvedRun& run, ForwardTensors& tensors,
                              int rows) {
  tensors.invalidate_outputs();
  if (auto error = tensors.pass(session, /*with_lse=*/true)({})) return *error;
  session.stream().wait();
  return check_rows(run.problem, choose_rows(run.problem, rows),
                    [&](CheckedTensor tensor, Index b, Index h, Index begin, Index count) {
                      return tensors.fetch(tensor, b, h, begin, count);
                    });
}

}  // namespace

Result<Measurement> measure_forward(Session& session, const ResolvedRun& run,
                                    const MeasuredInputs& inputs, const Protocol& protocol) {
  auto allocated = ForwardTensors::allocate(run);
  if (!allocated) return allocated.error();
  ForwardTensors& tensors = allocated.value();
  if (inputs.from_host()) tensors.upload_inputs(inputs.Q, inputs.K, inputs.V);
  if (!inputs.from_host()) tensors.generate_inputs(session, inputs.spec);

  Measurement measurement;
  if (protocol.checked_rows > 0) {
    const auto accuracy = check_output(session, run, tensors, protocol.checked_rows);
    if (!accuracy) return accuracy.error();
    measurement.accuracy = accuracy.value();
  }
  const Pass pass = tensors.pass(session, /*with_lse=*/false);
  if (auto error = time_and_count(session, pass, protocol, measurement)) return *error;
  return measurement;
}

}  // namespace attnscope::kernels
