#include "app/panels/timeline/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/draw/format.h"
#include "app/report/compare.h"
#include "app/report/measured_trace.h"
#include "kernels/measure/trace/trace_steps.h"
#include "sim/device/assets.h"
#include "sim/schedule/algorithm.h"
#include "sim/snapshot/describe_op.h"
#include "sim/trace/chrome_trace.h"

namespace attnscope::app {

namespace {

using kernels::TraceStep;

constexpr std::string_view kTracesFolder = "recordings/traces";

/// The tensor whose colour a step takes: the one it writes, as for the model's operations.
Tensor tensor_of(TraceStep step) {
  constexpr std::pair<TraceStep, Tensor> kTensors[] = {
      {TraceStep::load_Qi, Tensor::Q},
      {TraceStep::load_Kj, Tensor::K},
      {TraceStep::load_Vj, Tensor::V},
      {TraceStep::load_dOi, Tensor::dO},
      {TraceStep::load_statistics, Tensor::LSE},
      {TraceStep::store_LSEi, Tensor::LSE},
      {TraceStep::store_statistics, Tensor::m},
      {TraceStep::update_max, Tensor::m},
      {TraceStep::scores, Tensor::S},
      {TraceStep::mask, Tensor::S},
      {TraceStep::exponentiate, Tensor::P},
      {TraceStep::product_dP, Tensor::dP},
      {TraceStep::softmax_gradient, Tensor::dS},
      {TraceStep::accumulate_dV, Tensor::dV},
      {TraceStep::store_dVj, Tensor::dV},
      {TraceStep::accumulate_dK, Tensor::dK},
      {TraceStep::store_dKj, Tensor::dK},
      {TraceStep::row_dot, Tensor::D},
      {TraceStep::product_dQ, Tensor::dQ},
      {TraceStep::load_dQi, Tensor::dQ},
      {TraceStep::store_dQi, Tensor::dQ},
      {TraceStep::add_dQi, Tensor::dQ},
  };
  const auto* found = std::ranges::find(kTensors, step, &std::pair<TraceStep, Tensor>::first);
  return found != std::end(kTensors) ? found->second : Tensor::O;
}

/// Keeps the blocks of one launch of a timeline, from that launch's begin on.
class BlockCollector final : public TimelineSink {
 public:
  explicit BlockCollector(std::string_view launch) : launch_(launch) {}

  void begin_launch(std::string_view name, Index blocks_per_sm) override {
    wanted_ = name == launch_;
    if (wanted_) run.slots = blocks_per_sm;
  }
  void add_op(const TimedOp& op) override {
    if (!wanted_) return;
    const Tile& tile = op.op.kind == OpKind::load ? op.op.source_tiles[0] : op.op.dest_tiles[0];
    steps_.push_back({fmt::format("{} {}", to_string(op.op.kind), tile_name(tile)), tile.tensor,
                      false, tile.i, tile.j, op.begin_ps, op.end_ps});
  }
  void add_block(const BlockId& block, const Placement& place, Picoseconds begin,
                 Picoseconds end) override {
    if (!wanted_) return;
    run.blocks.push_back({place.sm, place.slot, block.batch, block.head, block.block, begin, end,
                          std::move(steps_)});
    steps_.clear();
  }
  void end_launch(std::string_view /*name*/, Picoseconds begin, Picoseconds end) override {
    if (!wanted_) return;
    run.end_ps = end - begin;
    for (SmBlock& block : run.blocks) {
      block.begin_ps -= begin;
      block.end_ps -= begin;
      for (SmStep& step : block.steps) {
        step.begin_ps -= begin;
        step.end_ps -= begin;
      }
    }
    wanted_ = false;
  }

  SmRun run;

