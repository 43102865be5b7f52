#include "app/report/measured_trace.h"

#include <fmt/format.h>

#include "app/report/report_text.h"
#include "kernels/measure/trace/trace_steps.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"

namespace attnscope {

namespace {

using kernels::StepClass;

constexpr int kTracksPerSlot = 2;  // one for the block, one for its steps

std::string_view category(StepClass kind) {
  constexpr std::string_view kNames[] = {"waiting", "memory", "matrix products",
                                         "other operations"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// The name of a step: "load K_j (j = 2)", "S = Q_i K_j^T (0, 2)".
std::string step_label(const TracedStep& step) {
  const bool has_i = kernels::has_row_tile(step.step);
  const bool has_j = kernels::has_column_tile(step.step);
  const std::string_view name = kernels::step_name(step.step);
  if (has_i && has_j) return fmt::format("{} ({}, {})", name, step.i, step.j);
  return has_i ? fmt::format("{} (i = {})", name, step.i)
               : fmt::format("{} (j = {})", name, step.j);
}

void write_block(const TracedBlock& block, Index slot, ChromeEvents& events) {
  const int block_track = static_cast<int>(slot) * kTracksPerSlot + 1;
  events.name_sm_track(block.sm, block_track, fmt::format("block slot {}: thread block", slot));
  events.name_sm_track(block.sm, block_track + 1,
                       fmt::format("block slot {}: steps of its first warp", slot));
  events.write(
      fmt::format(R"({{"ph":"X","name":"block {}","cat":"thread block","pid":{},"tid":{},{},)"
                  R"("args":{{"batch":{},"head":{}}}}})",
                  block.block, block.sm + 1, block_track, slice_times(block.begin_ps, block.end_ps),
                  block.batch, block.head));
  for (const TracedStep& step : block.steps) {
    events.write(fmt::format(R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},{},)"
                             R"("args":{{"left_out":{},"batch":{},"head":{},"block":{}}}}})",
                             json_text(step_label(step)), category(kernels::step_class(step.step)),
                             block.sm + 1, block_track + 1, slice_times(step.begin_ps, step.end_ps),
                             !step.done, block.batch, block.head, block.block));
  }
}

}  // namespace

std::string describe(const KernelTrace& trace) {
  return fmt::format("{}, on {}", run_title(row_of(trace)), one_line(trace.header.device.name));
}

RecordingRow row_of(const KernelTrace& trace) {
  RecordingRow row{.run = trace.run, .unidentified = trace.unidentified};
  row.measurement.emplace();
  row.measurement->instructions = trace.instructions;
  row.measurement->time.median_s = trace.plain_time_s;
  row.measurement->unavailable_counters["*"] =
      "only a trace of this problem was recorded, with times and no counters";
  return row;
}

const std::vector<ShippedTrace>& shipped_traces() {
  static const std::vector<ShippedTrace> traces = [] {
    std::vector<ShippedTrace> read;
    for (const std::string& name : list_assets(kTracesFolder)) {
      const auto path = find_asset(kTracesFolder, name);
      read.push_back(
          {name, path ? read_kernel_trace(path.value()) : Result<KernelTrace>(path.error())});
    }
    return read;
  }();
  return traces;
}

bool write_measured_trace(const KernelTrace& trace, const TextSink& sink, Index& events) {
  const std::string step =
      trace.timer_step_ns
          ? fmt::format("whose readings are {} ns apart or more", *trace.timer_step_ns)
          : "whose step is unknown (its readings are too far apart)";
  ChromeEvents out(
      {.run = fmt::format("{}, {}, build {}", describe(trace), trace.header.date,
                          trace.header.build.commit),
       .kind = "measured",
       .clock = fmt::format("the SMs' clocks, {:.0f} MHz, aligned with the GPU's global timer, {}; "
                            "recorded by the kernel itself, which slows it down",
                            trace.sm_clock_mhz, step)},
      sink);
  out.name_process(ChromeEvents::kTotalsProcess, "launches (measured)");
  out.name_track(ChromeEvents::kTotalsProcess, ChromeEvents::kLaunchTrack, "launches");
  out.write(fmt::format(R"({{"ph":"X","name":{},"cat":"launch","pid":{},"tid":1,{},"args":{{}}}})",
                        json_text(trace.launch), ChromeEvents::kTotalsProcess,
                        slice_times(0, trace.end_ps())));
  const std::vector<Index> slots = block_slots(trace);
  for (std::size_t n = 0; n < trace.blocks.size(); ++n) {
    write_block(trace.blocks[n], slots[n], out);
  }
  const bool good = out.finish();
  events = out.count();
  return good;
}

}  // namespace attnscope
