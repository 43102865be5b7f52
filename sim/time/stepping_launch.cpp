#include "sim/time/stepping_launch.h"

#include <cmath>

namespace attnscope {

namespace {

/// moves[n]: in how many of the first n steps the maximum of one of a warp's rows is expected to
/// move. The maximum of a row changes in step j with probability 1 / j, whatever the distribution
/// of the scores.
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
    : setting_(setting), costs_(costs), work_(work) {
  if (costs.rescaled_cycles > 0) {
    const auto most = std::ranges::max_element(work.blocks, {}, &BlockWork::steps);
    moves_ = expected_moves(most->steps, costs.rows_of_warp);
  }
  const MachineRates& rates = setting_.rates;
  const double blocks_in_all =
      static_cast<double>(work.blocks.size()) * static_cast<double>(work.heads);
  active_sms_ = std::min(rates.sm_count, blocks_in_all);
  // The clock measured for the kernel's steps, even if few SMs are busy
  clock_hz_ = costs.clock_hz;
  const double miss = setting_.bytes.miss_share();
  dram_cycles_per_byte_ = miss * per_byte(rates.dram_read_bytes_per_s);
  read_cycles_per_byte_ = dram_cycles_per_byte_ + (1 - miss) * per_byte(rates.l2_read_bytes_per_s);
  write_cycles_per_byte_ = per_byte(rates.l2_write_bytes_per_s);
}

LaunchTime SteppingLaunch::time() const {
  const std::vector<double> of_step = cycles_of_step();
  const ScheduleCycles cycles = run(of_step);
  const double sm_seconds = 1.0 / clock_hz_ / static_cast<double>(setting_.gpu.sm_count);
  LaunchTime time;
  const double memory_share = 1.0 - costs_.cycles.back() / of_step.back();
  of(time.parts, TimePart::steps) = (1 - memory_share) * cycles.stepping * sm_seconds;
  of(time.parts, costs_.are_calibrated ? TimePart::dram : TimePart::l2) =
      memory_share * cycles.stepping * sm_seconds;
  of(time.parts, TimePart::waiting) = cycles.waiting * sm_seconds + start_s();
  of(time.parts, TimePart::idle) = cycles.idle * sm_seconds;
  of(time.parts, TimePart::dram) += further_dram_s(cycles);
  return time;
}

ScheduleCycles SteppingLaunch::run(const std::vector<double>& of_step,
                                   std::vector<ScheduledBlock>* scheduled) const {
  std::vector<BlockTask> tasks;
  tasks.reserve(work_.blocks.size());
  for (const BlockWork& work : work_.blocks) tasks.push_back(task_of(work));
  return BlockSchedule(setting_.gpu.sm_count, of_step)
      .run(tasks, work_.heads, setting_.cancel, scheduled);
}

/// The time that DRAM still needs for its bytes after the last block has ended.
double SteppingLaunch::further_dram_s(const ScheduleCycles& cycles) const {
  const double dram_s =
      setting_.rates.dram_seconds(setting_.bytes.dram_read, setting_.bytes.dram_written);
  return std::max(0.0, dram_s - cycles.end / clock_hz_);
}

PredictedSchedule SteppingLaunch::schedule(Index heads_of_entry) const {
  std::vector<ScheduledBlock> scheduled;
  const ScheduleCycles cycles = run(cycles_of_step(), &scheduled);
  std::ranges::sort(scheduled, {}, &ScheduledBlock::index);

  // Starting the launch delays all steps; the time that DRAM needs beyond them stretches them
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

/// What starting a launch costs beyond its overhead and its blocks' first waits and steps: code
/// comes from DRAM, and SMs change their configuration.
double SteppingLaunch::start_s() const {
  if (costs_.first_step_s == 0) return 0;
  const BlockWork one_step{
      .steps = 1, .column_loads = 1, .first_bytes = work_.blocks.front().first_bytes};
  const BlockTask task = task_of(one_step);
  const double cycles = task.wait_before_cycles + task.steps * costs_.cycles.back();
  return std::max(0.0, costs_.first_step_s - setting_.rates.launch_overhead_s - cycles / clock_hz_);
}

/// The task of a block with this work. A step with a higher cost counts as more than one.
BlockTask SteppingLaunch::task_of(const BlockWork& work) const {
  const MachineRates& rates = setting_.rates;
  const double all_cycles = costs_.cycles.back();
  double further_cycles = static_cast<double>(work.masked_steps) * costs_.masked_cycles;
  if (costs_.rescaled_cycles > 0) {
    further_cycles += moves_[static_cast<std::size_t>(work.steps)] * costs_.rescaled_cycles;
  }
  const double waits = costs_.waits_for_column_tiles ? static_cast<double>(work.column_loads) : 1.0;
  const double wait =
      rates.dram_latency_cycles + static_cast<double>(work.first_bytes) * read_cycles_per_byte_;
  const double before = rates.block_launch_cycles + waits * wait;
  const bool stores_in_passing = costs_.waits_for_column_tiles || work_.flow.stores_beside_next;
  return {.wait_before_cycles = before,
          .wait_before_following_cycles = work_.flow.loads_ahead ? 0.0 : before,
          .steps = static_cast<double>(work.steps) + further_cycles / all_cycles +
                   (work_.flow.overlaps_softmax ? 1.0 : 0.0),
          .wait_after_cycles = stores_in_passing
                                   ? 0.0
                                   : static_cast<double>(work.last_bytes) * write_cycles_per_byte_};
}

/// Cycles of a step when some tiles come from DRAM, at least those that memory needs. Calibrated
/// cycles already include the limit of L2.
std::vector<double> SteppingLaunch::cycles_of_step() const {
  double steps = 0, read_bytes = 0, written_bytes = 0;
  for (const BlockWork& work : work_.blocks) {
    steps += static_cast<double>(work.steps);
    read_bytes += static_cast<double>(work.read_bytes - work.first_bytes);
    written_bytes += static_cast<double>(work.written_bytes - work.last_bytes);
  }
  const double bytes_cycles = costs_.are_calibrated ? read_bytes * dram_cycles_per_byte_
                                                    : read_bytes * read_cycles_per_byte_ +
                                                          written_bytes * write_cycles_per_byte_;
  std::vector<double> cycles = costs_.cycles;
  for (std::size_t k = 0; k < cycles.size(); ++k) {
    cycles[k] += setting_.bytes.miss_share() * costs_.from_dram_cycles;
    cycles[k] =
        std::max(cycles[k], static_cast<double>(k + 1) * bytes_cycles / std::max(1.0, steps));
  }
  return cycles;
}

}  // namespace attnscope
