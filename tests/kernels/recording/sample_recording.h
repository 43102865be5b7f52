/// A recording with every field that a file can have.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "kernels/recording/recording.h"

namespace attnscope {

inline RecordingRow measured_row(Index N) {
  RecordingRow row;
  AttentionProblem& problem = row.run.problem;
  problem.batch = 2;
  problem.heads = 8;
  problem.kv_heads = 4;
  problem.N = N;
  problem.N_kv = N + 3;
  problem.mask = Mask::causal(Mask::Alignment::top_left);
  problem.dtype = DType::fp16;
  row.run.tiling = Tiling{128, 64};
  RunSpec& asked = row.run.asked;
  asked.algorithm = "flash2";
  asked.kernel = "flash2";
  asked.variant.carry = Carry::fp32;
  asked.deterministic = N == 1024;
  asked.inputs = {InputKind::needle, 7};
  Measurement measurement;
  measurement.time = {1.25e-4, 1.5e-4, 3.0e-4, 20, 1.71e9};
  measurement.counters[std::string(counter::kRequestedReadBytes)] = 1073741824.0;
  measurement.counters[std::string(counter::kTensorActivePercent)] = 41.5;
  measurement.launches = {{"initialise", false, {}}, {"forward", true, measurement.counters}};
  measurement.unavailable_counters["lts__t_sectors.sum"] = "the chip does not have this counter";
  measurement.gradients =
      GradientAccuracy{{1e-3, 2e-3, 3e-3}, {4e-3, 5e-3, 6e-3}, {7e-3, 8e-3, 9e-3}, 64, 32, true};
  measurement.accuracy = Accuracy{1e-3, 2e-3, 3e-6, 4e-3, 64, true};
  measurement.spilled_bytes = 24;
  measurement.instructions = "mma.sync";
  row.measurement = measurement;
  return row;
}

/// A measured run and a failed one.
inline Recording sample() {
  Recording recording;
  recording.device = {"NVIDIA H200", "9.0",  132,    62914560, 150000000000,
                      "580.1",       "13.0", 1980.0, 3201.0,   700.0};
  recording.build = {"0.1.0", "0123abc", false};
  recording.date = "2026-01-31T12:34:56Z";
  recording.protocol = {3, 20, CacheState::warm, true, 64, 1.5};
  recording.rows.push_back(measured_row(1024));
  RecordingRow lost = measured_row(16384);
  lost.measurement.reset();
  lost.error = failed("out of memory: needs 137.4 GB");
  recording.rows.push_back(lost);
  return recording;
}

/// A path at which no file exists.
inline std::filesystem::path fresh_path(const std::string& name) {
  auto path = std::filesystem::path(::testing::TempDir()) / name;
  std::filesystem::remove(path);
  return path;
}

}  // namespace attnscope
