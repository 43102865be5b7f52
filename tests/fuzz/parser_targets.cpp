/// The parsers of files. A valid file is written and read back: both must be the same.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "app/lessons/lesson.h"
#include "kernels/measure/trace/kernel_trace.h"
#include "kernels/recording/recording.h"
#include "reference/npy.h"
#include "sim/device/calibration.h"
#include "sim/device/gpu_description.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch.h"

namespace attnscope::fuzz {

namespace {

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  const std::size_t bytes = a.size() * sizeof(double);
  return a.size() == b.size() && (bytes == 0 || std::memcmp(a.data(), b.data(), bytes) == 0);
}

/// Writes what was read, reads it and writes it again: both results must be equal.
template <typename Value, typename Parse, typename Text>
void require_round_trip(const Value& first, const Parse& parse, const Text& text_of) {
  const std::string text = text_of(first);
  const auto second = parse(text, "written");
  require(second.ok(),
          second ? "" : fmt::format("cannot read what was written: {}", second.error().message));
  require(text_of(second.value()) == text, "reading and writing again changes the file");
}

}  // namespace

void run_npy(std::string_view input) {
  for (const NpyTypes types : {NpyTypes::floating, NpyTypes::any_number}) {
    const auto array = parse_npy(input, "input", types);
    if (!array) {
      require_good_message(array.error());
      continue;
    }
    const NpyArray& first = array.value();
    std::size_t elements = 1;
    for (const Index extent : first.shape) elements *= static_cast<std::size_t>(extent);
    require(elements == first.data.size(), "shape and data disagree");
    const std::string path = scratch_folder() / "written.npy";
    if (const auto error = write_npy(path, first.shape, first.data)) {
      throw Finding(error->message);
    }
    const auto second = read_npy(path);
    require(second.ok(), "cannot read what was written");
    require(second.value().shape == first.shape, "the shape changed");
    require(same_bits(second.value().data, first.data), "the data changed");
    const auto shape = read_npy_shape(path);
    require(shape.ok() && shape.value() == first.shape, "the shape alone differs");
  }
}

void run_lesson(std::string_view input) {
  const auto lesson = lessons::parse_lesson(input, "input.json");
  if (!lesson) return require_good_message(lesson.error());
  require(!lesson.value().steps.empty(), "a lesson without a step");
}

void run_recording(std::string_view input) {
  const auto recording = parse_recording(input, "input");
  if (!recording) return require_good_message(recording.error());
  require_round_trip(recording.value(), parse_recording, recording_text);
  for (const RecordingRow& row : recording.value().rows) {
    require(row.measurement.has_value() != row.error.has_value(), "neither result nor reason");
    const bool identified = row.run.files_hash != kUnknownFiles;
    require(!same_run(row, row) || identified, "an unidentified row equals itself");
    if (row.measurement) {
      const TimeStatistics& time = row.measurement->time;
      require(time.min_s > 0 && std::isfinite(time.max_s), "a time without meaning");
      require(!time.sm_clock_hz || std::isfinite(1.0 / *time.sm_clock_hz), "a clock of 0");
    }
  }
}

void run_trace(std::string_view input) {
  const auto trace = parse_kernel_trace(input, "input");
  if (!trace) return require_good_message(trace.error());
  require(trace.value().run.problem.block_mask == nullptr, "a trace with a block mask");
  require_round_trip(trace.value(), parse_kernel_trace, kernel_trace_text);
  require(block_slots(trace.value()).size() == trace.value().blocks.size(), "a slot is missing");
  require(trace.value().end_ps() >= 0 && trace.value().step_count() >= 0, "a negative count");
}

void run_gpu(std::string_view input) {
  const auto gpu = parse_gpu(input, "input");
  if (!gpu) return require_good_message(gpu.error());
  const GpuDescription& g = gpu.value();
  for (const double rate : {g.dram_bytes_per_s, g.boost_clock_hz, g.other_flops_per_s,
                            g.exp_per_clock_per_sm, g.exponentials_per_s()}) {
    require(rate > 0.0 && std::isfinite(1.0 / rate), fmt::format("a rate of {}", rate));
  }
  for (const auto& rate : g.matrix_flops_per_s_by_dtype) {
    require(!rate || (*rate > 0.0 && std::isfinite(1.0 / *rate)), "a rate without meaning");
  }
  require(g.shared_bytes_per_block <= g.shared_bytes_per_sm, "a thread block exceeds its SM");
}

void run_calibration(std::string_view input) {
  const auto calibration = parse_calibration(input, "input");
  if (!calibration) return require_good_message(calibration.error());
  require_round_trip(calibration.value(), parse_calibration, calibration_text);
  for (const MeasuredQuantity& quantity : calibration.value().quantities) {
    const bool has_value = calibration.value().find(quantity.name) == &quantity;
    require(has_value == quantity.unavailable.empty(), "neither a value nor a reason");
    if (!has_value) continue;
    require(quantity.min > 0 && quantity.min <= quantity.value && quantity.value <= quantity.max,
            "a value outside its own range");
    require(std::isfinite(quantity.max / quantity.min), "a value without meaning");
  }
}

}  // namespace attnscope::fuzz
