#include "kernels/measure/trace_pass.h"

#include <algorithm>

#include "kernels/measure/inputs/backward_tensors.h"
#include "kernels/measure/inputs/forward_tensors.h"
#include "kernels/measure/measure_pass.h"

namespace attnscope::kernels {

namespace {

template <typename Value>
std::vector<Value> values(const DeviceBuffer& from) {
  std::vector<Value> to(from.bytes() / sizeof(Value));
  if (!to.empty()) from.copy_to_host(to.data());
  return to;
}

}  // namespace

TraceMemory::TraceMemory(const TracePlan& plan)
    : plan_(plan),
      blocks_(static_cast<std::size_t>(plan.blocks) * sizeof(TraceBlock)),
      events_(static_cast<std::size_t>(plan.blocks * plan.events_per_block) * sizeof(TraceEvent)),
      rows_(static_cast<std::size_t>(plan.rows()) * sizeof(TraceRow)) {}

void TraceMemory::clear() {
  blocks_.fill_bytes(0);
  rows_.fill_bytes(0xff);
}

TraceBuffer TraceMemory::buffer() const {
  TraceBuffer buffer;
  buffer.blocks = static_cast<TraceBlock*>(blocks_.data_dev());
  buffer.events = static_cast<TraceEvent*>(events_.data_dev());
  buffer.rows = static_cast<TraceRow*>(rows_.data_dev());
  buffer.events_per_block = static_cast<std::int32_t>(plan_.events_per_block);
  buffer.blocks_per_head = static_cast<std::int32_t>(plan_.blocks / plan_.heads);
  buffer.row_step = static_cast<std::int32_t>(plan_.row_step);
  buffer.rows_per_head = static_cast<std::int32_t>(plan_.rows_per_head);
  buffer.column_tiles = static_cast<std::int32_t>(plan_.column_tiles);
  buffer.rows_of_part = static_cast<std::int32_t>(plan_.rows() / plan_.row_parts);
  return buffer;
}

Result<RawTrace> TraceMemory::fetch() const {
  RawTrace trace;
  trace.plan = plan_;
  trace.blocks = values<TraceBlock>(blocks_);
  trace.events = values<TraceEvent>(events_);
  trace.rows = values<TraceRow>(rows_);
  std::erase_if(trace.blocks, [](const TraceBlock& block) { return block.end_ns == 0; });
  if (trace.blocks.empty()) return failed("the traced launch recorded no thread block");
  for (const TraceBlock& block : trace.blocks) {
    if (block.event_count <= plan_.events_per_block) continue;
    return failed("a thread block recorded {} steps; there is room for {}", block.event_count,
                  plan_.events_per_block);
  }
  return trace;
}

namespace {

/// Times the pass with and without the trace, then records it once more.
template <typename TracedPass>
Result<RawTrace> record(Session& session, const TracePlan& plan, const TracedPass& pass) {
  const auto plain_time = quick_time(session, pass(nullptr));
  if (!plain_time) return plain_time.error();
  TraceMemory memory(plan);
  const TraceBuffer buffer = memory.buffer();
  const auto time = quick_time(session, pass(&buffer));
  if (!time) return time.error();

  memory.clear();
  if (auto error = pass(&buffer)({})) return *error;
  session.stream().wait();
  auto trace = memory.fetch();
  if (!trace) return trace;
  trace.value().time_s = time.value().median_s;
  trace.value().plain_time_s = plain_time.value().median_s;
  return trace;
}

}  // namespace

Result<RawTrace> trace_pass(Session& session, const ResolvedRun& run, const TracePlan& plan) {
  const InputSpec& inputs = run.asked.inputs;
  ResolvedRun traced = run;
  traced.tiling = plan.tiling;
  traced.asked.set_tiling(plan.tiling);
  if (auto error = check_free_memory(static_cast<std::size_t>(plan.bytes()), 0)) return *error;
  if (run.pass() == PassKind::forward) {
    auto tensors = ForwardTensors::allocate(traced);
    if (!tensors) return tensors.error();
    tensors.value().generate_inputs(session, inputs);
    return record(session, plan, [&](const TraceBuffer* buffer) {
      return tensors.value().pass(session, /*with_lse=*/false, buffer);
    });
  }
  auto tensors = BackwardTensors::allocate(traced);
  if (!tensors) return tensors.error();
  tensors.value().generate_inputs(session, inputs);
  if (auto error = tensors.value().run_forward(session)) return *error;
  return record(session, plan,
                [&](const TraceBuffer* buffer) { return tensors.value().pass(session, buffer); });
}

Result<KernelTrace> decode(const RawTrace& raw, const ResolvedRun& run, Recording header) {
  const TracePlan& plan = raw.plan;
  KernelTrace trace{.header = std::move(header), .run = run};
  trace.run.tiling = plan.tiling;
  trace.launch = plan.launch;
  trace.instructions = plan.instructions;
  trace.time_s = raw.time_s;
  trace.plain_time_s = raw.plain_time_s;

  TraceRecords records;
  records.blocks = raw.blocks;
  records.events_per_block = static_cast<std::size_t>(plan.events_per_block);
  records.events = std::span(raw.events).first(raw.blocks.size() * records.events_per_block);
  records.rows = raw.rows;
  records.row_step = static_cast<std::size_t>(plan.row_step);
  records.rows_per_head = static_cast<std::size_t>(plan.rows_per_head);
  records.column_tiles = static_cast<std::size_t>(plan.column_tiles);
  records.row_parts = static_cast<std::size_t>(plan.row_parts);
  if (auto error = decode_trace(records, trace)) return *error;
  return trace;
}

}  // namespace attnscope::kernels
