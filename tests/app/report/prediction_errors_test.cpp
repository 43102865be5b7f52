/// Predicted DRAM bytes beside recorded ones: the text of a line, and the largest errors that the
/// predictions for the shipped recordings may have.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "app/report/prediction_errors.h"

#include "app/report/comparison_report.h"
#include "kernels/compile/block_program.h"
#include "sim/device/assets.h"
#include "tests/app/report/recorded_run.h"

namespace attnscope {
namespace {

using ::testing::HasSubstr;

class Predictions : public testing::Test {
 protected:
  /// The comparison of a run of flash1 that moved `times_the_prediction` times the predicted DRAM
  /// bytes. O and Q outgrow L2 from about 300 heads on.
  Comparison compared(Index heads, double times_the_prediction) const {
    RecordingRow row = recorded_run("flash1", heads);
    row.run.problem.N = row.run.problem.N_kv = 1024;
    row.run.tiling = {128, 256};
    SimulationReport model = model_of(row, gpu_);
    predict_kernel_dram(model, gpu_);
    Bytes dram = model.dram.value().total;
    dram.read_bytes =
        static_cast<Index>(static_cast<double>(dram.read_bytes) * times_the_prediction);
    row.measurement = Measurement{};
    row.measurement->time = {1e-3, 1e-3, 1e-3, 20};
    row.measurement->counters = counters_of(model.requested, dram);
    return compare(model, gpu_, row, h200_device());
  }

