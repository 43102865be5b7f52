/// How far the model's predictions are off, over many recorded runs.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "app/report/compare.h"

namespace attnscope {

/// How far predictions of one kind are off, in percent of the recorded value of whole passes.
struct PredictionErrors {
  Level level = Level::dram;  ///< may also be requested, l2 or time
  /// "read" or "written", for L2 also "missed"; for times "time", "cycles" (time by clock) or
  /// "primitives" (from the rates of the units alone).
  std::string quantity;
  std::string algorithm;  ///< empty: all algorithms
  PassKind pass = PassKind::forward;
  /// Whether the size of L2 is decisive (DramPrediction::in_transition()), or the steps are not
  /// calibrated.
  enum class Regime : std::uint8_t { steady, transition, uncalibrated } regime = Regime::steady;
  std::size_t runs = 0;
  double median_percent = 0, p90_percent = 0, max_percent = 0;
};

/// The errors of runs that move fewer bytes do not rate the predictions: their bytes depend on
/// kernel code, constants and the earlier contents of L2.
inline constexpr double kLeastRatedBytes = 10e6;
/// An error in written bytes counts as 0 up to this limit: it may be cache lines of earlier work.
inline constexpr double kUnratedWriteBytes = 3e6;

constexpr std::array<std::string_view, 3> enum_names(PredictionErrors::Regime) {
  return {"steady", "transition", "uncalibrated"};
}

/// The errors by level, quantity, algorithm, pass and regime, followed by the errors of all
/// algorithms and passes together.
std::vector<PredictionErrors> prediction_errors(const std::vector<Comparison>& comparisons);

}  // namespace attnscope