 private:
  std::string launch_;
  bool wanted_ = false;
  std::vector<SmStep> steps_;
};

/// How well a trace matches the key, and the difference.
struct Suitability {
  int rank = 0;  ///< 0: not at all
  RunDifference differs;
};

Suitability suitability(const KernelTrace& trace, const SmRunKey& key) {
  const RunInfo& run = *key.run;
  if (trace.run.algorithm() != run.algorithm->name || trace.run.pass() != key.pass) return {};
  SimulationReport model = run.totals;
  model.run.asked.pass = key.pass;  // of both passes, only the one shown
  RunDifference differs =
      difference(model, run.gpu, row_of(trace), {trace.header.device, CacheState::warm});
  // Every trace is of a warm cache: its label says so
  if (differs.none() || differs.in == DifferenceIn::cache) return {3, {}};
  const bool same_problem = trace.run.problem == run.problem() && trace.run.tiling == run.tiling();
  return {same_problem ? 2 : 1, std::move(differs)};
}

/// The description of a trace's run, the longest wording first.
std::vector<std::string> offers(const KernelTrace& trace) {
  const AttentionProblem& p = trace.run.problem;
  const Tiling& tiling = trace.run.tiling;
  const std::string sizes =
      p.N == p.N_kv
          ? fmt::format("N = {}, d = {}", draw::format_count(p.N), p.d)
          : fmt::format("N = {}, N_kv = {}, d = {}", p.N, draw::format_count(p.N_kv), p.d);
  const std::string on = "on " + trace.header.device.name;
  return {fmt::format("{}, B {}, H {}, {}, mask {}, tiles {} × {}, {}", sizes, p.batch, p.heads,
                      to_string(p.dtype), to_string(p.mask), tiling.Br, tiling.Bc, on),
          fmt::format("{}, {}", sizes, on), sizes};
}

}  // namespace

SmRun recorded_run(const KernelTrace& trace) {
  SmRun run;
  run.end_ps = trace.end_ps();
  const std::vector<Index> slots = block_slots(trace);
  for (std::size_t n = 0; n < trace.blocks.size(); ++n) {
    const TracedBlock& from = trace.blocks[n];
    SmBlock block{from.sm,    slots[n],      from.batch,  from.head,
                  from.block, from.begin_ps, from.end_ps, {}};
    for (const TracedStep& step : from.steps) {
      block.steps.push_back({std::string(kernels::step_name(step.step)), tensor_of(step.step),
                             step.step == TraceStep::wait, step.i, step.j, step.begin_ps,
                             step.end_ps});
    }
    run.slots = std::max(run.slots, slots[n] + 1);
    run.blocks.push_back(std::move(block));
  }
  return run;
}

Result<SmRun> modelled_run(const KernelTrace& trace, const GpuDescription& gpu) {
  ATTNSCOPE_TRY(const auto report, model_kernel_run(trace.run, gpu));
  if (report.tile_ops > kMaxTraceOps) {
    return unavailable("the model of this run has too many operations to lay out");
  }
  const ResolvedRun& run = report.run;
  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_pass(*find_algorithm(run.algorithm()), run.pass(), options);
  BlockCollector collector(trace.launch);
  run_timeline(pass, {run.problem, run.tiling, options, {}}, report, gpu, collector);
  return std::move(collector.run);
}

/// Lays out the trace and the model of the same run on the same GPU.
static Result<SmRunPair> lay_out(KernelTrace trace, std::string name) {
  const DeviceInfo& device = trace.header.device;
  const auto gpu_name = find_gpu_of(device);
  if (!gpu_name) {
    return unavailable("no shipped description fits the trace's GPU '{}'", device.name);
  }
  ATTNSCOPE_TRY(const auto gpu, load_gpu(*gpu_name));
  ATTNSCOPE_TRY(auto modelled, modelled_run(trace, gpu));
  SmRunPair pair;
  pair.name = std::move(name);
  pair.gpu = gpu.display_name;
  pair.modelled = std::move(modelled);
  pair.recorded = recorded_run(trace);
  std::set<Index> sms;
  for (const SmRun* run : {&pair.modelled, &pair.recorded}) {
    for (const SmBlock& block : run->blocks) sms.insert(block.sm);
  }
  pair.sms.assign(sms.begin(), sms.end());
  for (TracedBlock& block : trace.blocks) block.steps.clear();
  pair.trace = std::move(trace);
  return pair;
}

Result<FoundSmRun> find_sm_run(const SmRunKey& key) {
  // Of equally suitable ones, the one with the most thread blocks
  KernelTrace best;
  std::string best_name;
  Suitability suits;
  std::string unreadable;
  for (const std::string& name : list_assets(kTracesFolder)) {
    const auto path = find_asset(kTracesFolder, name);
    auto trace = path ? read_kernel_trace(path.value()) : Result<KernelTrace>(path.error());
    if (!trace) {
      unreadable = words(trace.error(), Reader::screen);
      continue;
    }
    Suitability how_well = suitability(trace.value(), key);
    const bool larger = trace.value().blocks.size() > best.blocks.size();
    if (how_well.rank == 0 || how_well.rank < suits.rank) continue;
    if (how_well.rank == suits.rank && !larger) continue;
    suits = std::move(how_well);
    best = std::move(trace).value();
    best_name = name;
  }
  if (suits.rank == 0) {
    return unavailable(
        "no recorded trace of {} {}{}{}", key.run->algorithm->name, to_string(key.pass),
        unreadable.empty() ? "; attnscope-cli trace --measured --save makes one on a GPU" : ": ",
        unreadable);
  }

  // Show another run only on request
  FoundSmRun found;
  if (!suits.differs.none()) {
    found.why_none =
        suits.differs.in == DifferenceIn::problem
            ? "No trace of this problem was recorded."
            : fmt::format("No trace of this run was recorded: {}.", suits.differs.words);
    found.offers = offers(best);
    if (!key.other) return found;
  }
  ATTNSCOPE_TRY(found.pair, lay_out(std::move(best), std::move(best_name)));
  found.pair->same_run = suits.differs.none();
  return found;
}

const TracedRow* find_row(const KernelTrace& trace, Index batch, Index head, Index row) {
  const auto found = std::ranges::find_if(trace.rows, [&](const TracedRow& traced) {
    return traced.batch == batch && traced.head == head && traced.row == row;
  });
  return found == trace.rows.end() ? nullptr : &*found;
}

}  // namespace attnscope::app
