#include "kernels/measure/trace/kernel_trace.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace attnscope {

using kernels::TraceBlock;
using kernels::TraceEvent;

namespace {

/// The clock of one SM relative to the global timer.
struct SmClock {
  std::uint64_t first_cycles = UINT64_MAX, last_cycles = 0;
  std::uint64_t first_ns = UINT64_MAX, last_ns = 0;
  double offset_ns = 0.0;  ///< global time at which the SM's clock is 0
};

using SmClocks = std::map<std::int32_t, SmClock>;

SmClocks spans_of(std::span<const TraceBlock> blocks) {
  SmClocks clocks;
  for (const TraceBlock& block : blocks) {
    SmClock& clock = clocks[block.sm];
    clock.first_cycles = std::min(clock.first_cycles, block.begin_cycles);
    clock.last_cycles = std::max(clock.last_cycles, block.end_cycles);
    clock.first_ns = std::min(clock.first_ns, block.begin_ns);
    clock.last_ns = std::max(clock.last_ns, block.end_ns);
  }
  return clocks;
}

/// Cycles per nanosecond, over all SMs; 0 if the timer did not advance.
double cycle_rate(const SmClocks& clocks) {
  double cycles = 0.0;
  double ns = 0.0;
  for (const auto& [sm, clock] : clocks) {
    cycles += static_cast<double>(clock.last_cycles - clock.first_cycles);
    ns += static_cast<double>(clock.last_ns - clock.first_ns);
  }
  return ns > 0.0 ? cycles / ns : 0.0;
}

/// Sets the global time at which each SM's clock is 0: the mean over all readings.
void place_clocks(std::span<const TraceBlock> blocks, double cycles_per_ns, SmClocks& clocks) {
  std::map<std::int32_t, double> readings;
  for (const TraceBlock& block : blocks) {
    SmClock& clock = clocks[block.sm];
    const auto reading = [&](std::uint64_t ns, std::uint64_t cycles) {
      clock.offset_ns += static_cast<double>(ns - clock.first_ns) -
                         static_cast<double>(cycles - clock.first_cycles) / cycles_per_ns;
      readings[block.sm] += 1.0;
    };
    reading(block.begin_ns, block.begin_cycles);
    reading(block.end_ns, block.end_cycles);
  }
  for (auto& [sm, clock] : clocks) clock.offset_ns /= readings[sm];
}

/// The smallest difference between two readings of the global timer, if it can be a step: GPUs have
/// steps of 32 ns to about 1 us; a longer one is the duration of a block.
std::optional<Index> timer_step_ns(std::span<const TraceBlock> blocks) {
  std::vector<std::uint64_t> readings;
  for (const TraceBlock& block : blocks) {
    readings.push_back(block.begin_ns);
    readings.push_back(block.end_ns);
  }
  std::ranges::sort(readings);
  constexpr Index kLongestStepNs = 2000;
  std::optional<Index> least;
  for (std::size_t n = 1; n < readings.size(); ++n) {
    const auto step = static_cast<Index>(readings[n] - readings[n - 1]);
    if (step > 0 && step <= kLongestStepNs) least = std::min(least.value_or(step), step);
  }
  return least;
}

/// The steps of a block; each begins where the one before it ends.
std::vector<TracedStep> steps_of(const TraceBlock& block, std::span<const TraceEvent> events,
                                 double ps_per_cycle, Index block_begin_ps) {
  std::vector<TracedStep> steps;
  steps.reserve(events.size());
  Index begin_ps = block_begin_ps;
  for (const TraceEvent& event : events) {
    const auto elapsed = event.end_cycles - static_cast<std::uint32_t>(block.begin_cycles);
    const Index end_ps = block_begin_ps + std::llround(elapsed * ps_per_cycle);
    steps.push_back({event.step, event.i, event.j, event.done != 0, begin_ps, end_ps});
    begin_ps = end_ps;
  }
  return steps;
}

/// Nothing if a block's records are consistent with one run.
std::optional<Error> check_block(const TraceBlock& block, const TraceRecords& records,
                                 std::size_t index) {
  const auto refuse = [&](const char* what) {
    return failed("the trace's thread block {} {}", index, what);
  };
  if (block.event_count > records.events_per_block)
    return refuse("has more steps than there is room for");
  if (block.end_cycles < block.begin_cycles || block.end_ns < block.begin_ns) {
    return refuse("ends before it begins");
  }
  const auto events = records.events.subspan(index * records.events_per_block, block.event_count);
  std::uint32_t before = 0;
  for (const TraceEvent& event : events) {
    const auto elapsed = event.end_cycles - static_cast<std::uint32_t>(block.begin_cycles);
    if (elapsed < before) return refuse("has steps that run backwards");
    if (static_cast<int>(event.step) >= kernels::kTraceStepCount)
      return refuse("has an unknown step");
    before = elapsed;
  }
  return std::nullopt;
}

/// Merges the states of warps that each computed a part of a row's keys: m = max(m_w), beta_w =
/// exp(m_w - m), l = sum(beta_w l_w). alpha_w is exp(m_w before - m_w), so the row's alpha is the
/// largest beta_w alpha_w. NaN where the parts are NaN.
kernels::TraceRow merged(std::span<const kernels::TraceRow> parts) {
  kernels::TraceRow row{-INFINITY, 0.0f, 0.0f};
  for (const kernels::TraceRow& part : parts) {
    if (std::isnan(part.m)) return part;
    row.m = std::max(row.m, part.m);
  }
  if (row.m == -INFINITY) return {row.m, 0.0f, 1.0f};  // no key so far
  double l = 0.0;
  double alpha = 0.0;
  for (const kernels::TraceRow& part : parts) {
    const double beta = std::exp(static_cast<double>(part.m) - row.m);
    l += beta * part.l;
    alpha = std::max(alpha, beta * part.alpha);
  }
  return {row.m, static_cast<float>(l), static_cast<float>(alpha)};
}

/// The merged states, one per column tile.
std::vector<kernels::TraceRow> merged_states(
    const std::vector<std::vector<kernels::TraceRow>>& parts) {
  std::vector<kernels::TraceRow> states;
  states.reserve(parts.front().size());
  for (std::size_t j = 0; j < parts.front().size(); ++j) {
    std::vector<kernels::TraceRow> of_tile;
    of_tile.reserve(parts.size());
    for (const auto& part : parts) of_tile.push_back(part[j]);
    states.push_back(merged(of_tile));
  }
  return states;
}

/// Adds the recorded rows. The kernel's m is the maximum of the unscaled scores.
void add_rows(const TraceRecords& records, KernelTrace& trace) {
  const double softmax_scale = 1.0 / std::sqrt(static_cast<double>(trace.run.problem.d));
  const auto heads = static_cast<std::size_t>(trace.run.problem.heads);
  const std::size_t Tc = records.column_tiles;
  const std::size_t rows = Tc == 0 ? 0 : records.rows.size() / Tc / records.row_parts;
  const auto states_from = [&](std::size_t first) {
    std::vector<kernels::TraceRow> states;
    states.reserve(Tc);
    for (kernels::TraceRow state : records.rows.subspan(first, Tc)) {
      state.m = static_cast<float>(state.m * softmax_scale);
      states.push_back(state);
    }
    return states;
  };
  for (std::size_t n = 0; n < rows; ++n) {
    const std::size_t head = n / records.rows_per_head;
    TracedRow row;
    row.batch = static_cast<Index>(head / heads);
    row.head = static_cast<Index>(head % heads);
    row.row = static_cast<Index>(n % records.rows_per_head * records.row_step);
    if (records.row_parts == 1) {
      row.states = states_from(n * Tc);
    } else {
      for (std::size_t part = 0; part < records.row_parts; ++part) {
        row.parts.push_back(states_from((part * rows + n) * Tc));
      }
      row.states = merged_states(row.parts);
    }
    trace.rows.push_back(std::move(row));
  }
}

}  // namespace

