#include "kernels/measure/measure_forward.h"

#include <algorithm>

#include "kernels/measure/counter_totals.h"
#include "kernels/measure/timing.h"

namespace attnscope::kernels {

std::optional<Error> run_forward(Session& session, const ForwardRequest& request,
                                 HostForward& host) {
  const AttentionProblem& problem = request.problem;
  auto allocated = ForwardTensors::allocate(request);
  if (!allocated) return allocated.error();
  ForwardTensors& tensors = allocated.value();
  tensors.upload_inputs(host.Q, host.K, host.V);
  tensors.poison_outputs();
  if (auto error = tensors.pass(session.stream(), /*with_lse=*/true)({})) return error;
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

  constexpr Protocol kQuick{
      .warm_ups = 1, .repeats = 5, .cache = CacheState::warm, .time_budget_s = 0.5};
  const auto time = time_pass(session.stream(), session.sweep(),
                              tensors.pass(session.stream(), /*with_lse=*/false), kQuick);
  if (!time) return time.error();
  host.time_s = time.value().median_s;
  return std::nullopt;
}

namespace {

/// Checks rows of one pass with LSE against the reference.
Result<Accuracy> check_output(Session& session, const ForwardRequest& request,
                              ForwardTensors& tensors, int rows) {
  tensors.poison_outputs();
  if (auto error = tensors.pass(session.stream(), /*with_lse=*/true)({})) return *error;
  session.stream().wait();
  return check_rows(request.problem, choose_rows(request.problem, rows),
                    [&](CheckedTensor tensor, Index b, Index h, Index begin, Index count) {
                      return tensors.fetch(tensor, b, h, begin, count);
                    });
}

/// Adds what the profiler says, or why it says nothing.
void add_counters(Session& session, const Pass& pass, CacheState cache, Measurement& measurement) {
  constexpr const char* kAll = "*";
  const auto& profiler = session.profiler();
  if (!profiler) {
    measurement.unavailable_counters[kAll] = profiler.error().message;
    return;
  }
  auto launches = profiler.value()->collect(session.stream(), session.sweep(), pass, cache);
  if (!launches) {
    measurement.unavailable_counters[kAll] = launches.error().message;
    return;
  }
  for (const auto& [name, reason] : profiler.value()->plan().missing) {
    measurement.unavailable_counters[name] = reason;
  }
  measurement.launches = std::move(launches).value();
  measurement.counters = total_of(measurement.launches);
}

}  // namespace

Result<Measurement> measure_forward(Session& session, const ForwardRequest& request,
                                    const InputSpec& spec, const Protocol& protocol) {
  auto allocated = ForwardTensors::allocate(request);
  if (!allocated) return allocated.error();
  ForwardTensors& tensors = allocated.value();
  tensors.generate_inputs(session.stream(), spec);

  Measurement measurement;
  if (protocol.checked_rows > 0) {
    const auto accuracy = check_output(session, request, tensors, protocol.checked_rows);
    if (!accuracy) return accuracy.error();
    measurement.accuracy = accuracy.value();
  }
  const Pass pass = tensors.pass(session.stream(), /*with_lse=*/false);
  const auto time = time_pass(session.stream(), session.sweep(), pass, protocol);
  if (!time) return time.error();
  measurement.time = time.value();
  if (protocol.counters) add_counters(session, pass, protocol.cache, measurement);
  return measurement;
}

}  // namespace attnscope::kernels
