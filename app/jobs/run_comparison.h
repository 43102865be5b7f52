/// Two configurations side by side: the fields that differ, and the ratios of what they cost.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/jobs/background_job.h"
#include "app/jobs/step_simulator.h"
#include "reference/run_spec.h"

namespace attnscope::app {

/// A field whose value differs, as it is printed; a value that is not set is empty.
struct FieldDifference {
  std::string label;
  std::string a, b;
};

/// A cost of both runs, whole pass over batch and heads.
struct CostRatio {
  std::string_view label;  ///< "requested bytes", "time, lower bound"
  double a = 0.0, b = 0.0;
  enum class Unit { bytes, flops, seconds } unit = Unit::bytes;
  /// b / a; nothing if a is 0.
  std::optional<double> ratio() const;
};

struct RunComparison {
  std::vector<FieldDifference> fields;
  std::vector<CostRatio> costs;
};

/// The fields of the table in which the runs differ, and the kernel's switches.
std::vector<FieldDifference> differing_fields(const RunSpec& a, const RunSpec& b);

/// Counts both with the model. The error of the first that cannot run.
Result<RunComparison> compare_runs(const RunSpec& a, const RunSpec& b, GpuCatalog& gpus,
                                   WorkControl& control);

/// "2.9x"; "1.00x" for equal costs.
std::string ratio_text(double ratio);

}  // namespace attnscope::app
