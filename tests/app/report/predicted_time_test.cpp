/// A predicted time beside the recorded one and its lower bound: gap, reason and basis.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "app/report/comparison_report.h"
#include "app/report/kernel_time.h"
#include "app/report/time_words.h"
#include "tests/app/report/recorded_run.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;

class PredictedTime : public testing::Test {
 protected:
  /// A run of flash2 with calibrated tiles, and with enough heads to occupy every SM.
  static RecordingRow calibrated_run() {
    RecordingRow row = recorded_run("flash2", 264);
    row.run.tiling = {128, 128};
    return row;
  }
  SimulationReport predicted_model(const GpuDescription& gpu) const {
    SimulationReport model = model_of(calibrated_run(), gpu);
    predict_kernel_dram(model, gpu);
    predict_kernel_time(model, gpu);
    return model;
  }
  /// The comparison of the run if it took `times` times the predicted time at `times_clock` times
  /// the predicted clock.
  Comparison predicted(double times, std::optional<double> times_clock = {}) const {
    const SimulationReport model = predicted_model(gpu_);
    RecordingRow row = calibrated_run();
    row.measurement = Measurement{};
    row.measurement->counters = counters_of(model.requested, model.dram.value().total);
    const double time_s = times * model.time.value().seconds;
    row.measurement->time = {time_s, time_s, time_s, 20};
    if (times_clock) row.measurement->time.sm_clock_hz = *times_clock * model.time->clock_hz;
    return compare(model, gpu_, row, h200_device());
  }

  const GpuDescription gpu_ = load_gpu("h200").value();
};

TEST_F(PredictedTime, IsShownBesideTheRecordedOneAndItsLowerBound) {
  const Comparison comparison = predicted(1.0);
  const ComparisonLine* time = comparison.find(Level::time, "time");
  const ComparisonLine* bound = comparison.find(Level::bound, "time");
  ASSERT_NE(time, nullptr);
  ASSERT_NE(bound, nullptr);
  EXPECT_NEAR(*time->gap_percent, 0.0, 1e-9);
  EXPECT_THAT(time->reason, testing::StartsWith("agrees; predicted: "));
  EXPECT_THAT(time->reason, HasSubstr(parts_text(*comparison.model.time)));
  EXPECT_THAT(parts_text(*comparison.model.time), HasSubstr("steps "));
  EXPECT_EQ(time->recorded, bound->recorded);
  EXPECT_LT(*bound->modelled, *time->modelled);
  EXPECT_THAT(bound->reason, HasSubstr("a lower bound, set by the tensor cores"));
  const std::string table = to_text(comparison_table(comparison, "recorded"));
  EXPECT_THAT(table, HasSubstr("\ntime       time"));
  EXPECT_THAT(table, HasSubstr("\nbound      time"));
}

TEST_F(PredictedTime, ThatIsOffNamesAnotherClockOrIsUnexplained) {
  const auto reason = [](const Comparison& comparison) {
    return comparison.find(Level::time, "time")->reason;
  };
  EXPECT_THAT(reason(predicted(1.2)), testing::StartsWith("unexplained; predicted: "));
  EXPECT_THAT(reason(predicted(1.2, 1.0)), testing::StartsWith("unexplained; "));
  EXPECT_THAT(reason(predicted(1.2, 0.8)), testing::StartsWith("off; the SM clock was "));
  EXPECT_THAT(reason(predicted(1.01, 0.8)), testing::StartsWith("agrees; predicted: "));
}

TEST_F(PredictedTime, WithoutCalibratedStepsSaysWhy) {
  Comparison comparison = predicted(1.0);
  EXPECT_EQ(comparison.find(Level::time, "time")->uncalibrated, "");
  EXPECT_EQ(time_basis(comparison.model, gpu_), TimeBasis::calibrated);
  comparison.model.time->uncalibrated = "the calibration lacks these steps";
  EXPECT_EQ(time_basis(comparison.model, gpu_), TimeBasis::estimated);
  comparison = compare(comparison.model, gpu_, comparison.run, h200_device());
  const ComparisonLine* time = comparison.find(Level::time, "time");
  EXPECT_EQ(time->uncalibrated, "the calibration lacks these steps");
  EXPECT_THAT(time->reason, HasSubstr("estimated from the rates of the units: the calibration"));
}

