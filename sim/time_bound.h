/// The lower bound of a launch's time: no unit of the GPU is faster than the peak rate in its
/// description, so the launch takes at least as long as the slowest unit needs. All reported bounds
/// (of simulate(), the timeline, the ledger, the tables of the scripts) come from here.
///
///   tensor cores matrix products in 16-bit precision
///   CUDA cores               all other operations, and matrix products in fp32
///   special function units   exponentials, at 16 per clock per SM on every GPU described
///   DRAM                     compulsory bytes (see SimulationReport::compulsory)
///
/// Latency, launch overhead, idle SMs and units that wait for each other are not included: the
/// bound is not a prediction.
#pragma once

#include <array>
#include <string_view>

#include "sim/device/gpu_description.h"
#include "sim/observers/flop_counter.h"

namespace attnscope {

/// A unit whose peak rate bounds the time.
enum class GpuUnit : std::uint8_t { tensor_cores, cuda_cores, special_function_units, dram };
inline constexpr std::size_t kGpuUnits = 4;

/// "tensor_cores": the spelling in files and tables.
constexpr std::array<std::string_view, kGpuUnits> enum_names(GpuUnit) {
  return {"tensor_cores", "cuda_cores", "special_function_units", "dram"};
}
/// "tensor cores": the spelling in sentences.
std::string_view words_of(GpuUnit unit);

/// Seconds that each unit needs at its peak rate.
using UnitSeconds = std::array<double, kGpuUnits>;
inline double of(const UnitSeconds& seconds, GpuUnit unit) {
  return seconds[static_cast<std::size_t>(unit)];
}

/// The longest of these times, and its unit.
struct TimeBound {
  double seconds = 0;
  GpuUnit unit = GpuUnit::tensor_cores;
};
TimeBound time_bound(const UnitSeconds& seconds);

/// Peak rates of a GPU on a problem in one precision.
class PeakRates {
 public:
  PeakRates(const GpuDescription& gpu, DType dtype);

  /// The unit of matrix products: tensor cores, or CUDA cores for fp32 or if the GPU has no tensor
  /// cores for the type.
  GpuUnit matrix_unit() const { return matrix_unit_; }
  UnitSeconds seconds(const Flops& flops, double dram_bytes) const;

 private:
  GpuUnit matrix_unit_ = GpuUnit::tensor_cores;
  double matrix_flops_per_s_;
  double cuda_core_flops_per_s_;
  double exponentials_per_s_;
  double dram_bytes_per_s_;
};

}  // namespace attnscope
