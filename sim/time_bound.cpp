#include "sim/time_bound.h"

#include <algorithm>

namespace attnscope {

std::string_view words_of(GpuUnit unit) {
  constexpr std::array<std::string_view, kGpuUnits> kWords = {"tensor cores", "CUDA cores",
                                                              "special function units", "DRAM"};
  return kWords[static_cast<std::size_t>(unit)];
}

TimeBound time_bound(const UnitSeconds& seconds) {
  const auto longest = std::max_element(seconds.begin(), seconds.end());
  return {*longest, static_cast<GpuUnit>(longest - seconds.begin())};
}

PeakRates::PeakRates(const GpuDescription& gpu, DType dtype)
    : matrix_flops_per_s_(gpu.matrix_flops_per_s(dtype).value_or(gpu.other_flops_per_s)),
      cuda_core_flops_per_s_(gpu.other_flops_per_s),
      exponentials_per_s_(gpu.exponentials_per_s()),
      dram_bytes_per_s_(gpu.dram_bytes_per_s) {
  const bool has_tensor_cores = dtype != DType::fp32 && gpu.matrix_flops_per_s(dtype).has_value();
  matrix_unit_ = has_tensor_cores ? GpuUnit::tensor_cores : GpuUnit::cuda_cores;
}

UnitSeconds PeakRates::seconds(const Flops& flops, double dram_bytes) const {
  UnitSeconds seconds{};
  const auto add = [&seconds](GpuUnit unit, double amount, double per_s) {
    seconds[static_cast<std::size_t>(unit)] += amount / per_s;
  };
  add(matrix_unit_, static_cast<double>(flops.matmul), matrix_flops_per_s_);
  add(GpuUnit::cuda_cores, static_cast<double>(flops.cuda_core()), cuda_core_flops_per_s_);
  add(GpuUnit::special_function_units, static_cast<double>(flops.exponentials),
      exponentials_per_s_);
  add(GpuUnit::dram, dram_bytes, dram_bytes_per_s_);
  return seconds;
}

}  // namespace attnscope
