#include <algorithm>
#include <bit>

#include "app/panels/charts/charts.h"
#include "app/report/kernel_dram.h"
#include "app/report/kernel_time.h"
#include "kernels/resolve.h"
#include "sim/schedule/algorithm.h"

namespace attnscope::app {

namespace {

/// The model at one length; an error if the algorithm does not run there.
Result<SimulationReport> report_at(const SweepKey& key, Index length, const Algorithm& algorithm,
                                   const GpuDescription& gpu, const std::atomic<bool>& cancel) {
  RunSpec spec = key.run;
  spec.problem = sweep_problem(key, length);
  spec.algorithm = algorithm.name;
  spec.separate_heads = algorithm.splits_keys;  // as in its kernel
  spec.allow_overflow = true;                   // a kernel's tiles may not fit by the model's count
  const PassKind kernel_pass =
      spec.pass == PassKind::forward ? PassKind::forward : PassKind::backward;
  auto tiling =
      kernels::own_tiling(algorithm.name, kernel_pass, spec.problem, gpu.shared_bytes_per_block);
  if (!tiling && algorithm.takes_block_mask)
    tiling = kernels::own_tiling("flash2", kernel_pass, spec.problem, gpu.shared_bytes_per_block);
  if (tiling) spec.set_tiling(*tiling);
  if (!algorithm.takes_block_mask) spec.block_mask.reset();
  return resolve_and_simulate(spec, gpu, &cancel);
}

}  // namespace

SweepKey charted_key(const ResolvedRun& run, std::string_view gpu) {
  SweepKey key{.run = {.problem = run.asked.problem,
                       .pass = run.pass(),
                       .block_mask = BlockPattern{},
                       .gpu = std::string(gpu)}};
  AttentionProblem& problem = key.run.problem;
  problem.block_mask = nullptr;
  problem.key_lengths.clear();
  problem.cu_seqlens_q.clear();
  problem.cu_seqlens_k.clear();
  return key;
}

SweepKey recorded_key(const ResolvedRun& run, std::string_view gpu,
                      const Measurements& measurements) {
  const AttentionProblem& problem = run.asked.problem;
  const auto key_of = [&](Index d, DType dtype) {
    SweepKey key{.run = {.pass = run.pass(), .block_mask = BlockPattern{}, .gpu = std::string(gpu)},
                 .fixed_tokens = true};
    const Index heads = std::max<Index>(kSweepHidden / d, 1);
    key.run.problem = {.heads = heads,
                       .kv_heads = heads,
                       .N = kSweepTokens,
                       .N_kv = kSweepTokens,
                       .d = d,
                       .dtype = dtype,
                       .mask = problem.mask};
    return key;
  };
  const Index near = problem.d > 64 ? 128 : 64;
  const Index far = near == 64 ? 128 : 64;
  SweepKey own = key_of(problem.d, problem.dtype);
  for (const SweepKey& key : {own, key_of(near, DType::bf16), key_of(far, DType::bf16)}) {
    for (const auto* runs : {&measurements.measured, &measurements.recorded}) {
      for (const MeasuredRun& seen : *runs) {
        if (seen.row.run.pass() != run.pass()) continue;
        if (seen.row.run.problem == sweep_problem(key, seen.row.run.problem.N)) return key;
      }
    }
  }
  return own;
}

AttentionProblem sweep_problem(const SweepKey& key, Index length) {
  AttentionProblem problem = key.run.problem;
  problem.N_kv = length;
  if (key.is_prefill()) problem.N = length;
  if (key.fixed_tokens) problem.batch = std::max<Index>(kSweepTokens / length, 1);
  return problem;
}

std::vector<Index> sweep_lengths(const SweepKey& key) {
  constexpr Index kShortest = 256;
  const Index own = key.fixed_tokens ? kSweepTokens : key.run.problem.N_kv;
  const auto power = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(own)));
  std::vector<Index> lengths;
  for (Index length = std::min(kShortest, power); length <= std::max(own, kSweepTokens);
       length *= 2) {
    lengths.push_back(length);
  }
  if (power != own) lengths.insert(std::ranges::upper_bound(lengths, own), own);
  return lengths;
}

SweptQuantity swept_quantity(ChartChoice chart) {
  switch (chart) {
    case ChartChoice::time:
    case ChartChoice::recorded_time:
      return SweptQuantity::time;
    case ChartChoice::rate:
    case ChartChoice::recorded_rate:
      return SweptQuantity::rate;
    case ChartChoice::memory:
    case ChartChoice::recorded_memory:
      return SweptQuantity::memory;
    default:
      return SweptQuantity::bytes;
  }
}

SizeSweep run_size_sweep(const SweepKey& key, const GpuDescription& gpu, WorkControl& control) {
  SizeSweep sweep;
  sweep.key = key;
  const std::vector<Index> lengths = sweep_lengths(key);
  std::size_t done = 0;
  const auto add_done = [&](std::size_t points) {
    done += points;
    control.set_progress(static_cast<double>(done) /
                         static_cast<double>(algorithms().size() * lengths.size()));
  };
  for (const Algorithm& algorithm : algorithms()) {
    const std::string name(algorithm.name);
    if (algorithm.splits_keys && key.is_prefill()) {
      sweep.left_out.push_back({name, "it is for decoding, with fewer queries than keys"});
      add_done(lengths.size());
      continue;
    }
    for (const Index length : lengths) {
      Result<SimulationReport> report =
          report_at(key, length, algorithm, gpu, control.cancel_flag());
      if (report && key.predicts) {
        predict_kernel_dram(report.value(), gpu, {}, {.cancel = &control.cancel_flag()});
        predict_kernel_time(report.value(), gpu, {}, &control.cancel_flag());
      }
      if (control.cancelled()) return sweep;
      if (report) {
        sweep.points.push_back({length, std::move(report).value()});
      } else if (sweep.left_out.empty() || sweep.left_out.back().algorithm != name) {
        sweep.left_out.push_back({name, words(report.error(), Reader::screen)});
      }
      add_done(1);
    }
  }
  return sweep;
}

}  // namespace attnscope::app