  const GpuDescription gpu_ = load_gpu("h200").value();
};

TEST_F(Predictions, AreShownBesideTheirLowerBound) {
  const Comparison comparison = compared(64, 1.0);
  const ComparisonLine* predicted = comparison.find(Level::dram, "read");
  const ComparisonLine* bound = comparison.find(Level::bound, "read");
  ASSERT_NE(predicted, nullptr);
  ASSERT_NE(bound, nullptr);
  EXPECT_EQ(predicted->gap_percent, 0.0);
  EXPECT_EQ(predicted->reason, "agrees");
  EXPECT_EQ(predicted->recorded, bound->recorded);
  EXPECT_LE(*bound->modelled, *predicted->modelled);
}

TEST_F(Predictions, ThatAreOffAreUnexplainedUnlessTheRunIsInTransition) {
  EXPECT_EQ(compared(64, 2.0).find(Level::dram, "read")->reason, "unexplained");
  const Comparison within = compared(264, 1.06);
  const ComparisonLine* line = within.find(Level::dram, "read");
  ASSERT_TRUE(line->transition);
  EXPECT_THAT(line->reason, HasSubstr("inside the interval; in transition"));
  EXPECT_THAT(compared(264, 5.0).find(Level::dram, "read")->reason,
              HasSubstr("outside the interval, unexplained"));
}

TEST_F(Predictions, LinesThatLeaveL2LaterAreNotUnexplained) {
  Comparison comparison = compared(264, 1.0);
  RecordingRow row = comparison.run;
  row.measurement->counters[std::string(counter::kDramWriteBytes)] -= 10e6;
  comparison = compare(comparison.model, gpu_, row, h200_device());
  EXPECT_EQ(comparison.find(Level::dram, "written")->reason,
            "10 MB of dirty lines left L2 later than predicted");
}

TEST_F(Predictions, ThatTakeTooLongLeaveTheRecordedBytes) {
  RecordingRow row = agreeing_run("flash2", gpu_);
  SimulationReport model = model_of(row, gpu_);
  predict_kernel_dram(model, gpu_, {}, {.most_transfers = 10});
  EXPECT_FALSE(model.dram);
  const Comparison comparison = compare(model, gpu_, row, h200_device());
  const ComparisonLine* line = comparison.find(Level::dram, "read");
  ASSERT_NE(line, nullptr);
  EXPECT_FALSE(line->modelled);
  EXPECT_EQ(line->recorded, comparison.find(Level::bound, "read")->recorded);
  EXPECT_THAT(line->reason, HasSubstr("not predicted"));
  EXPECT_THAT(to_text(comparison_table(comparison, "recorded")), HasSubstr("not predicted"));
}

TEST_F(Predictions, UseTheThreadBlocksThatTheRecordedKernelKeptOnAnSm) {
  // Each block of flash1 reads its own head repeatedly
  RecordingRow row = recorded_run("flash1", 264);
  row.run.problem.N = row.run.problem.N_kv = 1024;
  const auto read_bytes = [&](Index resident_blocks) {
    SimulationReport model = model_of(row, gpu_);
    const LaunchShape kernel{.grid = {264, 1, 1}, .resident_blocks = resident_blocks};
    predict_kernel_dram(model, gpu_, {{.name = "forward", .kernels = {kernel}}});
    return static_cast<double>(model.dram.value().total.read_bytes);
  };
  EXPECT_GT(read_bytes(2), 1.2 * read_bytes(1));
}

/// The comparison of every `every`th row of the recording with its predictions.
std::vector<Comparison> comparisons_of(std::string_view recording_name, std::size_t every) {
  const Recording recording =
      read_recording(find_asset("recordings", recording_name).value()).value();
  std::vector<const RecordingRow*> rows;
  for (std::size_t n = 0; n < recording.rows.size(); n += every) rows.push_back(&recording.rows[n]);
  const GpuDescription gpu = load_gpu(find_gpu_of(recording.device).value()).value();
  return compare_rows(rows, {recording.device, recording.protocol.cache}, gpu);
}

/// Expects that the errors of all algorithms and passes together are within the limits in
/// assets/guide/model.md.
void expect_within_the_limits(const std::vector<PredictionErrors>& errors) {
  int checked = 0;
  for (const PredictionErrors& each : errors) {
    if (!each.algorithm.empty() || each.level != Level::dram) continue;
    const bool read = each.quantity == "read";
    const bool in_transition = each.regime == PredictionErrors::Regime::transition;
    SCOPED_TRACE(fmt::format("{} {}", each.quantity, to_string(each.regime)));
    EXPECT_GE(each.runs, 30U);
    EXPECT_LE(each.median_percent, in_transition ? 8.0 : read ? 1.0 : 3.0);
    EXPECT_LE(each.p90_percent, in_transition ? 25.0 : read ? 4.0 : 3.0);
    ++checked;
  }
  EXPECT_EQ(checked, 4);
}

/// Expects that the errors of predicted times are within limits: in seconds and in cycles with
/// calibrated steps, and in seconds from the rates of the units alone ("primitives").
void expect_times_within_the_limits(const std::vector<PredictionErrors>& errors) {
  const auto all = std::ranges::find_if(errors, [](const PredictionErrors& each) {
    return each.algorithm.empty() && each.quantity == "time" &&
           each.regime == PredictionErrors::Regime::steady;
  });
  ASSERT_NE(all, errors.end());
  EXPECT_GE(all->runs, 100U);
  EXPECT_LE(all->median_percent, 8.0);
  EXPECT_LE(all->p90_percent, 15.0);
  for (const PredictionErrors& each : errors) {
    if (each.regime != PredictionErrors::Regime::steady) continue;
    SCOPED_TRACE(fmt::format("{} {} {}", each.algorithm, to_string(each.pass), each.quantity));
    const bool is_all = each.algorithm.empty();
    if (each.quantity == "primitives" && is_all) {
      EXPECT_LE(each.median_percent, 15.0);
    }
    if (each.quantity != "cycles") continue;
    EXPECT_LE(each.median_percent, is_all ? 5.0 : 8.0);
    EXPECT_LE(each.p90_percent, is_all ? 10.0 : 25.0);
  }
}

/// The problem of which a block-sparse run computes a part.
AttentionProblem problem_without_mask(const ResolvedRun& run) {
  AttentionProblem problem = run.problem;
  problem.block_mask = nullptr;
  return problem;
}

/// Expects that the predictions identify the faster of two recorded runs of the same problem if
/// their times differ by more than 5 %.
void expect_the_faster_run_is_known(const std::vector<Comparison>& comparisons) {
  struct Timed {
    const ResolvedRun& run;
    double predicted_s, recorded_s;
  };
  std::vector<Timed> runs;
  for (const Comparison& each : comparisons) {
    const ComparisonLine* const time = each.find(Level::time, "time");
    if (time == nullptr || !time->modelled || *time->recorded < kLaunchLatencySeconds) continue;
    runs.push_back({each.run.run, *time->modelled, *time->recorded});
  }
  int pairs = 0, known = 0;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    for (std::size_t k = 0; k < n; ++k) {
      const auto& [a, b] = std::pair(runs[n], runs[k]);
      const bool of_one_problem = a.run.pass() == b.run.pass() &&
                                  problem_without_mask(a.run) == problem_without_mask(b.run);
      const double ratio = a.recorded_s / b.recorded_s;
      if (!of_one_problem || (ratio > 1 / 1.05 && ratio < 1.05)) continue;
      ++pairs;
      if ((a.predicted_s < b.predicted_s) == (ratio < 1)) ++known;
    }
  }
  EXPECT_GT(pairs, 90);
  EXPECT_GE(known, 0.95 * pairs) << "of " << pairs;
}

TEST(ShippedPredictions, OfTheLadderAreWithinTheLimits) {
  const auto comparisons = comparisons_of("h200", 1);
  const auto errors = prediction_errors(comparisons);
  expect_within_the_limits(errors);
  expect_times_within_the_limits(errors);
  expect_the_faster_run_is_known(comparisons);
}

TEST(ShippedPredictions, OfAnH100AreWithinTheLimits) {
  const auto comparisons = comparisons_of("h100", 1);
  expect_times_within_the_limits(prediction_errors(comparisons));
  expect_the_faster_run_is_known(comparisons);
}

/// If N is not a multiple of 16, row statistics and the 16-row pieces of dQ begin in the middle of
/// a sector. They are a larger share of the bytes in flash1's backward pass and in split_kv; in
/// standard, each row of a 128-column tile of S or P occupies nine sectors instead of eight.
TEST(ShippedPredictions, OfRaggedTilesHaveTheRequestedBytes) {
  constexpr Index kWholePieces = 16;
  constexpr double kMostOfSplitSectorsPercent = 3;
  constexpr double kMostElsewherePercent = 100.0 / 8;
  int whole = 0, split = 0;
  for (const Comparison& each : comparisons_of("h200-blind", 1)) {
    const bool is_whole = each.run.run.problem.N % kWholePieces == 0;
    const double most_split = each.run.run.algorithm().starts_with("flash2")
                                  ? kMostOfSplitSectorsPercent
                                  : kMostElsewherePercent;
    for (const ComparisonLine& line : each.lines) {
      if (line.level != Level::requested || !line.launch.empty()) continue;
      EXPECT_LE(std::abs(line.gap_percent.value()), is_whole ? kAgreementPercent : most_split)
          << each.run.run.problem.N << " " << line.quantity;
      ++(is_whole ? whole : split);
    }
  }
  EXPECT_GE(whole, 10);
  EXPECT_GE(split, 30);
}

TEST(ShippedPredictions, OfEdgesHaveTheRequestedBytesOfWholeBoxes) {
  constexpr double kMostPercent = 0.1;
  int passes = 0;
  for (const Comparison& each : comparisons_of("h200-edges", 1)) {
    if (each.run.measurement->instructions != kernels::kHopper) continue;
    ++passes;
    for (const ComparisonLine& line : each.lines) {
      if (line.level != Level::requested || !line.launch.empty()) continue;
      EXPECT_LE(std::abs(line.gap_percent.value()), kMostPercent)
          << each.run.run.problem.N << " " << each.run.run.problem.d << " " << line.quantity;
    }
  }
  EXPECT_EQ(passes, 40);
}

TEST(ShippedPredictions, OfTheSweepsAreWithinTheLimits) {
  const auto errors = prediction_errors(comparisons_of("h200-sweeps", 1));
  expect_within_the_limits(errors);
  expect_times_within_the_limits(errors);
}

}  // namespace
}  // namespace attnscope
