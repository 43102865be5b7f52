#include "app/report/compare_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <map>
#include <thread>
#include <tuple>

#include "app/report/report_text.h"
#include "reference/message_text.h"

namespace attnscope {

namespace {

/// A row and its model, or the reason why there is none.
struct ModelledRow {
  const RecordingRow* row;
  Result<SimulationReport> model;
};

/// Predicts the DRAM bytes of every row, on all cores.
void predict_rows(std::vector<ModelledRow>& rows, const MeasuredOn& on, const GpuDescription& gpu) {
  std::atomic<std::size_t> next = 0;
  const auto predict = [&] {
    for (std::size_t n = next++; n < rows.size(); n = next++) {
      auto& [row, model] = rows[n];
      if (model) predict_recorded_run(model.value(), gpu, *row, on);
    }
  };
  std::vector<std::future<void>> others;
  for (unsigned core = 1; core < std::thread::hardware_concurrency(); ++core) {
    others.push_back(std::async(std::launch::async, predict));
  }
  predict();
  for (std::future<void>& other : others) other.get();
}

/// The error in percent of the recorded value; nothing for a line that says nothing about the
/// predictions.
std::optional<double> error_percent(const ComparisonLine& line) {
  if (!line.launch.empty() || !line.modelled || !line.recorded || !line.in_place_of_gap.empty()) {
    return std::nullopt;
  }
  const double difference = std::abs(*line.modelled - *line.recorded);
  switch (line.level) {
    case Level::paper:
    case Level::bound:
      return std::nullopt;
    case Level::time:
      if (*line.recorded < kLaunchLatencySeconds) return std::nullopt;
      break;
    case Level::requested:
    case Level::l2:
    case Level::dram:
      if (*line.recorded < kLeastRatedBytes) return std::nullopt;
      if (line.quantity == "written" && difference <= kUnratedWriteBytes) return 0.0;
  }
  return 100.0 * difference / *line.recorded;
}

/// The same for the time from the rates of the units alone.
double primitives_error_percent(const Comparison& comparison) {
  const double recorded = comparison.run.measurement->time.median_s;
  return 100.0 * std::abs(comparison.model.time->primitives_s - recorded) / recorded;
}

/// The same for the pass's SM cycles, predicted at the predicted clock and recorded at the recorded
/// one; nothing if the clock was not recorded.
std::optional<double> cycles_error_percent(const Comparison& comparison) {
  const TimeStatistics& recorded = comparison.run.measurement->time;
  if (!recorded.sm_clock_hz) return std::nullopt;
  const TimePrediction& predicted = *comparison.model.time;
  const double cycles = recorded.median_s * *recorded.sm_clock_hz;
  return 100.0 * std::abs(predicted.seconds * predicted.clock_hz - cycles) / cycles;
}

}  // namespace

std::vector<Comparison> compare_rows(std::span<const RecordingRow* const> rows,
                                     const MeasuredOn& on, const GpuDescription& gpu,
                                     const std::function<void(const std::string&)>& report) {
  Index work_left = kMostComparedWork;
  std::vector<ModelledRow> modelled;
  for (const RecordingRow* row : rows) {
    if (report) report(fmt::format("counting {}", run_title(row->run)));
    modelled.push_back({row, model_recorded_run(*row, gpu, &work_left)});
  }
  if (report) report(fmt::format("predicting the DRAM bytes of {} runs", rows.size()));
  predict_rows(modelled, on, gpu);

  std::vector<Comparison> comparisons;
  for (const auto& [row, model] : modelled) {
    if (model) {
      comparisons.push_back(compare(model.value(), gpu, *row, on));
      continue;
    }
    Comparison& comparison = comparisons.emplace_back();
    comparison.run = *row;
    comparison.on = on;
    comparison.unavailable = words(model.error(), Reader::command_line);
  }
  return comparisons;
}

std::vector<PredictionErrors> prediction_errors(const std::vector<Comparison>& comparisons) {
  using Regime = PredictionErrors::Regime;
  // Whether it is of all runs, algorithm, pass, level, quantity, regime
  using Kind = std::tuple<bool, std::string, PassKind, Level, std::string, Regime>;
  std::map<Kind, std::vector<double>> percents;
  for (const Comparison& comparison : comparisons) {
    const ResolvedRun& run = comparison.run.run;
    for (const ComparisonLine& line : comparison.lines) {
      const auto percent = error_percent(line);
      if (!percent) continue;
      const bool follows_l2 = line.level == Level::l2 && line.quantity == kMissedQuantity;
      const bool in_transition =
          line.transition || (follows_l2 && comparison.model.dram->in_transition());
      const Regime regime = !line.uncalibrated.empty() ? Regime::uncalibrated
                            : in_transition            ? Regime::transition
                                                       : Regime::steady;
      const auto add = [&](const std::string& quantity, double value) {
        for (const Kind& kind :
             {Kind(false, run.algorithm(), run.pass(), line.level, quantity, regime),
              Kind(true, "", PassKind::both, line.level, quantity, regime)}) {
          percents[kind].push_back(value);
        }
      };
      add(line.quantity, *percent);
      if (line.level != Level::time) continue;
      if (const auto cycles = cycles_error_percent(comparison)) add("cycles", *cycles);
      add("primitives", primitives_error_percent(comparison));
    }
  }

  std::vector<PredictionErrors> errors;
  for (auto& [kind, of_kind] : percents) {
    const auto& [of_all, algorithm, pass, level, quantity, regime] = kind;
    std::ranges::sort(of_kind);
    // The smallest error that `share` of them do not exceed
    const auto at = [&of_kind = of_kind](double share) {
      const double rank = std::ceil(share * static_cast<double>(of_kind.size()));
      return of_kind[static_cast<std::size_t>(rank) - 1];
    };
    errors.push_back(
        {level, quantity, algorithm, pass, regime, of_kind.size(), at(0.5), at(0.9), at(1.0)});
  }
  return errors;
}

}  // namespace attnscope
