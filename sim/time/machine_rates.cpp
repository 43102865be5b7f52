#include "sim/time/machine_rates.h"

#include <algorithm>

namespace attnscope {

double MachineRates::dram_seconds(double read_bytes, double written_bytes) const {
  const double bytes = read_bytes + written_bytes;
  if (bytes <= 0) return 0;
  const double copied = 2 * std::min(read_bytes, written_bytes);
  const double rest_s = read_bytes > written_bytes
                            ? (read_bytes - written_bytes) / dram_read_bytes_per_s
                            : (written_bytes - read_bytes) / dram_write_bytes_per_s;
  return copied / dram_copy_bytes_per_s + rest_s;
}

double MachineRates::matrix_flops_per_s(bool on_tensor_cores) const {
  constexpr double kFlopsOfMultiplyAdd = 2;
  return sm_count * (on_tensor_cores
                         ? matrix_flops_per_cycle * matrix_clock_hz
                         : kFlopsOfMultiplyAdd * multiply_adds_per_cycle * boost_clock_hz);
}

double MachineRates::launch_gap_before(double thread_blocks) const {
  const double further_sms = std::min(thread_blocks, sm_count) - 1.0;
  const double share = sm_count > 1 ? further_sms / (sm_count - 1.0) : 1.0;
  return launch_gap_one_block_s + share * (launch_gap_full_grid_s - launch_gap_one_block_s);
}

double MachineRates::cycles_per_byte(double bytes_per_s, double sms, double clock_hz) const {
  return 1.0 / std::min(l2_read_one_sm_bytes_per_cycle, bytes_per_s / sms / clock_hz);
}

Result<MachineRates> machine_rates(const Calibration& calibration) {
  struct Field {
    std::string_view name;
    double MachineRates::*member;
  };
  constexpr Field kFields[] = {
      {"sm_clock_hz", &MachineRates::boost_clock_hz},
      {"sm_clock_matrix_hz", &MachineRates::matrix_clock_hz},
      {"dram_read_bytes_per_s", &MachineRates::dram_read_bytes_per_s},
      {"dram_write_bytes_per_s", &MachineRates::dram_write_bytes_per_s},
      {"dram_copy_bytes_per_s", &MachineRates::dram_copy_bytes_per_s},
      {"l2_read_bytes_per_s", &MachineRates::l2_read_bytes_per_s},
      {"l2_write_bytes_per_s", &MachineRates::l2_write_bytes_per_s},
      {"red_add_f32_bytes_per_s", &MachineRates::added_bytes_per_s},
      {"l2_read_one_sm_bytes_per_cycle", &MachineRates::l2_read_one_sm_bytes_per_cycle},
      {"l1_latency_cycles", &MachineRates::l1_latency_cycles},
      {"l2_latency_cycles", &MachineRates::l2_latency_cycles},
      {"dram_latency_cycles", &MachineRates::dram_latency_cycles},
      {"block_launch_256_threads_cycles", &MachineRates::block_launch_cycles},
      {"launch_overhead_s", &MachineRates::launch_overhead_s},
      {"launch_gap_s", &MachineRates::launch_gap_one_block_s},
      {"launch_gap_full_grid_s", &MachineRates::launch_gap_full_grid_s},
      {"mma_bf16_4_warps_flops_per_cycle_per_sm", &MachineRates::sync_matrix_flops_per_cycle},
      {"ffma_per_cycle_per_sm", &MachineRates::multiply_adds_per_cycle},
      {"ex2_per_cycle_per_sm", &MachineRates::exponentials_per_cycle},
      {"ldmatrix_bytes_per_cycle_per_sm", &MachineRates::shared_bytes_per_cycle},
      {"barrier_4_warps_cycles", &MachineRates::barrier_cycles}};
  MachineRates rates{.sm_count = static_cast<double>(calibration.device.sm_count)};
  for (const Field& field : kFields) {
    const MeasuredQuantity* const quantity = calibration.find(field.name);
    if (quantity == nullptr) {
      return unavailable("the calibration of {} lacks {}", calibration.device.name, field.name);
    }
    rates.*field.member = quantity->value;
  }
  for (const char* name : {"wgmma_n256_a_shared_8_warps_flops_per_cycle_per_sm",
                           "mma_bf16_16_warps_flops_per_cycle_per_sm"}) {
    if (const MeasuredQuantity* const quantity = calibration.find(name)) {
      rates.matrix_flops_per_cycle = quantity->value;
      return rates;
    }
  }
  return unavailable("the calibration of {} lacks the rate of its tensor cores",
                     calibration.device.name);
}

}  // namespace attnscope
