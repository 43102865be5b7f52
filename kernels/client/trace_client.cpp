#include "kernels/client/trace_client.h"

#include <algorithm>

namespace attnscope {

std::optional<Error> add_records(const attnscope_trace& records, KernelTrace& trace) {
  trace.run.tiling = {records.block_rows, records.block_cols};
  trace.launch = records.launch;
  trace.time_s = records.time_s;
  trace.plain_time_s = records.plain_time_s;
  const auto heads = static_cast<std::size_t>(trace.run.problem.batch * trace.run.problem.heads);

  // The C structs are the kernels' own, field by field (c_interface/trace_interface.cpp checks)
  TraceRecords given;
  given.blocks = {reinterpret_cast<const kernels::TraceBlock*>(records.blocks),
                  records.block_count};
  given.events = {reinterpret_cast<const kernels::TraceEvent*>(records.events),
                  records.block_count * records.events_per_block};
  given.events_per_block = records.events_per_block;
  given.row_parts = std::max<std::size_t>(1, records.row_parts);  // older libraries have no parts
  given.rows = {reinterpret_cast<const kernels::TraceRow*>(records.rows),
                given.row_parts * heads * records.rows_per_head * records.column_tiles};
  given.row_step = records.row_step;
  given.rows_per_head = records.rows_per_head;
  given.column_tiles = records.column_tiles;
  return decode_trace(given, trace);
}

}  // namespace attnscope
