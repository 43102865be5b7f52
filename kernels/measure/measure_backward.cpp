#include "kernels/measure/measure_backward.h"

#include <algorithm>

#include "kernels/measure/check/gradient_check.h"
#include "kernels/measure/measure_pass.h"

namespace attnscope::kernels {

namespace {

/// Runs forward and backward once, on outputs set to NaN.
std::optional<Error> run_once(Session& session, BackwardTensors& tensors) {
  tensors.invalidate_outputs();
  if (auto error = tensors.run_forward(session)) return error;
  if (auto error = tensors.pass(session)({})) return error;
  session.stream().wait();
  return std::nullopt;
}

}  // namespace

std::optional<Error> run_backward(Session& session, const ResolvedRun& run, HostBackward& host) {
  auto allocated = BackwardTensors::allocate(run);
  if (!allocated) return allocated.error();
  BackwardTensors& tensors = allocated.value();
  tensors.upload_inputs(host.Q, host.K, host.V, host.dO);
  if (auto error = run_once(session, tensors)) return error;

  const AttentionProblem& p = run.problem;
  const auto download = [&](CheckedTensor tensor, Index heads, Index rows, double* to) {
    for (Index head = 0; head < p.batch * heads; ++head) {
      const auto values = tensors.fetch(tensor, head / heads, head % heads, 0, rows);
      std::copy(values.begin(), values.end(), to + head * rows * p.d);
    }
  };
  download(CheckedTensor::dQ, p.heads, p.N, host.dQ);
  download(CheckedTensor::dK, p.kv_heads, p.N_kv, host.dK);
  download(CheckedTensor::dV, p.kv_heads, p.N_kv, host.dV);

  const auto time = quick_time(session, tensors.pass(session));
  if (!time) return time.error();
  host.time = time.value();
  return std::nullopt;
}

Result<Measurement> measure_backward(Session& session, const ResolvedRun& run,
                                     const MeasuredInputs& inputs, const Protocol& protocol) {
  auto allocated = BackwardTensors::allocate(run);
  if (!allocated) return allocated.error();
  BackwardTensors& tensors = allocated.value();
  if (inputs.from_host()) tensors.upload_inputs(inputs.Q, inputs.K, inputs.V, inputs.dO);
  if (!inputs.from_host()) tensors.generate_inputs(session, inputs.spec);
  if (auto error = run_once(session, tensors)) return *error;

  Measurement measurement;
  if (protocol.checked_rows > 0) {
    auto accuracy =
        check_gradients(run.problem, protocol.checked_rows,
                        [&](CheckedTensor tensor, Index b, Index h, Index begin, Index count) {
                          return tensors.fetch(tensor, b, h, begin, count);
                        });
    if (!accuracy) return accuracy.error();
    measurement.gradients = std::move(accuracy).value();
  }
  if (auto error = time_and_count(session, tensors.pass(session), protocol, measurement)) {
    return *error;
  }
  return measurement;
}

}  // namespace attnscope::kernels
