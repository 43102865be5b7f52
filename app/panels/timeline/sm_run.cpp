#include "app/panels/timeline/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "app/draw/format.h"
#include "app/report/compare.h"
#include "app/report/kernel_dram.h"
#include "app/report/kernel_time.h"
#include "app/report/measured_trace.h"
#include "kernels/catalog.h"
#include "kernels/measure/trace/trace_steps.h"
#include "sim/schedule/algorithm.h"
#include "sim/snapshot/describe_op.h"
#include "sim/trace/chrome_trace.h"

namespace attnscope::app {

namespace {

using kernels::TraceStep;

/// The tensor whose colour a step has: the tensor that it writes, as for the model's operations.
struct StepTensor {
  TraceStep step;
  Tensor tensor;
};
constexpr auto kStepTensors = std::to_array<StepTensor>({
    {TraceStep::wait, Tensor::O},  // no tensor: drawn without a colour
    {TraceStep::load_Qi, Tensor::Q},        {TraceStep::load_Kj, Tensor::K},
    {TraceStep::load_Vj, Tensor::V},        {TraceStep::load_Oi, Tensor::O},
    {TraceStep::load_dOi, Tensor::dO},      {TraceStep::load_statistics, Tensor::LSE},
    {TraceStep::scores, Tensor::S},         {TraceStep::mask, Tensor::S},
    {TraceStep::update_max, Tensor::m},     {TraceStep::rescale, Tensor::O},
    {TraceStep::exponentiate, Tensor::P},   {TraceStep::accumulate, Tensor::O},
    {TraceStep::normalize, Tensor::O},      {TraceStep::store_Oi, Tensor::O},
    {TraceStep::store_LSEi, Tensor::LSE},   {TraceStep::store_statistics, Tensor::m},
    {TraceStep::product_dP, Tensor::dP},    {TraceStep::softmax_gradient, Tensor::dS},
    {TraceStep::accumulate_dV, Tensor::dV}, {TraceStep::accumulate_dK, Tensor::dK},
    {TraceStep::row_dot, Tensor::D},        {TraceStep::product_dQ, Tensor::dQ},
    {TraceStep::load_dQi, Tensor::dQ},      {TraceStep::store_dQi, Tensor::dQ},
    {TraceStep::add_dQi, Tensor::dQ},       {TraceStep::store_dKj, Tensor::dK},
    {TraceStep::store_dVj, Tensor::dV},
});

constexpr Tensor tensor_of(TraceStep step) {
  return kStepTensors[static_cast<std::size_t>(step)].tensor;
}
static_assert(
    [] {
      for (std::size_t n = 0; n < kStepTensors.size(); ++n) {
        if (kStepTensors[n].step != static_cast<TraceStep>(n)) return false;
      }
      return kStepTensors.size() == kernels::kTraceStepCount;
    }(),
    "a row for each step, in the order of the enumeration");

/// Keeps the blocks of one launch of a timeline, from that launch's beginning on.
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

std::tuple<Index, Index, Index> id_of(const SmBlock& block) {
  return {block.batch, block.head, block.block};
}

/// How well a trace matches the key, and how they differ.
struct Suitability {
  int rank = 0;  ///< the higher, the better; 0: not at all
  RunDifference differs;
};

Suitability suitability(const KernelTrace& trace, const SmRunKey& key) {
  const RunInfo& run = *key.run;
  if (trace.run.algorithm() != run.algorithm->name || trace.run.pass() != key.pass) return {};
  SimulationReport model = run.totals;
  model.run.asked.pass = key.pass;  // of both passes, only the one shown
  RunDifference differs =
      difference(model, run.gpu, row_of(trace), {trace.header.device, CacheState::warm});
  // Every trace is of a warm cache, as its label says
  if (differs.none() || differs.in == DifferenceIn::cache) return {3, {}};
  const bool same_problem = trace.run.problem == run.problem() && trace.run.tiling == run.tiling();
  return {same_problem ? 2 : 1, std::move(differs)};
}

}  // namespace

void SmRun::sort() {
  std::ranges::sort(blocks, {}, [](const SmBlock& block) {
    return std::tuple(block.sm, block.begin_ps, block.slot);
  });
  by_id.resize(blocks.size());
  std::iota(by_id.begin(), by_id.end(), 0U);
  std::ranges::sort(by_id, {}, [this](std::uint32_t index) { return id_of(blocks[index]); });
}

std::span<const SmBlock> SmRun::of_sm(Index sm) const {
  const auto begin = std::ranges::lower_bound(blocks, sm, {}, &SmBlock::sm);
  const auto end = std::ranges::upper_bound(blocks, sm, {}, &SmBlock::sm);
  return {begin, end};
}

Index SmRun::busy_sms() const {
  Index count = 0;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    if (k == 0 || blocks[k].sm != blocks[k - 1].sm) ++count;
  }
  return count;
}

