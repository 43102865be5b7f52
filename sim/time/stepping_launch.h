/// A launch whose blocks execute steps: its time, and the time and SM of each block.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "sim/time/block_schedule.h"
#include "sim/time/block_work.h"
#include "sim/time/unit_steps.h"
#include "sim/time_prediction.h"

namespace attnscope {

/// Bytes of a launch.
struct LaunchBytes {
  double requested_read, requested_written;
  double dram_read, dram_written;

  /// The share of the bytes read that comes from DRAM.
  double miss_share() const {
    return requested_read > 0 ? std::min(1.0, dram_read / requested_read) : 0.0;
  }
};

/// The properties, other than its costs, that determine a launch's time.
struct LaunchSetting {
  const MachineRates& rates;
  const GpuDescription& gpu;
  LaunchBytes bytes;
  const std::atomic<bool>* cancel;
  Index thread_blocks = 0;  ///< of a launch that only moves bytes; 0: unknown
  Index residency = 1;      ///< blocks that an SM holds at once
};

class SteppingLaunch {
 public:
  /// The arguments must outlive the object.
  SteppingLaunch(const LaunchSetting& setting, const StepCosts& costs, const LaunchWork& work);

  double clock_hz() const { return clock_hz_; }
  LaunchTime time() const;
  /// The blocks in the order of the launch; only those of the first heads if there are very many.
  /// `heads_of_entry`: the number of heads of a batch entry.
  PredictedSchedule schedule(Index heads_of_entry) const;

 private:
  double per_byte(double bytes_per_s) const {
    return setting_.rates.cycles_per_byte(bytes_per_s, active_sms_, clock_hz_);
  }
  ScheduleCycles run(std::vector<ScheduledBlock>* scheduled = nullptr) const;
  double start_s() const;
  double start_s_of(double first_step_s, std::size_t blocks_on_sm) const;
  double further_dram_s(const ScheduleCycles& cycles) const;
  BlockTask task_of(const BlockWork& work) const;
  double steps_of(const BlockWork& work) const;
  double at_own_clock(double cycles) const;
  double first_wait(const BlockWork& work) const;
  void add_waits_for_memory();
  double memory_share() const;
  double next_queries_wait(const BlockWork& work) const;
  double list_wait(double latency_cycles) const;

  const LaunchSetting& setting_;
  const StepCosts& costs_;
  const LaunchWork& work_;
  /// The cycles of this launch's steps: `of_step` includes waits for tiles where memory is slower.
  StepCycles cycles_;
  double all_slots_cycles_ = 0;  ///< of a step while all calibrated slots are occupied
  std::vector<double> moves_;
  double active_sms_ = 0, clock_hz_ = 0;
  double dram_cycles_per_byte_ = 0, read_cycles_per_byte_ = 0, write_cycles_per_byte_ = 0;
};

}  // namespace attnscope
