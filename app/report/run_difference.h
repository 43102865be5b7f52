/// Whether a measurement may be compared with a model: the only definition, for the ledger, the
/// charts, the timeline's SMs, `compare` and reports.
#pragma once

#include <string>

#include "kernels/recording/recording.h"
#include "sim/device/gpu_description.h"
#include "sim/simulation.h"

namespace attnscope {

/// The device of a measurement, and the state of its L2 cache before each pass.
struct MeasuredOn {
  DeviceInfo device;
  CacheState cache = CacheState::cold;
};

/// Whether the description matches the device: same name (if the description has one), compute
/// capability, number of SMs, L2 cache and memory size, and no number that a user changed.
bool describes(const GpuDescription& gpu, const DeviceInfo& device);

/// Why no kernel runs the modelled run, such as "no kernel runs standard with fusion separate": a
/// variant, splits or a pass that only the model has. Empty if a kernel runs it.
std::string why_no_kernel(const SimulationReport& model, const GpuDescription& gpu);

/// The difference between a model and a measurement.
enum class DifferenceIn : std::uint8_t {
  nothing,
  kernel,  ///< see why_no_kernel()
  problem,
  choice,  ///< algorithm, pass, kernel, switches, precision of O in HBM, deterministic dQ, or
           ///< settings unknown to this version
  gpu,
  tiling,
  cache
};

struct RunDifference {
  DifferenceIn in = DifferenceIn::nothing;
  std::string
      words;  ///< "recorded on NVIDIA H200, modelled for NVIDIA T4 16 GB"; empty for nothing
  bool none() const { return in == DifferenceIn::nothing; }
};

/// The first difference found. A gap may be shown only if there is none:
/// GPU, problem, algorithm, tiling, variant, pass, switches and cache state match the measurement.
RunDifference difference(const SimulationReport& model, const GpuDescription& gpu,
                         const RecordingRow& row, const MeasuredOn& on);

/// The recorded run, with a switch for its program if this version's kernel has two: a recording
/// may be older than the program with Hopper's instructions, and then no switch names the program
/// that ran.
ResolvedRun run_of_program(const RecordingRow& row, const GpuDescription& gpu);

}  // namespace attnscope
