/// The rates and latencies that the time model uses, as measured by a calibration.
#pragma once

#include "sim/device/calibration.h"
#include "sim/device/gpu_description.h"

namespace attnscope {

/// The rates of the whole GPU, unless an SM is named.
struct MachineRates {
  double sm_count = 0;
  double boost_clock_hz = 0;   ///< during light work
  double matrix_clock_hz = 0;  ///< while the tensor cores of every SM work at their full rate
  double dram_read_bytes_per_s = 0;
  double dram_write_bytes_per_s = 0;
  double dram_copy_bytes_per_s = 0;  ///< reads and writes, both counted
  double l2_read_bytes_per_s = 0;
  double l2_write_bytes_per_s = 0;
  double added_bytes_per_s = 0;               ///< by atomic additions in fp32 in L2
  double l2_read_one_sm_bytes_per_cycle = 0;  ///< of one SM while no other SM reads
  // Latencies at the SM clock of light work
  double l1_latency_cycles = 0;
  double l2_latency_cycles = 0;
  double dram_latency_cycles = 0;
  double block_launch_cycles = 0;
  double launch_overhead_s = 0;  ///< of the first launch, by CUDA events
  // Added by each launch after the first: if it and the one before are one thread block each, and
  // if they fill the GPU
  double launch_gap_one_block_s = 0;
  double launch_gap_full_grid_s = 0;
  // Rates of one SM
  double matrix_flops_per_cycle = 0;       ///< by wgmma if its rate is known, else by mma.sync
  double sync_matrix_flops_per_cycle = 0;  ///< by mma.sync, of 4 warps
  double multiply_adds_per_cycle = 0;
  double exponentials_per_cycle = 0;
  double shared_bytes_per_cycle = 0;
  double barrier_cycles = 0;

  /// Seconds that DRAM takes to read and write these bytes together: copies are slower than either
  /// alone.
  double dram_seconds(double read_bytes, double written_bytes) const;
  /// The gap before a launch. `thread_blocks`: the larger number of this launch and the previous
  /// one. Interpolated linearly from one block to a full grid.
  double launch_gap_before(double thread_blocks) const;
  /// The least time that a launch waits for its code, which is not in L2: one DRAM latency.
  double code_wait_s() const { return dram_latency_cycles / boost_clock_hz; }
  /// FLOP/s of matrix products on all SMs at their full rate.
  double matrix_flops_per_s(bool on_tensor_cores) const;
  /// Cycles of one SM, at `clock_hz`, for a byte of traffic that `sms` SMs share.
  double cycles_per_byte(double bytes_per_s, double sms, double clock_hz) const;
};

/// `unavailable`, with the quantity's name, if the calibration lacks one.
Result<MachineRates> machine_rates(const Calibration& calibration);

}  // namespace attnscope
