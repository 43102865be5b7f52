#include "tests/app/panels/sample_snapshot.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sim/block_mask_request.h"

namespace attnscope::test {

std::unique_ptr<SteppedRun> sample_run(const SampleRequest& request) {
  Result<GpuDescription> gpu = load_gpu("h200");
  if (!gpu) throw std::runtime_error(gpu.error().message);
  SteppedRequest stepped;
  stepped.simulation.problem = request.problem;
  stepped.simulation.algorithm = request.algorithm;
  stepped.simulation.pass = request.pass;
  stepped.simulation.tiling = request.tiling;
  stepped.simulation.carry = request.carry;
  stepped.simulation.variant = request.variant;
  stepped.simulation.gpu = gpu.value();
  stepped.simulation.allow_overflow = request.allow_overflow;
  if (request.block_mask) {
    Result<SimulationRequest> masked = with_block_mask(stepped.simulation, *request.block_mask);
    if (!masked) throw std::runtime_error(masked.error().message);
    stepped.simulation = std::move(masked).value();
  }
  Result<std::unique_ptr<SteppedRun>> run = SteppedRun::create(stepped);
  if (!run) throw std::runtime_error(run.error().message);
  return std::move(run).value();
}

Snapshot sample_snapshot(SteppedRun& run, double fraction, Index query) {
  const Index steps = run.info()->step_count;
  const Index step = std::llround(fraction * static_cast<double>(steps)) - 1;
  return run.at(step, std::min(query, run.info()->problem.N - 1), 3);
}

SampleRequest huge_request() {
  SampleRequest request;
  request.problem = {.N = 16384, .N_kv = 16384, .d = 64, .dtype = DType::bf16, .mask = {}};
  request.tiling = {64, 64};
  return request;
}

}  // namespace attnscope::test
