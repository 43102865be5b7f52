#include <cstddef>

#include "kernels/attnscope_kernels.h"
#include "kernels/c_interface/c_session.h"
#include "kernels/c_interface/c_structs.h"
#include "kernels/resolve.h"
#include "kernels/trace/trace_steps.h"

using namespace attnscope;           // NOLINT: this file translates between the two worlds
using namespace attnscope::kernels;  // NOLINT

// The kernels' records are lent to the caller without conversion
static_assert(sizeof(attnscope_trace_event) == sizeof(TraceEvent));
static_assert(offsetof(attnscope_trace_event, step) == offsetof(TraceEvent, step));
static_assert(offsetof(attnscope_trace_event, done) == offsetof(TraceEvent, done));
static_assert(sizeof(attnscope_trace_block) == sizeof(TraceBlock));
static_assert(offsetof(attnscope_trace_block, event_count) == offsetof(TraceBlock, event_count));
static_assert(sizeof(attnscope_trace_row) == sizeof(TraceRow));

namespace {

/// `caller_bytes` is the size of the caller's struct.
attnscope_trace lend(const RawTrace& from, std::size_t caller_bytes) {
  attnscope_trace to{};
  to.launch = from.plan.launch.data();  // a literal
  to.block_rows = from.plan.tiling.Br;
  to.block_cols = from.plan.tiling.Bc;
  to.blocks = reinterpret_cast<const attnscope_trace_block*>(from.blocks.data());
  to.block_count = from.blocks.size();
  to.events = reinterpret_cast<const attnscope_trace_event*>(from.events.data());
  to.events_per_block = static_cast<uint64_t>(from.plan.events_per_block);
  to.time_s = from.time_s;
  to.plain_time_s = from.plain_time_s;
  const bool knows_parts = caller_bytes > offsetof(attnscope_trace, row_parts);
  if (from.plan.row_parts > 1 && !knows_parts) return to;
  to.rows = reinterpret_cast<const attnscope_trace_row*>(from.rows.data());
  to.row_step = static_cast<uint64_t>(from.plan.row_step);
  to.rows_per_head = static_cast<uint64_t>(from.plan.rows_per_head);
  to.column_tiles = static_cast<uint64_t>(from.plan.column_tiles);
  to.row_parts = static_cast<uint64_t>(from.plan.row_parts);
  return to;
}

/// Shared code of both calls. The request is read first: it can be rejected without a GPU.
attnscope_status trace_either(attnscope_session* session, PassKind pass,
                              const attnscope_problem* problem, const attnscope_kernel* kernel,
                              int32_t input_kind, uint64_t seed, int64_t row_step,
                              attnscope_trace* trace) {
  return guarded(session, [&]() -> std::optional<Error> {
    auto run = read_request(pass, problem, kernel);
    if (!run) return run.error();
    const auto inputs = read_inputs(input_kind, seed);
    if (!inputs) return inputs.error();
    if (row_step < 0) {
      return invalid_request(fmt::format("row_step is {}; it must be at least 0", row_step));
    }
    run.value().asked.inputs = inputs.value().spec;
    if (auto error = supports(run.value())) return error;
    const auto plan = plan_trace(run.value(), row_step);
    if (!plan) return plan.error();
    if (auto error = check_output_struct(trace, "trace")) return error;
    if (auto error = require_session(session)) return error;

    return session->session->run([&]() -> std::optional<Error> {
      auto traced = trace_pass(*session->session, run.value(), plan.value());
      if (!traced) return traced.error();
      session->trace = std::move(traced).value();
      return write_struct(lend(session->trace, trace->struct_size), trace, "trace");
    });
  });
}

}  // namespace

attnscope_status attnscope_forward_trace(attnscope_session* session,
                                         const attnscope_problem* problem,
                                         const attnscope_kernel* kernel, int32_t input_kind,
                                         uint64_t seed, int64_t row_step, attnscope_trace* trace) {
  return trace_either(session, PassKind::forward, problem, kernel, input_kind, seed, row_step,
                      trace);
}

attnscope_status attnscope_backward_trace(attnscope_session* session,
                                          const attnscope_problem* problem,
                                          const attnscope_kernel* kernel, int32_t input_kind,
                                          uint64_t seed, attnscope_trace* trace) {
  return trace_either(session, PassKind::backward, problem, kernel, input_kind, seed, 0, trace);
}

const char* attnscope_trace_step_name(uint32_t step) {
  if (step >= kTraceStepCount) return nullptr;
  return step_name(static_cast<TraceStep>(step)).data();  // a literal
}
