/// attnscope-cli calibrate: microbenchmarks of this GPU, for the models of DRAM traffic and time.

#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/option_files.h"
#include "app/cli/outputs.h"
#include "app/cli/progress.h"
#include "app/report/compare.h"
#include "app/report/report_text.h"
#include "kernels/recording/recording.h"
#include "reference/message_text.h"
#include "sim/device/calibration.h"

namespace attnscope::cli {

namespace {

/// The value with its unit, in readable form.
std::string value_text(double value, const std::string& unit) {
  if (unit == "bytes/s") return bytes_text(value) + "/s";
  if (unit == "bytes") return capacity_text(static_cast<Index>(value));
  if (unit == "s") return seconds_text(value);
  if (unit == "Hz") return fmt::format("{:.1f} MHz", value * 1e-6);
  return fmt::format("{:.4g} {}", value, unit);
}

/// The quantity in the GPU's description, in its unit; nothing for most quantities.
std::optional<double> datasheet_value(const GpuDescription& gpu, std::string_view name) {
  if (name.starts_with("dram_") && name.ends_with("_per_s")) return gpu.dram_bytes_per_s;
  if (name.starts_with("l2_capacity_") && !name.ends_with("_percent_bytes")) {
    return static_cast<double>(gpu.l2_bytes);
  }
  if (name.starts_with("sm_clock_")) return gpu.boost_clock_hz;
  if (name == "ex2_per_cycle_per_sm") return gpu.exp_per_clock_per_sm;
  if (name == "ffma_per_cycle_per_sm") {
    constexpr double kFlops = 2;
    return gpu.other_flops_per_s / kFlops / gpu.boost_clock_hz / static_cast<double>(gpu.sm_count);
  }
  return std::nullopt;
}

std::vector<std::string> quantity_line(const MeasuredQuantity& quantity,
                                       const std::optional<GpuDescription>& gpu) {
  const auto datasheet = gpu ? datasheet_value(*gpu, quantity.name) : std::nullopt;
  const std::string stated = datasheet ? value_text(*datasheet, quantity.unit) : "";
  if (!quantity.is_available()) {
    return {quantity.name, "unavailable", "", "", stated};
  }
  const double spread_percent = 100 * (quantity.max - quantity.min) / quantity.value;
  return {quantity.name, value_text(quantity.value, quantity.unit),
          fmt::format("{:.1f} %", spread_percent), fmt::format("{}", quantity.n), stated};
}

std::string calibration_table(const Calibration& calibration,
                              const std::optional<GpuDescription>& gpu) {
  Lines lines = {{"quantity", "median", "max - min", "n", "datasheet"}};
  for (const MeasuredQuantity& quantity : calibration.quantities) {
    lines.push_back(quantity_line(quantity, gpu));
  }
  const CalibratedDevice& device = calibration.device;
  const auto named = [](const char* what, const std::string& value) {
    return value.empty() ? "" : fmt::format(", {} {}", what, one_line(value));
  };
  std::string text =
      fmt::format("{} (measured), {} SMs{}{}\n\n{}", one_line(device.name), device.sm_count,
                  named("driver", device.driver), named("CUDA", device.cuda), table_text(lines));
  std::map<std::string, int> reasons;
  for (const MeasuredQuantity& quantity : calibration.quantities) {
    if (!quantity.is_available()) ++reasons[quantity.unavailable];
  }
  for (const auto& [reason, count] : reasons) {
    text += fmt::format("\n{} unavailable: {}\n", count, one_line(reason));
  }
  if (gpu) {
    text += fmt::format("\nto ship it, save it as assets/gpus/{}.calibration.json\n", gpu->name);
  }
  return text;
}

Calibration calibration_of(const Gpu& gpu, std::vector<MeasuredQuantity> measured) {
  const DeviceInfo& device = gpu.device();
  const BuildInfo& build = build_info();
  return {.device = {.name = device.name,
                     .compute_capability = device.compute_capability,
                     .sm_count = device.sm_count,
                     .driver = device.driver,
                     .cuda = device.cuda},
          .date = utc_date(),
          .commit = build.commit,
          .local_changes = build.local_changes,
          .quantities = std::move(measured)};
}

Result<Answer> answer_calibrate(const GivenOptions& given) {
  ATTNSCOPE_TRY(const auto file, parse_output(given, "out"));
  CalibrationControl control;
  constexpr int kLeastRepeats = 3, kMostRepeats = 1000;
  ATTNSCOPE_TRY(control.repeats,
                read_whole(given, "repeats", kLeastRepeats, kMostRepeats, control.repeats));
  control.progress = show_step;

  show_progress("calibrating");
  ATTNSCOPE_TRY(const auto gpu, Gpu::open());
  ATTNSCOPE_TRY(auto measured, gpu->calibrate(control));
  const Calibration calibration = calibration_of(*gpu, std::move(measured));
  const std::string text = calibration_text(calibration);
  if (const auto read = parse_calibration(text, "this calibration"); !read) {
    return failed("invalid measurement: {}", read.error().message);
  }

  std::optional<GpuDescription> description;
  if (const auto name = find_gpu_of(gpu->device())) {
    if (auto loaded = load_gpu(*name)) description = std::move(loaded).value();
  }
  return Answer{.json = text,
                .csv = csv_text(ordered_json::parse(text).at("quantities")),
                .text = calibration_table(calibration, description),
                .failure = {},
                .others = {text_document(file, text)}};
}

}  // namespace

CommandSpec calibrate_command() {
  return answering(
      {.name = "calibrate",
       .summary = "Measures this GPU's rates, latencies and capacities for the models.",
       .options = {{"out", "FILE", "write the calibration (JSON)", false,
                    writes_file("the calibration of a GPU")},
                   {"repeats", "COUNT",
                    "timed repeats of each measurement; launches are repeated five times as often "
                    "[11]"}}},
      answer_calibrate);
}

}  // namespace attnscope::cli
