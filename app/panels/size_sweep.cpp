#include "app/panels/size_sweep.h"

#include <algorithm>
#include <chrono>

#include "kernels/catalog.h"
#include "sim/schedule/catalog.h"

namespace attnscope::app {

namespace {

std::optional<Tiling> tiling_of_kernel(std::string_view algorithm, const SweepKey& key) {
  for (const kernels::KernelInfo& kernel : kernels::catalog()) {
    if (kernel.algorithm != algorithm) continue;
    const std::vector<Tiling> tilings = key.pass == PassKind::forward
                                            ? kernels::kernel_tilings(kernel, key.dtype, key.d)
                                            : kernels::backward_tilings(kernel, key.dtype, key.d);
    if (!tilings.empty()) return tilings.front();
  }
  return std::nullopt;
}

}  // namespace

AttentionProblem sweep_problem(const SweepKey& key, Index N) {
  AttentionProblem problem;
  problem.d = key.d;
  problem.dtype = key.dtype;
  problem.mask = key.mask;
  problem.N = problem.N_kv = N;
  problem.heads = problem.kv_heads = std::max<Index>(kSweepHidden / key.d, 1);
  problem.batch = std::max<Index>(kSweepTokens / N, 1);
  return problem;
}

std::vector<Index> sweep_lengths() {
  return {256, 512, 1024, 2048, 4096, 8192, 16384};
}

SizeSweep run_size_sweep(const SweepKey& key, const GpuDescription& gpu,
                         const std::atomic<bool>& cancelled) {
  SizeSweep sweep;
  sweep.key = key;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.takes_block_mask || algorithm.splits_keys) continue;  // not in the charts
    for (const Index N : sweep_lengths()) {
      if (cancelled.load()) return sweep;
      SimulationRequest request;
      request.problem = sweep_problem(key, N);
      request.algorithm = algorithm.name;
      request.pass = key.pass;
      request.tiling = tiling_of_kernel(algorithm.name, key);
      request.gpu = gpu;
      request.allow_overflow = true;  // a kernel's tiling was compiled to fit its own GPU
      Result<SimulationReport> report = simulate(request);
      if (!report) continue;
      sweep.points.push_back({N, std::string(algorithm.name), std::move(report).value()});
    }
  }
  return sweep;
}

BackgroundSweep::~BackgroundSweep() {
  if (cancelled_) cancelled_->store(true);
}

void BackgroundSweep::want(const SweepKey& key, const GpuDescription& gpu) {
  if (wanted_ == key) return;

  // One at a time: what is under way is told to stop, and the new one begins when it has
  if (running_.valid()) {
    cancelled_->store(true);
    if (running_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    running_.get();
  }
  wanted_ = key;
  cancelled_ = std::make_shared<std::atomic<bool>>(false);
  running_ = std::async(std::launch::async, [key, gpu, cancelled = cancelled_] {
    return run_size_sweep(key, gpu, *cancelled);
  });
}

const SizeSweep* BackgroundSweep::latest() {
  const bool ready =
      running_.valid() && running_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  if (ready) {
    SizeSweep sweep = running_.get();
    if (!cancelled_->load()) latest_ = std::move(sweep);
  }
  return latest_ ? &*latest_ : nullptr;
}

}  // namespace attnscope::app
