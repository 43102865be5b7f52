/// A predicted time in words: its basis, its parts, and why a recorded time differs from it or from
/// its lower bound.
#pragma once

#include <string>
#include <string_view>

#include "app/report/compare.h"

namespace attnscope {

/// The basis of a predicted time.
enum class TimeBasis : std::uint8_t {
  calibrated,   ///< steps and rates that were measured on this GPU
  what_if,      ///< as calibrated, but for a description with values other than the GPU's
  estimated,    ///< measured rates; the kernel's steps were not measured
  bounds_only,  ///< no prediction
};
constexpr std::array<std::string_view, 4> enum_names(TimeBasis) {
  return {"calibrated", "what if", "estimated", "bounds only"};
}
TimeBasis time_basis(const SimulationReport& report, const GpuDescription& gpu);

/// Why the prediction is not based on calibrated steps, or why there is none, in one clause that
/// names fields by field_name(); empty if it is.
std::string why_not_calibrated(const SimulationReport& report, const GpuDescription& gpu);

/// The basis as a sentence: "what if: the calibration of NVIDIA H200 SXM 141 GB, with changed
/// device values".
std::string time_basis_text(const SimulationReport& report, const GpuDescription& gpu,
                            Reader reader);

/// The name of a part: "steps", "L2".
std::string_view part_words(TimePart part);

/// The parts of at least half a percent: "steps 71 %, waiting 12 %, idle 17 %".
std::string parts_text(const TimePrediction& prediction);

/// How far the time is from its lower bound, and what the bound leaves out: idle SMs, exponentials
/// that wait for other units, additional bytes that reached DRAM.
std::string time_bound_reason(const ComparisonLine& line, const SimulationReport& model,
                              const GpuDescription& gpu, const RecordingRow& run);

/// The parts of a predicted time, and why the recorded one may differ: steps that are not
/// calibrated, a different clock, different DRAM bytes. `model.time` is the prediction.
std::string predicted_time_reason(const ComparisonLine& line, const SimulationReport& model,
                                  const GpuDescription& gpu, const RecordingRow& run);

}  // namespace attnscope