const SmBlock* SmRun::find(const BlockId& id) const {
  const auto at = [this](std::uint32_t index) { return id_of(blocks[index]); };
  const auto found =
      std::ranges::lower_bound(by_id, std::tuple(id.batch, id.head, id.block), {}, at);
  return found != by_id.end() && blocks[*found].is(id) ? &blocks[*found] : nullptr;
}

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
  run.sort();
  return run;
}

namespace {

SmRun laid_out(const PredictedSchedule& schedule) {
  constexpr double kPsOfSecond = 1e12;
  const auto ps = [](double seconds) { return std::llround(seconds * kPsOfSecond); };
  SmRun run{.end_ps = ps(schedule.seconds), .slots = schedule.slots};
  run.blocks.reserve(schedule.blocks.size());
  for (const PredictedBlock& block : schedule.blocks) {
    run.blocks.push_back({.sm = block.sm,
                          .slot = block.slot,
                          .batch = block.id.batch,
                          .head = block.id.head,
                          .block = block.id.block,
                          .begin_ps = ps(block.begin_s),
                          .end_ps = ps(block.end_s),
                          .first_step_ps = ps(block.first_step_s),
                          .last_step_end_ps = ps(block.last_step_end_s)});
  }
  run.sort();
  return run;
}

}  // namespace

Result<SmRun> predicted_run(const SimulationReport& report, const GpuDescription& gpu,
                            std::string& launch, const std::atomic<bool>* cancel) {
  if (!launch.empty()) {
    ATTNSCOPE_TRY(const auto schedule, predict_kernel_schedule(report, gpu, launch, cancel));
    return laid_out(schedule);
  }
  std::optional<Error> why_none;
  for (const LaunchReport& each : report.launches) {
    const auto schedule = predict_kernel_schedule(report, gpu, each.name, cancel);
    if (schedule) {
      launch = each.name;
      return laid_out(schedule.value());
    }
    why_none = schedule.error();
  }
  return *why_none;
}

Result<SmRun> lower_bound_run(const KernelTrace& trace, const GpuDescription& gpu) {
  ATTNSCOPE_TRY(const auto report, model_recorded_run(row_of(trace), gpu));
  if (report.tile_ops > kMaxTraceOps) {
    return unavailable("the model of this run has too many operations to lay out");
  }
  const ResolvedRun& run = report.run;
  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_pass(*find_algorithm(run.algorithm()), run.pass(), options);
  BlockCollector collector(trace.launch);
  run_timeline(pass, {run.problem, run.tiling, options, {}}, report, gpu, collector);
  collector.run.sort();
  return std::move(collector.run);
}

namespace {

/// The number of SMs of the GPU, or of the trace's device if it has more.
Index count_sms(const SmRunPair& pair, const GpuDescription& gpu) {
  Index count = gpu.sm_count;
  for (const SmRun* run : {&pair.upper, &pair.recorded}) {
    if (!run->blocks.empty()) count = std::max(count, run->blocks.back().sm + 1);
  }
  return count;
}

/// Sets the upper run to the prediction; returns why there is none.
std::optional<Error> set_predicted(SmRunPair& pair, SimulationReport report,
                                   const GpuDescription& gpu, const std::atomic<bool>* cancel) {
  predict_kernel_dram(
      report, gpu, {},
      {.most_transfers = kQuickTransfers, .cancel = cancel, .interval = DramInterval::left_out});
  if (!report.dram) return unavailable("too many tiles to follow through L2 while you wait");
  predict_kernel_time(report, gpu, {}, cancel);
  auto predicted = predicted_run(report, gpu, pair.launch, cancel);
  if (!predicted) return predicted.error();
  const bool calibrated = report.time && report.time->uncalibrated.empty();
  pair.kind = calibrated ? UpperRun::calibrated : UpperRun::estimated;
  pair.gpu = gpu.display_name;
  pair.upper = std::move(predicted).value();
  return std::nullopt;
}

/// The prediction of the run on the screen, without a trace.
Result<SmRunPair> predicted_alone(const SmRunKey& key, const std::atomic<bool>* cancel) {
  const RunInfo& run = *key.run;
  SimulationReport report = run.totals;
  if (run.resolved().pass() != key.pass) {
    ResolvedRun of_pass = run.resolved();  // of both passes, only the one shown
    of_pass.asked.pass = key.pass;
    ATTNSCOPE_TRY(report, simulate(of_pass, run.gpu, cancel));
  }
  SmRunPair pair{.same_run = true};
  if (auto why_none = set_predicted(pair, std::move(report), run.gpu, cancel)) return *why_none;
  pair.sm_count = count_sms(pair, run.gpu);
  return pair;
}

}  // namespace

