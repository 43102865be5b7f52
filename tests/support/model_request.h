/// A spec and the GPU on which it is modelled, in one value: the inputs that most tests of the
/// model vary.
#pragma once

#include "sim/resolve.h"
#include "sim/simulation.h"

namespace attnscope::test {

struct ModelRequest : RunSpec {
  GpuDescription gpu_description;
};

/// Resolves the request. Query heads have separate tiles in split_kv: tests of shared tiles resolve
/// the spec themselves.
inline Result<ResolvedRun> resolve(const ModelRequest& request) {
  RunSpec spec = request;
  spec.separate_heads = spec.algorithm == "split_kv";
  return attnscope::resolve(spec, request.gpu_description);
}

inline Result<SimulationReport> simulate(const ModelRequest& request,
                                         const std::atomic<bool>* cancel = nullptr) {
  const auto run = resolve(request);
  return run ? simulate(run.value(), request.gpu_description, cancel) : run.error();
}

inline Result<NumericResult> simulate_numbers(const ModelRequest& request,
                                              const AttentionInputs& inputs,
                                              const NumericOptions& options = {}) {
  const auto run = resolve(request);
  if (!run) return run.error();
  return attnscope::simulate_numbers(run.value(), request.gpu_description, inputs, options);
}

/// The request with values rounded where a kernel rounds them.
inline ModelRequest with_rounding(ModelRequest request) {
  request.round_to_storage = true;
  return request;
}

}  // namespace attnscope::test
