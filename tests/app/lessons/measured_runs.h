/// Runs of a lesson as if a GPU had measured them.
#pragma once

#include "app/documents/simulated_run.h"
#include "app/lessons/run_values.h"
#include "kernels/recording/recording.h"

namespace attnscope::lessons {

/// The run, measured with this time and without counters on the GPU that it models.
inline Recording measured_run(const RunSpec& spec, double time_s) {
  const ModelRun model = model_run(spec).value();
  Recording recording{.device = {.name = model.gpu.device_name,
                                 .compute_capability = model.gpu.compute_capability,
                                 .sm_count = model.gpu.sm_count,
                                 .l2_bytes = model.gpu.l2_bytes,
                                 .memory_bytes = model.gpu.hbm_bytes},
                      .date = "2026-01-31T12:34:56Z"};
  RecordingRow row{.run = model.run};
  row.run.asked.kernel = spec.algorithm;
  row.measurement.emplace();
  row.measurement->time = {time_s, time_s, time_s, 20};
  row.measurement->unavailable_counters["*"] = "reading counters needs permission";
  recording.rows.push_back(std::move(row));
  return recording;
}

inline SessionRuns session_of(std::vector<Recording> runs) {
  return std::make_shared<const std::vector<Recording>>(std::move(runs));
}

}  // namespace attnscope::lessons
