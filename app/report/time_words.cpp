#include "app/report/time_words.h"

#include <fmt/core.h>

#include <cmath>

#include "app/report/report_text.h"
#include "sim/device/calibration.h"

namespace attnscope {

namespace {

constexpr double kTimeAgreementPercent = 5.0;

/// Reasons why the recorded pass may not take the predicted time; each begins with "; ".
std::string causes_of_difference(const ComparisonLine& line, const SimulationReport& model,
                                 const GpuDescription& gpu, const Measurement& measured) {
  constexpr double kClockAgreement = 0.01;
  std::string causes;
  const double predicted_hz = model.time->clock_hz;
  if (const auto hz = measured.time.sm_clock_hz;
      hz && std::abs(*hz - predicted_hz) > kClockAgreement * predicted_hz) {
    causes += fmt::format("; the SM clock was {}, predicted {}", clock_text(*hz),
                          clock_text(predicted_hz));
  }
  const auto read_bytes = measured.counter(counter::kDramReadBytes);
  const auto written_bytes = measured.counter(counter::kDramWriteBytes);
  if (!model.dram || !read_bytes || !written_bytes) return causes;
  const double further =
      *read_bytes + *written_bytes - static_cast<double>(model.dram->total.total());
  const double further_s = std::abs(further) / gpu.dram_bytes_per_s;
  if (100.0 * further_s > kTimeAgreementPercent * *line.modelled) {
    causes += fmt::format("; {} moved {} {} than predicted", dram_name(gpu),
                          bytes_text(std::abs(further)), further > 0 ? "more" : "less");
  }
  return causes;
}

}  // namespace

TimeBasis time_basis(const SimulationReport& report, const GpuDescription& gpu) {
  if (!report.time) return TimeBasis::bounds_only;
  if (!report.time->uncalibrated.empty()) return TimeBasis::estimated;
  const bool changed = gpu.is_altered || gpu.what_if != WhatIf{};
  return changed ? TimeBasis::what_if : TimeBasis::calibrated;
}

std::string why_not_calibrated(const SimulationReport& report, const GpuDescription& gpu) {
  if (report.time) return report.time->uncalibrated;
  const auto calibration = load_calibration(gpu.name);
  if (!calibration) return calibration.error().message;
  if (!calibration.value()) return "the GPU is not calibrated";
  if (!report.dram) return "too many tiles to follow through L2";
  return "the calibration of the GPU is not complete";
}

std::string time_basis_text(const SimulationReport& report, const GpuDescription& gpu,
                            Reader reader) {
  const TimeBasis basis = time_basis(report, gpu);
  switch (basis) {
    case TimeBasis::calibrated:
      return fmt::format("calibrated: steps and rates measured on {}", gpu.display_name);
    case TimeBasis::what_if:
      return fmt::format("what if: the calibration of {}, with changed device values",
                         gpu.display_name);
    case TimeBasis::estimated:
      return "estimated from the rates of the units: " +
             words(why_not_calibrated(report, gpu), reader);
    case TimeBasis::bounds_only:
      return "no prediction: " + words(why_not_calibrated(report, gpu), reader);
  }
  return "";
}

std::string_view part_words(TimePart part) {
  constexpr std::array<std::string_view, kTimeParts> kWords{"overhead", "steps", "waiting",
                                                            "idle",     "L2",    "DRAM"};
  return kWords[static_cast<std::size_t>(part)];
}

std::string parts_text(const TimePrediction& prediction) {
  constexpr double kLeastPercent = 0.5;
  const PartSeconds parts = prediction.parts();
  std::string text;
  for (std::size_t n = 0; n < kTimeParts; ++n) {
    const double percent = 100.0 * parts[n] / prediction.seconds;
    if (percent < kLeastPercent) continue;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ",
                        part_words(static_cast<TimePart>(n)), percent);
  }
  return text;
}

std::string time_bound_reason(const ComparisonLine& line, const SimulationReport& model,
                              const GpuDescription& gpu, const RecordingRow& run) {
  const Measurement& measured = *run.measurement;
  std::string reason =
      fmt::format("a lower bound, set by {}{}: {:.3g} % of the recorded time",
                  model.bound_by == GpuUnit::dram ? "" : "the ", words_of(model.bound_by),
                  100.0 * *line.modelled / *line.recorded);
  if (const Index blocks = thread_blocks_of_main_launch(model); blocks < gpu.sm_count) {
    reason += fmt::format("; only {} thread block{} for {} SMs", blocks, blocks == 1 ? "" : "s",
                          gpu.sm_count);
  }

  // Effects that the bound leaves out, each from the data
  const auto read_bytes = measured.counter(counter::kDramReadBytes);
  const auto written_bytes = measured.counter(counter::kDramWriteBytes);
  if (read_bytes && written_bytes) {
    const double dram_s = (*read_bytes + *written_bytes) / gpu.dram_bytes_per_s;
    if (dram_s > 1.05 * *line.modelled) {
      reason += fmt::format("; moving the bytes counted at {} takes at least {}", dram_name(gpu),
                            seconds_text(dram_s));
    }
  }
  const double exp_s = static_cast<double>(model.exponentials) / gpu.exponentials_per_s();
  if (model.bound_by != GpuUnit::special_function_units && exp_s > 0.1 * *line.modelled) {
    reason += fmt::format("; the exponentials alone take {}", seconds_text(exp_s));
  }
  if (const auto busy = measured.counter(counter::kTensorActivePercent)) {
    reason += fmt::format("; the tensor cores were busy {:.3g} % of the time", *busy);
  }
  return reason;
}

std::string predicted_time_reason(const ComparisonLine& line, const SimulationReport& model,
                                  const GpuDescription& gpu, const RecordingRow& run) {
  const bool agrees = std::abs(*line.gap_percent) <= kTimeAgreementPercent;
  std::string causes;
  if (!line.uncalibrated.empty()) {
    causes = "; estimated from the rates of the units: " + line.uncalibrated;
  }
  if (!agrees) causes += causes_of_difference(line, model, gpu, *run.measurement);
  const char* verdict = agrees ? "agrees" : causes.empty() ? "unexplained" : "off";
  return fmt::format("{}{}; predicted: {}", verdict, causes, parts_text(*model.time));
}

}  // namespace attnscope
