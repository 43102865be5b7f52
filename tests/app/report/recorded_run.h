/// Recorded runs made from the model, so that tests know each gap.
#pragma once

#include "app/report/compare.h"

namespace attnscope {

/// An H200 with a cold L2, as recordings name it.
inline MeasuredOn h200_device() {
  DeviceInfo device;
  device.name = "NVIDIA H200";
  device.compute_capability = "9.0";
  device.sm_count = 132;
  device.l2_bytes = 62914560;
  device.memory_bytes = 150109880320;
  device.driver = "580.1";
  return {device, CacheState::cold};
}

/// A small problem with several row tiles; with 16 heads it reads more than 1 MB of DRAM.
inline RecordingRow recorded_run(const std::string& algorithm, Index heads = 2) {
  RecordingRow row;
  row.run.asked.algorithm = row.run.asked.kernel = algorithm;
  row.run.problem = {.heads = heads, .kv_heads = heads};
  row.run.tiling = {128, 64};
  return row;
}

inline SimulationReport model_of(const RecordingRow& row, const GpuDescription& gpu) {
  return model_kernel_run(row.run, gpu).value();
}

/// The counters that a GPU would show if the model were exact, times `factor`.
inline Counters counters_of(const Bytes& requested, const Bytes& dram, double factor = 1.0) {
  Counters counters;
  counters[std::string(counter::kRequestedReadBytes)] =
      factor * static_cast<double>(requested.read_bytes);
  counters[std::string(counter::kRequestedWriteBytes)] =
      factor * static_cast<double>(requested.write_bytes);
  counters[std::string(counter::kL2ReductionSectors)] =
      factor * static_cast<double>(requested.atomic_bytes) / static_cast<double>(kSectorBytes);
  const auto sectors = [factor](Index bytes) {
    return factor * static_cast<double>(bytes) / static_cast<double>(kSectorBytes);
  };
  counters[std::string(counter::kL2ReadSectors)] = sectors(requested.read_bytes);
  counters[std::string(counter::kL2WriteSectors)] =
      sectors(requested.write_bytes - requested.atomic_bytes);
  counters[std::string(counter::kL2HitSectors)] =
      sectors(requested.total()) -
      static_cast<double>(dram.read_bytes) / static_cast<double>(kSectorBytes);
  counters[std::string(counter::kDramReadBytes)] = static_cast<double>(dram.read_bytes);
  counters[std::string(counter::kDramWriteBytes)] = static_cast<double>(dram.write_bytes);
  return counters;
}

/// The run with a measurement that agrees with the model; its time is twice the lower bound.
inline RecordingRow agreeing_run(const std::string& algorithm, const GpuDescription& gpu,
                                 PassKind pass = PassKind::forward, Index heads = 2) {
  RecordingRow row = recorded_run(algorithm, heads);
  row.run.asked.pass = pass;
  const SimulationReport model = model_of(row, gpu);
  Measurement measurement;
  const double time_s = 2.0 * model.bound_s;
  measurement.time = {time_s, time_s, time_s, 20};
  measurement.counters = counters_of(model.requested, model.compulsory);
  for (const LaunchReport& launch : model.launches) {
    measurement.launches.push_back(
        {launch.name, true, counters_of(launch.requested, launch.compulsory)});
  }
  row.measurement = measurement;
  return row;
}

}  // namespace attnscope
