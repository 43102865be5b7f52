#include "sim/trace/chrome_trace.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/observers/flop_counter.h"
#include "sim/observers/progress_observer.h"
#include "sim/observers/traffic_counter.h"
#include "sim/residency.h"
#include "sim/snapshot/describe_op.h"

namespace attnscope {

namespace {

constexpr Index kTotalsProcess = ChromeEvents::kTotalsProcess;
constexpr int kBlockTrack = 0;  // of a placement; the units of each agent follow
constexpr int kAgents = static_cast<int>(Agent::consumer) + static_cast<int>(kMaxConsumers);
constexpr int kTracksPerSlot = 1 + kAgents * static_cast<int>(kGpuUnits);

int track(const Placement& place, int which) {
  return static_cast<int>(place.slot) * kTracksPerSlot + which + 1;
}

/// The track of an agent's operations on a unit.
int track(const Placement& place, Agent agent, GpuUnit unit) {
  return track(place,
               1 + static_cast<int>(agent) * static_cast<int>(kGpuUnits) + static_cast<int>(unit));
}

}  // namespace

ChromeTraceWriter::ChromeTraceWriter(const Pass& pass, const std::string& description,
                                     TextSink sink)
    : pass_(pass),
      events_({.run = description,
               .kind = "modelled",
               .clock = "lower bound, not a prediction: an operation takes as long as its slowest "
                        "unit needs at the datasheet's peak rate; each SM and each "
                        "resident thread block has an equal share of the rates, and loads and "
                        "stores share the launch's compulsory DRAM bytes"},
              std::move(sink)) {
  events_.name_process(kTotalsProcess, "launches and totals (modelled, lower bound)");
  events_.name_track(kTotalsProcess, ChromeEvents::kLaunchTrack, "launches");
}

void ChromeTraceWriter::name_track(const Placement& place, int tid, std::string_view what) {
  events_.name_sm_track(place.sm, tid, fmt::format("block slot {}: {}", place.slot, what));
}

void ChromeTraceWriter::begin_launch(std::string_view /*name*/, Index /*blocks_per_sm*/) {
  lines_.clear();
  for (const PseudoLine& line : pass_.launches.at(next_launch_).pseudo_code) {
    lines_.push_back(json_text(line.text));
  }
  ++next_launch_;
}

void ChromeTraceWriter::add_op(const TimedOp& timed) {
  count(timed);
  const TileOp& op = timed.op;
  const int tid = track(timed.place, op.agent, timed.unit);
  const std::string who = op.agent == Agent::block ? "" : agent_name(op.agent) + ", ";
  name_track(timed.place, tid, who + std::string(words_of(timed.unit)));

  const Tile& tile = op.kind == OpKind::load ? op.source_tiles[0] : op.dest_tiles[0];
  const Flops flops = flops_of(op, timed.grid);
  const std::string cost = op.moves_bytes()
                               ? fmt::format("\"bytes\":{}", moved_bytes(op, timed.grid))
                               : fmt::format("\"flops\":{}", flops.matmul + flops.non_matmul);
  events_.write(fmt::format(R"({{"ph":"X","name":"{} {}","cat":"{}","pid":{},"tid":{},{},)"
                            R"("args":{{{},"line":{},"batch":{},"head":{},"block":{}}}}})",
                            to_string(op.kind), tile_name(tile), words_of(timed.unit),
                            timed.place.sm + 1, tid, slice_times(timed.begin_ps, timed.end_ps),
                            cost, lines_.at(op.line), timed.block.batch, timed.block.head,
                            timed.block.block));
}

void ChromeTraceWriter::add_block(const BlockId& block, const Placement& place, Picoseconds begin,
                                  Picoseconds end) {
  const int tid = track(place, kBlockTrack);
  name_track(place, tid, "thread block");
  events_.write(fmt::format(
      R"({{"ph":"X","name":"block {}","cat":"thread block","pid":{},"tid":{},{},)"
      R"("args":{{"batch":{},"head":{}}}}})",
      block.block, place.sm + 1, tid, slice_times(begin, end), block.batch, block.head));
}

void ChromeTraceWriter::end_launch(std::string_view name, Picoseconds begin, Picoseconds end) {
  events_.write(fmt::format(
      R"({{"ph":"X","name":{},"cat":"launch","pid":{},"tid":{},{},"args":{{}}}})", json_text(name),
      kTotalsProcess, ChromeEvents::kLaunchTrack, slice_times(begin, end)));
}

void ChromeTraceWriter::count(const TimedOp& timed) {
  if (!timed.op.moves_bytes()) return;
  while (timed.end_ps / bin_width_ >= static_cast<Picoseconds>(kBins)) {
    for (auto* bins : {&read_bytes_, &written_bytes_}) {
      for (std::size_t bin = 0; bin < kBins; ++bin) {
        (*bins)[bin] = 2 * bin < kBins ? (*bins)[2 * bin] + (*bins)[2 * bin + 1] : 0;
      }
    }
    bin_width_ *= 2;
  }
  auto& bins = timed.op.kind == OpKind::load ? read_bytes_ : written_bytes_;
  bins[static_cast<std::size_t>(timed.end_ps / bin_width_)] += moved_bytes(timed.op, timed.grid);
}

void ChromeTraceWriter::write_counters() {
  Index read = 0, written = 0;
  const auto write = [&](Picoseconds at) {
    events_.write(fmt::format(R"({{"ph":"C","name":"requested bytes so far","pid":{},"tid":0,)"
                              R"("ts":{},"args":{{"read":{},"written":{}}}}})",
                              kTotalsProcess, microseconds(at), read, written));
  };
  write(0);
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    if (read_bytes_[bin] + written_bytes_[bin] == 0) continue;
    read += read_bytes_[bin];
    written += written_bytes_[bin];
    write(static_cast<Picoseconds>(bin + 1) * bin_width_);
  }
}

