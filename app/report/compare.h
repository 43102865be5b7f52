/// Modelled numbers beside recorded or measured ones, with the gap and its reason. Shared by the
/// command line and the app's ledger.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/report/kernel_dram.h"
#include "app/report/run_difference.h"
#include "kernels/recording/recording.h"
#include "sim/device/gpu_description.h"
#include "sim/simulation.h"

namespace attnscope {

/// The subject of a line: one level of traffic, or the time. `l2`, `dram` and `time` are
/// predictions; `bound` is the compulsory bytes and the lower bound of the time. Predictions and
/// bounds are both shown beside a GPU's measurements.
enum class Level : std::uint8_t { paper, requested, l2, dram, bound, time };
constexpr std::array<std::string_view, 6> enum_names(Level) {
  return {"paper", "requested", "l2", "dram", "bound", "time"};
}
inline bool is_of_dram(Level level) {
  return level == Level::dram || level == Level::bound;
}

/// The part of the requested written bytes that is added atomically. Recorded by the L2 slices,
/// which perform the reductions.
inline constexpr std::string_view kAddedQuantity = "atomic adds";

/// The bytes of level `l2` that the SM's partition of L2 did not hold when the SM requested them.
inline constexpr std::string_view kMissedQuantity = "missed";

/// One quantity of a run.
struct ComparisonLine {
  Level level = Level::requested;
  std::string quantity;  ///< "read", "written", kAddedQuantity, kMissedQuantity, "time"
  std::string launch;    ///< "scores"; empty: the whole pass
  std::string unit;      ///< "bytes" or "s"
  /// Nothing when the recording is shown alone, or the model makes no prediction.
  std::optional<double> modelled;
  /// The bytes that the kernel's program requests beyond the tiles of its schedule
  /// (program_requests.h), at the levels `paper`, and `requested`, whose `modelled` includes it.
  double beyond_tiles = 0;
  std::optional<double> recorded;
  std::string unavailable;            ///< why nothing was recorded
  std::optional<double> gap_percent;  ///< (recorded - modelled) / modelled, in percent
  /// The interval of a prediction whose run is in transition (DramPrediction).
  std::optional<std::pair<double, double>> transition;
  /// Why the prediction is not based on calibrated steps; empty if it is. Like `reason`, it names
  /// fields by field_name().
  std::string uncalibrated = {};
  /// A phrase instead of a ratio of numbers so small that it would mislead: "launch latency".
  std::string in_place_of_gap;
  std::string reason;      ///< one sentence, from the data
  std::string cause = {};  ///< the reason in one or two words: "tile lists"; empty: none is known
};

/// One run: the model of its problem and tiling beside a GPU's measurement.
struct Comparison {
  RecordingRow run;
  MeasuredOn on;
  SimulationReport model;
  std::string unavailable;  ///< why the whole run has no measurement; then there are no lines
  /// Why the run cannot be compared with the model; if not empty, the lines have only recorded
  /// values, without model, gap or reason.
  std::string stands_alone;
  std::vector<ComparisonLine> lines;

  /// The line of the whole pass, or nullptr.
  const ComparisonLine* find(Level level, std::string_view quantity) const;
};

/// A gap at or below this counts as agreement for requested bytes.
inline constexpr double kAgreementPercent = 0.5;

/// Below these limits a ratio says nothing about an algorithm, and none is given: the time is
/// mostly the latency of launches and loads, and DRAM bytes depend on kernel code, constants and
/// the contents of L2.
inline constexpr double kLaunchLatencySeconds = 20e-6;
/// The limit of the time if the main launch occupies fewer than half of the SMs.
inline constexpr double kFewSmsLatencySeconds = 40e-6;
inline constexpr double kSmallDramBytes = 1e6;

/// Compares the run with `model`, which is simulate() on `gpu`, with or without its prediction. If
/// difference() finds a difference, the run is shown alone.
Comparison compare(const SimulationReport& model, const GpuDescription& gpu,
                   const RecordingRow& run, const MeasuredOn& on);

/// The model of a kernel's run, with the run's tiles, which are known to fit, and without sharing
/// tiles among grouped heads. `product_tiles` as in ScheduleVariant.
Result<SimulationReport> model_kernel_run(const ResolvedRun& run, const GpuDescription& gpu,
                                          const ProductTiles& product_tiles = {});

/// Limit of the sum of counting_work() over all rows of one comparison, which is then modelled in a
/// second or less. The shipped sweeps reach a third of it.
inline constexpr Index kMostComparedWork = Index{1} << 19;

/// The model of a recorded run, without its DRAM prediction; with the tiles in which its kernels
/// computed standard's products (app/report/product_tiles.h). `work_left` is the rest of
/// kMostComparedWork, from which the run's counting_work() is subtracted; an error if the run needs
/// more. Without the limit, a few rows could take minutes.
Result<SimulationReport> model_recorded_run(const RecordingRow& run, const GpuDescription& gpu,
                                            Index* work_left = nullptr);

/// Predicts the DRAM bytes and the time of a recorded run's model, unless compare() would show the
/// run alone.
void predict_recorded_run(SimulationReport& model, const GpuDescription& gpu,
                          const RecordingRow& run, const MeasuredOn& on,
                          const PredictionLimits& limits = {});

/// Models the run on `gpu`, predicts its DRAM bytes within the limits, and compares.
Result<Comparison> model_and_compare(const RecordingRow& run, const MeasuredOn& on,
                                     const GpuDescription& gpu,
                                     const PredictionLimits& limits = {});

/// Models and compares every row, and predicts DRAM bytes on all cores. A row that this version
/// cannot model is kept, with the reason. `report` receives a line for each step of the work; it
/// may be empty.
std::vector<Comparison> compare_rows(std::span<const RecordingRow* const> rows,
                                     const MeasuredOn& on, const GpuDescription& gpu,
                                     const std::function<void(const std::string&)>& report = {});

/// The name of the shipped description that matches a recording's device, as describes() decides.
std::optional<std::string> find_gpu_of(const DeviceInfo& device);

// Why a recorded number differs from the modelled one: sentences derived from the data
// (reasons.cpp).

/// Adds the gap and its reason to a line with both numbers, or a phrase instead of the ratio
/// (gap_words.cpp).
void add_gap(ComparisonLine& line, const SimulationReport& model, const GpuDescription& gpu,
             const RecordingRow& run);

/// The text shown instead of a ratio.
struct GapWords {
  std::string brief;   ///< "launch latency", "output in L2", "not comparable: spills"
  std::string reason;  ///< "launch latency; 4 of 132 SMs"
};

/// The text for requested bytes of a kernel that spills, for a time that is mostly launch latency,
/// and for DRAM bytes below kSmallDramBytes; nothing for other lines.
std::optional<GapWords> words_in_place_of_gap(const ComparisonLine& line,
                                              const SimulationReport& model,
                                              const GpuDescription& gpu, const RecordingRow& run);

/// The number of thread blocks of the launch that requests the most bytes; 0 if there is no launch.
Index thread_blocks_of_main_launch(const SimulationReport& model);

}  // namespace attnscope