Index KernelTrace::end_ps() const {
  Index end = 0;
  for (const TracedBlock& block : blocks) end = std::max(end, block.end_ps);
  return end;
}

Index KernelTrace::step_count() const {
  Index count = 0;
  for (const TracedBlock& block : blocks) count += static_cast<Index>(block.steps.size());
  return count;
}

std::optional<Error> decode_trace(const TraceRecords& records, KernelTrace& trace) {
  for (std::size_t n = 0; n < records.blocks.size(); ++n) {
    if (auto error = check_block(records.blocks[n], records, n)) return error;
  }

  // Convert cycles to time
  SmClocks clocks = spans_of(records.blocks);
  double cycles_per_ns = cycle_rate(clocks);
  if (cycles_per_ns == 0.0) cycles_per_ns = trace.header.device.sm_clock_mhz.value_or(0.0) * 1e-3;
  if (!(cycles_per_ns > 0.0)) {
    return failed("the traced run is shorter than a step of the GPU's global timer");
  }
  trace.sm_clock_mhz = cycles_per_ns * 1e3;
  trace.timer_step_ns = timer_step_ns(records.blocks);
  place_clocks(records.blocks, cycles_per_ns, clocks);

  // Blocks, relative to the start of the first one
  std::uint64_t first_ns = UINT64_MAX;
  for (const auto& [sm, clock] : clocks) first_ns = std::min(first_ns, clock.first_ns);
  const auto time_ns = [&](const TraceBlock& block, std::uint64_t cycles) {
    const SmClock& clock = clocks.at(block.sm);
    return static_cast<double>(clock.first_ns - first_ns) + clock.offset_ns +
           static_cast<double>(cycles - clock.first_cycles) / cycles_per_ns;
  };
  double origin_ns = INFINITY;
  for (const TraceBlock& block : records.blocks) {
    origin_ns = std::min(origin_ns, time_ns(block, block.begin_cycles));
  }
  for (std::size_t n = 0; n < records.blocks.size(); ++n) {
    const TraceBlock& from = records.blocks[n];
    TracedBlock block;
    block.sm = from.sm;
    block.batch = from.head_index / trace.run.problem.heads;
    block.head = from.head_index % trace.run.problem.heads;
    block.block = from.block;
    block.begin_ps = std::llround((time_ns(from, from.begin_cycles) - origin_ns) * 1e3);
    block.end_ps = std::llround((time_ns(from, from.end_cycles) - origin_ns) * 1e3);
    block.steps =
        steps_of(from, records.events.subspan(n * records.events_per_block, from.event_count),
                 1e3 / cycles_per_ns, block.begin_ps);
    trace.blocks.push_back(std::move(block));
  }
  add_rows(records, trace);
  return std::nullopt;
}

std::vector<Index> block_slots(const KernelTrace& trace) {
  std::vector<std::size_t> order(trace.blocks.size());
  for (std::size_t n = 0; n < order.size(); ++n) order[n] = n;
  std::ranges::stable_sort(order, {}, [&](std::size_t n) { return trace.blocks[n].begin_ps; });

  std::map<Index, std::vector<Index>> free_at;  // by SM and slot
  std::vector<Index> slots(trace.blocks.size());
  for (const std::size_t n : order) {
    const TracedBlock& block = trace.blocks[n];
    auto& times = free_at[block.sm];
    std::size_t slot = 0;
    while (slot < times.size() && times[slot] > block.begin_ps) ++slot;
    if (slot == times.size()) times.push_back(0);
    times[slot] = block.end_ps;
    slots[n] = static_cast<Index>(slot);
  }
  return slots;
}

}  // namespace attnscope
