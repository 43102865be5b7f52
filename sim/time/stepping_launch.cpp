#include "sim/time/stepping_launch.h"

#include <cmath>

namespace attnscope {

namespace {

/// moves[n]: the expected number, among the first n steps, in which the maximum of one of a warp's
/// rows changes. A row's maximum changes in step j with probability 1 / j, whatever the
/// distribution of the scores.
std::vector<double> expected_moves(Index most_steps, Index rows) {
  std::vector<double> moves = {0.0};
  for (Index j = 1; j <= most_steps; ++j) {
    const double stays = 1.0 - 1.0 / static_cast<double>(j);
    moves.push_back(moves.back() + 1.0 - std::pow(stays, static_cast<double>(rows)));
  }
  return moves;
}

}  // namespace

SteppingLaunch::SteppingLaunch(const LaunchSetting& setting, const StepCosts& costs,
                               const LaunchWork& work)
    : setting_(setting), costs_(costs), work_(work), all_slots_cycles_(costs.cycles.back()) {
  if (costs.rescaled_cycles > 0) {
    const auto most = std::ranges::max_element(work.blocks, {}, &BlockWork::steps);
    moves_ = expected_moves(most->steps, costs.rows_of_warp);
  }
  const MachineRates& rates = setting_.rates;
  std::vector<double> cycles = costs.cycles;
  const auto residency = static_cast<std::size_t>(costs.residency);
  if (residency > 0 && residency < cycles.size()) cycles.resize(residency);
  // A block reads the number of its next tile, and other blocks of its SM work in the meantime
  if (work.flow.reads_lists) cycles.front() += rates.l1_latency_cycles;
  cycles_ = {cycles, cycles};
  const double blocks_in_all =
      static_cast<double>(work.blocks.size()) * static_cast<double>(work.heads);
  active_sms_ = std::min(rates.sm_count, blocks_in_all);
  // The clock measured for the kernel's steps, even if few SMs are busy
  clock_hz_ = costs.clock_hz;
  const double miss = setting_.bytes.miss_share();
  dram_cycles_per_byte_ = miss * per_byte(rates.dram_read_bytes_per_s);
  read_cycles_per_byte_ = dram_cycles_per_byte_ + (1 - miss) * per_byte(rates.l2_read_bytes_per_s);
  write_cycles_per_byte_ = per_byte(rates.l2_write_bytes_per_s);
  add_waits_for_memory();
}

LaunchTime SteppingLaunch::time() const {
  const ScheduleCycles cycles = run();
  const double sm_seconds = 1.0 / clock_hz_ / static_cast<double>(setting_.gpu.sm_count);
  LaunchTime time;
  const double stepping_s = cycles.stepping * sm_seconds, memory_s = memory_share() * stepping_s;
  of(time.parts, TimePart::steps) = stepping_s - memory_s;
  of(time.parts, costs_.are_calibrated ? TimePart::dram : TimePart::l2) = memory_s;
  of(time.parts, TimePart::waiting) = cycles.waiting * sm_seconds + start_s();
  of(time.parts, TimePart::idle) = cycles.idle * sm_seconds;
  of(time.parts, TimePart::dram) += further_dram_s(cycles);
  return time;
}

ScheduleCycles SteppingLaunch::run(std::vector<ScheduledBlock>* scheduled) const {
  std::vector<BlockTask> tasks;
  tasks.reserve(work_.blocks.size());
  for (const BlockWork& work : work_.blocks) tasks.push_back(task_of(work));
  return BlockSchedule(setting_.gpu.sm_count, cycles_, setting_.rates.block_launch_cycles)
      .run(tasks, work_.heads, setting_.cancel, scheduled);
}

/// The share of the steps' time, with all slots occupied, in which they wait for tiles.
double SteppingLaunch::memory_share() const {
  double steps = 0, last_steps = 0;
  for (const BlockWork& work : work_.blocks) {
    const BlockTask task = task_of(work);
    steps += task.steps;
    last_steps += task.last_steps;
  }
  const double own = cycles_.of_last_step.back();
  const double waits = steps * (cycles_.of_step.back() - own);
  return waits / (waits + (steps + last_steps) * own);
}

/// The time that DRAM still needs for its bytes after the last block has ended.
double SteppingLaunch::further_dram_s(const ScheduleCycles& cycles) const {
  const double dram_s =
      setting_.rates.dram_seconds(setting_.bytes.dram_read, setting_.bytes.dram_written);
  return std::max(0.0, dram_s - cycles.end / clock_hz_);
}

PredictedSchedule SteppingLaunch::schedule(Index heads_of_entry) const {
  std::vector<ScheduledBlock> scheduled;
  const ScheduleCycles cycles = run(&scheduled);
  std::ranges::sort(scheduled, {}, &ScheduledBlock::index);

  // Starting the launch delays all steps; if DRAM needs more time than they take, they are
  // stretched
  const double start = start_s();
  const double blocks_s = cycles.end / clock_hz_;
  const double slower = blocks_s > 0 ? 1.0 + further_dram_s(cycles) / blocks_s : 1.0;
  const auto seconds = [&](double at) { return start + slower * at / clock_hz_; };
  PredictedSchedule schedule{.seconds = seconds(cycles.end), .clock_hz = clock_hz_};
  const std::size_t per_head = work_.blocks.size();
  for (const ScheduledBlock& each : scheduled) {
    BlockId id = work_.ids[each.index % per_head];
    const auto repeat = static_cast<Index>(each.index / per_head);
    const Index head = id.head + work_.heads_at_once * repeat;
    id.batch += head / heads_of_entry;
    id.head = head % heads_of_entry;
    schedule.blocks.push_back({.id = id,
                               .sm = each.sm,
                               .slot = each.slot,
                               .begin_s = each.begin > 0 ? seconds(each.begin) : 0.0,
                               .first_step_s = seconds(each.first_step),
                               .last_step_end_s = seconds(each.last_step_end),
                               .end_s = seconds(each.end)});
    schedule.slots = std::max(schedule.slots, each.slot + 1);
  }
  return schedule;
}

/// The cost of starting a launch beyond its overhead and its blocks' first waits and steps: code
/// comes from DRAM, and SMs change their configuration. Interpolated between calibrated
/// launches with one block on each SM and with as many as fit; without them, only the wait for code
/// is known.
double SteppingLaunch::start_s() const {
  if (costs_.first_step_s == 0) return setting_.rates.code_wait_s();
  const std::size_t most = costs_.cycles.size();
  const double full = start_s_of(costs_.first_step_s, most);
  if (costs_.lone_first_step_s == 0 || most == 1) return full;
  const double blocks = static_cast<double>(work_.blocks.size()) * static_cast<double>(work_.heads);
  const double further_on_sm = std::ceil(blocks / setting_.rates.sm_count) - 1.0;
  const double share = std::min(1.0, further_on_sm / static_cast<double>(most - 1));
  const double lone = start_s_of(costs_.lone_first_step_s, 1);
  return lone + share * (full - lone);
}

/// The same, in seconds, from a timed launch of blocks with one step each, less the first waits and
/// the step. The waits are those of the predicted launch: on few SMs they are shorter, and the cost
/// of starting is higher by as much. The timed launch lasts only microseconds, during which the
/// clock stays at that of light work.
double SteppingLaunch::start_s_of(double first_step_s, std::size_t blocks_on_sm) const {
  const MachineRates& rates = setting_.rates;
  const BlockWork one_step{.steps = 1, .first_bytes = work_.blocks.front().first_bytes};
  const double wait_cycles = first_wait(one_step) * rates.boost_clock_hz / clock_hz_;
  const std::vector<BlockTask> of_sm(
      blocks_on_sm,
      {.wait_before_cycles = rates.block_launch_cycles + wait_cycles, .steps = steps_of(one_step)});
  const BlockSchedule sm(1, {costs_.cycles, costs_.cycles}, rates.block_launch_cycles);
  const ScheduleCycles cycles = sm.run(of_sm, 1);
  return std::max(0.0, first_step_s - rates.launch_overhead_s - cycles.end / rates.boost_clock_hz);
}

/// A latency of L2 or DRAM, whose clocks are independent of the SM's, in cycles of this launch.
double SteppingLaunch::at_own_clock(double cycles) const {
  return cycles * clock_hz_ / setting_.rates.boost_clock_hz;
}

/// A block waits for one DRAM latency and for the bytes of its first tiles.
double SteppingLaunch::first_wait(const BlockWork& work) const {
  return at_own_clock(setting_.rates.dram_latency_cycles) +
         static_cast<double>(work.first_bytes) * read_cycles_per_byte_;
}

/// A block with a list of tiles reads where its list begins, then the first tile's number.
double SteppingLaunch::list_wait(double latency_cycles) const {
  return work_.flow.reads_lists ? 2 * at_own_clock(latency_cycles) : 0.0;
}

/// A persistent block has one buffer for Q: the next rows are requested when the last scores are
/// complete, and only the last product P V runs in the meantime.
double SteppingLaunch::next_queries_wait(const BlockWork& work) const {
  const MachineRates& rates = setting_.rates;
  const double wait = at_own_clock(rates.dram_latency_cycles) +
                      static_cast<double>(work.query_bytes) / rates.l2_read_one_sm_bytes_per_cycle;
  return std::max(0.0, wait - work_.flow.last_product_flops / rates.matrix_flops_per_cycle);
}

/// The steps of a block with this work. A step with a higher cost counts as more than one, and one
/// that some consumers skip as less.
double SteppingLaunch::steps_of(const BlockWork& work) const {
  double further_cycles = work.masked_steps * costs_.masked_cycles;
  if (costs_.rescaled_cycles > 0) {
    further_cycles += moves_[static_cast<std::size_t>(work.steps)] * costs_.rescaled_cycles;
  }
  if (work_.flow.trims && costs_.one_consumer_cycles > 0) {
    const double others = static_cast<double>(work_.flow.consumers - 1);
    further_cycles -= static_cast<double>(work.left_out) / others *
                      (all_slots_cycles_ - costs_.one_consumer_cycles);
  }
  return static_cast<double>(work.steps) + further_cycles / all_slots_cycles_ +
         (work_.flow.overlaps_softmax ? 1.0 : 0.0);
}

BlockTask SteppingLaunch::task_of(const BlockWork& work) const {
  const MachineRates& rates = setting_.rates;
  const double waits = costs_.waits_for_column_tiles ? static_cast<double>(work.column_loads) : 1.0;
  const double before = rates.block_launch_cycles + waits * first_wait(work);
  const double maps = work_.flow.reads_maps ? at_own_clock(rates.l2_latency_cycles) : 0.0;
  const double stores = costs_.waits_for_column_tiles
                            ? 0.0
                            : static_cast<double>(work.last_bytes) * write_cycles_per_byte_;
  const bool beside_next = work_.flow.stores_beside_next;
  const double steps = work.steps == 0 ? 0.0 : steps_of(work), last_steps = std::min(1.0, steps);
  return {.wait_before_cycles = before + list_wait(rates.dram_latency_cycles) + maps,
          .wait_before_following_cycles = work_.flow.loads_ahead
                                              ? next_queries_wait(work)
                                              : before + list_wait(rates.l2_latency_cycles),
          .steps = steps - last_steps,
          .last_steps = last_steps,
          .wait_after_cycles = beside_next ? 0.0 : stores,
          .wait_after_last_cycles = beside_next ? stores : 0.0};
}

/// Lengthens steps if some tiles come from DRAM, at least to the cycles that memory needs for the
/// next step's tiles, except a block's last step, which waits for none. With
/// BlockFlow::overlaps_softmax, a row tile of n column tiles has n + 1 steps; the n-th waits for
/// the next row tile's first tiles. Calibrated cycles already include the limit of L2.
void SteppingLaunch::add_waits_for_memory() {
  double steps = 0, read_bytes = 0, written_bytes = 0;
  for (const BlockWork& work : work_.blocks) {
    steps += static_cast<double>(std::max(Index{0}, work.steps - 1));
    read_bytes += static_cast<double>(work.read_bytes - work.first_bytes);
    written_bytes += static_cast<double>(work.written_bytes - work.last_bytes);
  }
  const double bytes_cycles = costs_.are_calibrated ? read_bytes * dram_cycles_per_byte_
                                                    : read_bytes * read_cycles_per_byte_ +
                                                          written_bytes * write_cycles_per_byte_;
  const double from_dram = setting_.bytes.miss_share() * costs_.from_dram_cycles;
  for (std::size_t k = 0; k < cycles_.of_step.size(); ++k) {
    cycles_.of_last_step[k] += from_dram;
    cycles_.of_step[k] = std::max(cycles_.of_last_step[k],
                                  static_cast<double>(k + 1) * bytes_cycles / std::max(1.0, steps));
  }
}

}  // namespace attnscope
