#include "app/panels/size_sweep.h"

#include <algorithm>

#include "kernels/catalog.h"
#include "kernels/compiled_tilings.h"
#include "sim/block_mask_request.h"
#include "sim/schedule/catalog.h"

namespace attnscope::app {

namespace {

std::optional<Tiling> tiling_of_kernel(std::string_view algorithm, PassKind pass,
                                       const AttentionProblem& problem) {
  for (const kernels::KernelInfo& kernel : kernels::catalog()) {
    if (kernel.algorithm != algorithm) continue;
    const std::vector<Tiling> tilings = pass == PassKind::forward
                                            ? kernels::kernel_tilings(kernel, problem)
                                            : kernels::backward_tilings(kernel, problem);
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

namespace {

Result<SimulationReport> report_at(const SweepKey& key, Index N, const Algorithm& algorithm,
                                   const GpuDescription& gpu, const std::atomic<bool>& cancel) {
  SimulationRequest request;
  request.problem = sweep_problem(key, N);
  request.algorithm = algorithm.name;
  request.pass = key.pass;
  request.tiling = tiling_of_kernel(algorithm.name, key.pass, request.problem);
  request.gpu = gpu;
  request.allow_overflow = true;  // a kernel's tiling was compiled to fit its own GPU
  if (!algorithm.takes_block_mask) return simulate(request, &cancel);
  if (!request.tiling) request.tiling = tiling_of_kernel("flash2", key.pass, request.problem);
  auto masked = with_block_mask(std::move(request), key.block_mask);
  if (!masked) return masked.error();
  return simulate(masked.value(), &cancel);
}

}  // namespace

SizeSweep run_size_sweep(const SweepKey& key, const GpuDescription& gpu, WorkControl& control) {
  SizeSweep sweep;
  sweep.key = key;
  std::size_t done = 0;
  for (const Algorithm& algorithm : algorithms()) {
    const std::string name(algorithm.name);
    for (const Index N : sweep_lengths()) {
      Result<SimulationReport> report = report_at(key, N, algorithm, gpu, control.cancel_flag());
      if (control.cancelled()) return sweep;
      if (report) {
        sweep.points.push_back({N, name, std::move(report).value()});
      } else if (sweep.left_out.empty() || sweep.left_out.back().algorithm != name) {
        sweep.left_out.push_back({name, report.error().message});
      }
      ++done;
      control.set_progress(static_cast<double>(done) /
                           static_cast<double>(algorithms().size() * sweep_lengths().size()));
    }
  }
  return sweep;
}

}  // namespace attnscope::app