Result<SmRunPair> lay_out(const KernelTrace& trace, const std::string& name,
                          const std::atomic<bool>* cancel) {
  const DeviceInfo& device = trace.header.device;
  const auto gpu_name = find_gpu_of(device);
  if (!gpu_name) {
    return unavailable("no shipped description of the trace's GPU '{}'", device.name);
  }
  ATTNSCOPE_TRY(const auto gpu, load_gpu(*gpu_name));
  const RecordingRow row = row_of(trace);
  ATTNSCOPE_TRY(const auto report, model_recorded_run(row, gpu));
  SmRunPair pair{.trace = trace, .name = name, .launch = trace.launch, .gpu = gpu.display_name};
  const DifferenceIn in = difference(report, gpu, row, {device, CacheState::warm}).in;
  const bool is_modelled = in == DifferenceIn::nothing || in == DifferenceIn::cache;
  if (!is_modelled || set_predicted(pair, report, gpu, cancel)) {
    ATTNSCOPE_TRY(pair.upper, lower_bound_run(trace, gpu));
  }
  pair.recorded = recorded_run(trace);
  pair.sm_count = count_sms(pair, gpu);
  for (TracedBlock& block : pair.trace->blocks) block.steps.clear();
  return pair;
}

std::vector<std::string> offers(const KernelTrace& trace) {
  const AttentionProblem& p = trace.run.problem;
  const std::string sizes =
      p.N == p.N_kv
          ? fmt::format("N = {}, d = {}", draw::format_count(p.N), p.d)
          : fmt::format("N = {}, N_kv = {}, d = {}", p.N, draw::format_count(p.N_kv), p.d);
  const std::string on = "on " + trace.header.device.name;
  const std::string extras = extras_text(p);
  return {
      fmt::format("{}, B {}, H {}, {}, mask {}{}{}{}, tiles {} × {}, {}", sizes, p.batch, p.heads,
                  to_string(p.dtype), to_string(p.mask), extras.empty() ? "" : ", ", extras,
                  choices_text(trace.run.asked), trace.run.tiling.Br, trace.run.tiling.Bc, on),
      fmt::format("{}, {}", sizes, on), sizes};
}

Result<FoundSmRun> find_sm_run(const SmRunKey& key, const std::atomic<bool>* cancel) {
  // Among equally suitable traces, the one with the most thread blocks
  const ShippedTrace* best = nullptr;
  Suitability suits;
  std::string unreadable;
  for (const ShippedTrace& shipped : shipped_traces()) {
    if (!shipped.trace) {
      unreadable = words(shipped.trace.error(), Reader::screen);
      continue;
    }
    const KernelTrace& trace = shipped.trace.value();
    Suitability how_well = suitability(trace, key);
    if (how_well.rank == 0 || how_well.rank < suits.rank) continue;
    const bool larger = !best || trace.blocks.size() > best->trace.value().blocks.size();
    if (how_well.rank == suits.rank && !larger) continue;
    suits = std::move(how_well);
    best = &shipped;
  }
  if (suits.rank > 0 && (suits.differs.none() || key.other)) {
    FoundSmRun found;
    ATTNSCOPE_TRY(found.pair, lay_out(best->trace.value(), best->name, cancel));
    found.pair->same_run = suits.differs.none();
    return found;
  }

  // The prediction alone; another run's trace only on request
  FoundSmRun found;
  auto predicted = predicted_alone(key, cancel);
  if (predicted) found.pair = std::move(predicted).value();
  if (suits.rank > 0) {
    found.why_none =
        suits.differs.in == DifferenceIn::problem
            ? "No trace of this problem was recorded."
            : fmt::format("No trace of this run was recorded: {}.", suits.differs.words);
    found.offers = offers(best->trace.value());
    return found;
  }
  if (!found.pair) {
    const kernels::KernelInfo* const kernel = kernels::find_kernel(key.run->algorithm->name);
    const bool has_pass =
        kernel != nullptr && (key.pass == PassKind::forward || kernel->has_backward());
    const bool can_be_traced = has_pass && !kernel->pass(key.pass).launch.empty();
    std::string_view more;
    if (!unreadable.empty()) {
      more = "; a trace could not be read: ";
    } else if (can_be_traced) {
      more =
          "; to add one, save it in assets/recordings/traces with attnscope-cli trace --measured "
          "--save, and restart the app";
    }
    return unavailable("no recorded trace of {} {}, and no prediction: {}{}{}",
                       key.run->algorithm->name, to_string(key.pass), predicted.error().message,
                       more, unreadable);
  }
  found.why_none =
      fmt::format("No trace of {} {} was recorded.", key.run->algorithm->name, to_string(key.pass));
  return found;
}

const TracedRow* find_row(const KernelTrace& trace, Index batch, Index head, Index row) {
  const auto found = std::ranges::find_if(trace.rows, [&](const TracedRow& traced) {
    return traced.batch == batch && traced.head == head && traced.row == row;
  });
  return found == trace.rows.end() ? nullptr : &*found;
}

}  // namespace attnscope::app
