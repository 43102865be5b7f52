#include "app/report/prediction_errors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

namespace attnscope {

namespace {

/// The error in percent of the recorded value; nothing for a line that does not rate a prediction.
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

/// The error of the time predicted from the rates of the units alone.
double primitives_error_percent(const Comparison& comparison) {
  const double recorded = comparison.run.measurement->time.median_s;
  return 100.0 * std::abs(comparison.model.time->primitives_s - recorded) / recorded;
}

/// The error of the pass's SM cycles: of the time predicted for the recorded clock; nothing if the
/// clock was not recorded.
std::optional<double> cycles_error_percent(const Comparison& comparison) {
  const TimeStatistics& recorded = comparison.run.measurement->time;
  if (!recorded.sm_clock_hz) return std::nullopt;
  const double predicted_s = comparison.model.time->seconds_at(*recorded.sm_clock_hz);
  return 100.0 * std::abs(predicted_s - recorded.median_s) / recorded.median_s;
}

}  // namespace

std::vector<PredictionErrors> prediction_errors(const std::vector<Comparison>& comparisons) {
  using Regime = PredictionErrors::Regime;
  // The kind of an error. The first member is true for errors of all algorithms and passes together
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
    // The smallest value that `share` of the errors do not exceed
    const auto at = [&of_kind = of_kind](double share) {
      const double rank = std::ceil(share * static_cast<double>(of_kind.size()));
      return of_kind[static_cast<std::size_t>(rank) - 1];
    };
    errors.push_back({.level = level,
                      .quantity = quantity,
                      .algorithm = algorithm,
                      .pass = pass,
                      .regime = regime,
                      .runs = of_kind.size(),
                      .median_percent = at(0.5),
                      .p90_percent = at(0.9),
                      .max_percent = at(1.0)});
  }
  return errors;
}

}  // namespace attnscope
