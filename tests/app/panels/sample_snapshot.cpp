#include "tests/app/panels/sample_snapshot.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sim/resolve.h"

namespace attnscope::test {

std::unique_ptr<SteppedRun> sample_run(const SampleRequest& request) {
  Result<GpuDescription> gpu = load_gpu("h200");
  if (!gpu) throw std::runtime_error(gpu.error().message);
  const auto resolved = resolve(request, gpu.value());
  if (!resolved) throw std::runtime_error(resolved.error().message);
  auto run = SteppedRun::create({.run = resolved.value(), .gpu = gpu.value()});
  if (!run) throw std::runtime_error(run.error().message);
  return std::move(run).value();
}

Snapshot sample_snapshot(SteppedRun& run, double fraction, Index query) {
  const Index steps = run.info()->step_count;
  const Index step = std::llround(fraction * static_cast<double>(steps)) - 1;
  return run.at(step, std::min(query, run.info()->problem().N - 1), 3);
}

SampleRequest huge_request() {
  SampleRequest request;
  request.problem = {.N = 16384, .N_kv = 16384, .d = 64, .dtype = DType::bf16, .mask = {}};
  request.set_tiling({64, 64});
  return request;
}

SampleRequest agents_request(PassKind pass) {
  SampleRequest request;
  request.pass = pass;
  request.set_tiling(pass == PassKind::forward ? Tiling{32, 16} : Tiling{16, 32});
  request.variant = {.stages = 2, .consumers = 2};
  return request;
}

}  // namespace attnscope::test