/// The text in JSON of the predicted time's line, in this column of a comparison.
std::string time_cell(const Table& table, std::string_view key) {
  const auto column = std::ranges::find(table.columns, key, &Column::key) - table.columns.begin();
  for (const auto& row : table.rows) {
    if (row[0].text(Unit::words) == "time") {
      return row.at(static_cast<std::size_t>(column)).text(Unit::words);
    }
  }
  return "";
}

TEST_F(PredictedTime, WithoutCalibratedStepsNamesFieldsAsItsReaderDoes) {
  Comparison comparison = predicted(1.0);
  comparison.model.time->uncalibrated = field_name("head_dim") + " is 999";
  const auto text = [&](Reader reader) { return time_basis_text(comparison.model, gpu_, reader); };
  EXPECT_EQ(text(Reader::command_line), "estimated from the rates of the units: --head-dim is 999");
  EXPECT_EQ(text(Reader::screen), "estimated from the rates of the units: d is 999");
  comparison = compare(comparison.model, gpu_, comparison.run, h200_device());
  const Table table = comparison_table(comparison, "comparison");
  EXPECT_THAT(to_text(table), HasSubstr("units: --head-dim is 999"));
  EXPECT_EQ(time_cell(table, "calibration_reason"), "head_dim is 999");
  EXPECT_THAT(time_cell(table, "reason"), HasSubstr("units: head_dim is 999"));
}

TEST_F(PredictedTime, RestsOnWhatItSays) {
  const SimulationReport unpredicted = model_of(calibrated_run(), gpu_);
  EXPECT_EQ(time_basis(unpredicted, gpu_), TimeBasis::bounds_only);
  EXPECT_EQ(why_not_calibrated(unpredicted, gpu_), "too many tiles to follow through L2");
  EXPECT_EQ(time_basis_text(unpredicted, load_gpu("t4").value(), Reader::file),
            "no prediction: the GPU is not calibrated");

  const GpuDescription smaller = with_what_if(gpu_, {.l2_bytes = 1'000'000}, "given");
  const SimulationReport what_if = predicted_model(smaller);
  EXPECT_EQ(time_basis(what_if, smaller), TimeBasis::what_if);
  EXPECT_EQ(time_basis_text(what_if, smaller, Reader::file),
            "what if: the calibration of NVIDIA H200 SXM 141 GB, with changed device values");
  EXPECT_GT(what_if.dram.value().total.read_bytes,
            predicted_model(gpu_).dram.value().total.read_bytes);
  constexpr double kRounding = 1e-12;
  EXPECT_GE(what_if.time->seconds, (1 - kRounding) * predicted_model(gpu_).time->seconds);
  const GpuDescription slower = with_what_if(smaller, {.dram_rate = 0.25}, "given");
  EXPECT_GT(predicted_model(slower).time->seconds, what_if.time->seconds);
}

TEST_F(PredictedTime, NamesOtherDramBytesIfItIsOff) {
  Comparison comparison = predicted(1.2);
  RecordingRow row = comparison.run;
  row.measurement->counters[std::string(counter::kDramReadBytes)] += 4e9;
  comparison = compare(comparison.model, gpu_, row, h200_device());
  EXPECT_THAT(comparison.find(Level::time, "time")->reason,
              testing::StartsWith("off; HBM moved 4 GB more than predicted; predicted: "));
}

TEST_F(PredictedTime, IsMissingIfThereIsNoCalibration) {
  const RecordingRow row = agreeing_run("flash2", gpu_, PassKind::forward, 256);
  const Comparison comparison = compare(model_of(row, gpu_), gpu_, row, h200_device());
  EXPECT_EQ(comparison.find(Level::time, "time"), nullptr);
  EXPECT_TRUE(comparison.find(Level::bound, "time")->gap_percent);
  EXPECT_THAT(comparison_report({}, gpu_, {comparison}), HasSubstr("| not predicted |"));
}

}  // namespace
}  // namespace attnscope
