#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "app/panels/charts/charts.h"
#include "app/report/kernel_dram.h"
#include "app/report/kernel_time.h"
#include "kernels/resolve.h"
#include "reference/parallel_for.h"
#include "sim/schedule/algorithm.h"

namespace attnscope::app {

namespace {

/// The tiles of the algorithm's kernel; flash2's tiles for a block-sparse algorithm without one.
std::optional<Tiling> tiling_at(const RunSpec& spec, const Algorithm& algorithm,
                                const GpuDescription& gpu) {
  const PassKind pass = spec.pass == PassKind::forward ? PassKind::forward : PassKind::backward;
  auto tiling = kernels::own_tiling(algorithm.name, pass, spec.problem, program_target(gpu));
  if (tiling || !algorithm.takes_block_mask) return tiling;
  return kernels::own_tiling("flash2", pass, spec.problem, program_target(gpu));
}

/// The model at one value; an error if the algorithm does not run there.
Result<SimulationReport> report_at(const SweepKey& key, double value, const Algorithm& algorithm,
                                   const GpuDescription& gpu, const std::atomic<bool>& cancel) {
  RunSpec spec = key.run;
  spec.problem = sweep_problem(key, value);
  spec.algorithm = algorithm.name;
  spec.separate_heads = algorithm.splits_keys;  // as in its kernel
  spec.allow_overflow = true;  // by the model's count, a kernel's tiles may not fit
  const auto size = static_cast<Index>(value);
  const bool is_block = key.over == ChartAxis::block_size;
  const std::optional<Tiling> tiling =
      is_block ? Tiling{size, size} : tiling_at(spec, algorithm, gpu);
  if (tiling) spec.set_tiling(*tiling);
  if (key.over == ChartAxis::density) {
    spec.block_mask = BlockPattern{.kind = BlockPattern::Kind::uniform, .density = value};
  }
  if (!algorithm.takes_block_mask) spec.block_mask.reset();
  return resolve_and_simulate(spec, gpu, &cancel);
}

}  // namespace

SweepKey charted_key(const ResolvedRun& run, ChartAxis over, std::string_view gpu) {
  SweepKey key{.run = {.problem = run.asked.problem,
                       .pass = run.pass(),
                       .block_mask = BlockPattern{},
                       .gpu = std::string(gpu)},
               .over = over};
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
                 .over = ChartAxis::tokens};
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
        const AttentionProblem& ran = seen.row.run.problem;
        if (ran == sweep_problem(key, static_cast<double>(ran.N))) return key;
      }
    }
  }
  return own;
}

AttentionProblem sweep_problem(const SweepKey& key, double value) {
  AttentionProblem problem = key.run.problem;
  const auto size = static_cast<Index>(value);
  if (key.over == ChartAxis::seq_len || key.over == ChartAxis::tokens) {
    problem.N_kv = size;
    if (key.is_prefill()) problem.N = size;
  }
  if (key.over == ChartAxis::tokens) problem.batch = std::max<Index>(kSweepTokens / size, 1);
  if (key.over == ChartAxis::head_dim) problem.d = size;
  if (key.over == ChartAxis::heads) {
    const Index queries_per_key_head = problem.heads / problem.kv_heads;
    problem.heads = size;
    problem.kv_heads = size / queries_per_key_head;
  }
  return problem;
}

namespace {

/// Powers of two times `first`, up to `last`, and `own`.
std::vector<double> doubled(Index first, Index last, Index own) {
  std::vector<double> values;
  for (Index value = first; value <= last; value *= 2) values.push_back(static_cast<double>(value));
  const auto place = std::ranges::lower_bound(values, static_cast<double>(own));
  if (place == values.end() || *place != static_cast<double>(own)) {
    values.insert(place, static_cast<double>(own));
  }
  return values;
}

}  // namespace

std::vector<double> sweep_values(const SweepKey& key) {
  constexpr Index kShortest = 256;
  constexpr Index kMostHeads = 128;
  const AttentionProblem& problem = key.run.problem;
  switch (key.over) {
    case ChartAxis::heads:
      return doubled(problem.heads / problem.kv_heads, kMostHeads, problem.heads);
    case ChartAxis::head_dim:
      return doubled(16, 256, problem.d);
    case ChartAxis::block_size:
      return {16, 32, 64, 128, 256};
    case ChartAxis::density:
      return usual_values(IoAxis::density);
    default:
      break;
  }
  const Index own = key.over == ChartAxis::tokens ? kSweepTokens : problem.N_kv;
  const auto power = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(own)));
  return doubled(std::min(kShortest, power), std::max(own, kSweepTokens), own);
}

bool is_swept(ChartQuantity quantity) {
  return quantity == ChartQuantity::bytes || quantity == ChartQuantity::time ||
         quantity == ChartQuantity::rate || quantity == ChartQuantity::memory;
}

namespace {

/// A point of the sweep, and its result as soon as it is computed.
struct AskedPoint {
  const Algorithm* algorithm = nullptr;
  double value = 0.0;
  std::optional<Result<SimulationReport>> report = {};
};

/// Half of the cores; the others remain free for drawing.
unsigned sweep_threads() {
  return std::max(1U, std::thread::hardware_concurrency() / 2);
}

Result<SimulationReport> predicted_at(const SweepKey& key, const AskedPoint& point,
                                      const GpuDescription& gpu, const std::atomic<bool>& cancel) {
  ATTNSCOPE_TRY(auto report, report_at(key, point.value, *point.algorithm, gpu, cancel));
  if (key.predicts) {
    predict_kernel_dram(report, gpu, {}, {.cancel = &cancel, .interval = DramInterval::left_out});
    predict_kernel_time(report, gpu, {}, &cancel);
  }
  return report;
}

}  // namespace

SizeSweep run_size_sweep(const SweepKey& key, const GpuDescription& gpu, WorkControl& control) {
  const auto is_for_decoding = [&](const Algorithm& algorithm) {
    return algorithm.splits_keys && key.is_prefill();
  };
  std::vector<AskedPoint> points;
  for (const Algorithm& algorithm : algorithms()) {
    if (is_for_decoding(algorithm)) continue;
    for (const double value : sweep_values(key)) points.push_back({&algorithm, value});
  }
  std::atomic<std::size_t> done = 0;
  parallel_for(points.size(), sweep_threads(), [&](std::size_t n) {
    if (control.cancelled()) return;
    points[n].report = predicted_at(key, points[n], gpu, control.cancel_flag());
    control.set_progress(static_cast<double>(++done) / static_cast<double>(points.size()));
  });
  SizeSweep sweep{.key = key, .points = {}, .left_out = {}};
  if (control.cancelled()) return sweep;
  for (AskedPoint& point : points) {
    if (point.report->ok()) {
      sweep.points.push_back({point.value, std::move(*point.report).value()});
    } else if (sweep.left_out.empty() || sweep.left_out.back().algorithm != point.algorithm->name) {
      sweep.left_out.push_back(
          {std::string(point.algorithm->name), words(point.report->error(), Reader::screen)});
    }
  }
  for (const Algorithm& algorithm : algorithms()) {
    if (!is_for_decoding(algorithm)) continue;
    sweep.left_out.push_back(
        {std::string(algorithm.name), "only for decoding, with fewer queries than keys"});
  }
  return sweep;
}

}  // namespace attnscope::app