bool ChromeTraceWriter::finish() {
  write_counters();
  return events_.finish();
}

namespace {

double ratio(Index part, Index whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Picoseconds run_timeline(const Pass& pass, const PassRun& run, const SimulationReport& report,
                         const GpuDescription& gpu, TimelineSink& sink, Index warps_per_block,
                         Observer* beside) {
  const std::vector<BlockDemand> demands = model_demands(pass, run, warps_per_block * kWarpThreads);
  std::vector<LaunchShare> shares;
  for (std::size_t launch = 0; launch < demands.size(); ++launch) {
    const LaunchReport& counted = report.launches[launch];
    shares.push_back({resident_blocks(demands[launch], counted.thread_blocks, gpu),
                      ratio(counted.compulsory.read_bytes, counted.requested.read_bytes),
                      ratio(counted.compulsory.write_bytes, counted.requested.write_bytes)});
  }
  Timeline timeline(gpu, run.problem.dtype, std::move(shares), sink);
  std::vector<Observer*> observers{&timeline};
  if (beside != nullptr) observers.push_back(beside);
  run_all_heads(pass, run, observers);
  return timeline.end_ps();
}

Result<TraceSummary> write_trace(const ResolvedRun& run, const GpuDescription& gpu,
                                 const BlockOrder& order, const TextSink& sink,
                                 const std::function<void(double)>& progress) {
  ATTNSCOPE_TRY(auto report, simulate(run, gpu));
  TraceSummary summary{.report = std::move(report)};
  const Index ops = summary.report.tile_ops;
  if (ops > kMaxTraceOps) {
    return invalid_request(
        "this trace would have {} operations; at most {} are written: choose fewer "
        "heads, a shorter sequence or larger tiles",
        ops, kMaxTraceOps);
  }

  const ScheduleOptions options = schedule_options(run, gpu);
  const Pass pass = make_pass(*find_algorithm(run.algorithm()), run.pass(), options);
  const AttentionProblem& problem = run.problem;
  const PassRun pass_run{problem, run.tiling, options, order};
  const std::string description =
      fmt::format("{} {}, B {}, H {}, N {}, N_kv {}, d {}, {}, mask {}, {}x{} tiles, on {}",
                  run.algorithm(), to_string(run.pass()), problem.batch, problem.heads, problem.N,
                  problem.N_kv, problem.d, to_string(problem.dtype), to_string(problem.mask),
                  run.tiling.Br, run.tiling.Bc, gpu.display_name);

  ChromeTraceWriter writer(pass, description, sink);
  ProgressObserver teller(std::max<Index>(ops, 1), progress);
  summary.end_ps = run_timeline(pass, pass_run, summary.report, gpu, writer,
                                run.asked.warps.value_or(kPaperWarps), &teller);
  if (!writer.finish()) return failed("the trace could not be written");
  summary.events = writer.event_count();
  return summary;
}

std::string json_text(std::string_view text) {
  // File names may be in any encoding
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string microseconds(Index ps) {
  return fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000);
}

std::string slice_times(Index begin_ps, Index end_ps) {
  const auto whole_ns = [](Index ps) { return (ps + 500) / 1000; };
  const Index begin_ns = whole_ns(begin_ps);
  const Index length_ns = whole_ns(end_ps) - begin_ns;
  return fmt::format(R"("ts":{}.{:03},"dur":{}.{:03})", begin_ns / 1000, begin_ns % 1000,
                     length_ns / 1000, length_ns % 1000);
}

ChromeEvents::ChromeEvents(const Header& header, TextSink sink) : sink_(std::move(sink)) {
  good_ = sink_(fmt::format(
      "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"schema\":\"attnscope.trace/1\",\"run\":{},"
      "\"kind\":{},\"clock\":{}}},\n\"traceEvents\":[\n",
      json_text(header.run), json_text(header.kind), json_text(header.clock)));
}

void ChromeEvents::write(const std::string& event) {
  good_ = good_ && sink_(count_ == 0 ? event : ",\n" + event);
  ++count_;
}

void ChromeEvents::name_process(Index pid, std::string_view name) {
  if (!named_.insert({pid, -1}).second) return;
  write(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", pid,
                    json_text(name)));
  write(fmt::format(
      R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})", pid, pid));
}

void ChromeEvents::name_track(Index pid, int tid, std::string_view name) {
  if (!named_.insert({pid, tid}).second) return;
  write(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
                    pid, tid, json_text(name)));
}

void ChromeEvents::name_sm_track(Index sm, int tid, std::string_view name) {
  name_process(sm + 1, fmt::format("SM {}", sm));
  name_track(sm + 1, tid, name);
}

bool ChromeEvents::finish() {
  good_ = good_ && sink_("\n]}\n");
  return good_;
}

}  // namespace attnscope
