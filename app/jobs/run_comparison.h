/// Two configurations side by side: the fields that differ, and the ratios of their costs, as
/// modelled and as recorded on a GPU.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/jobs/background_job.h"
#include "app/jobs/measurements.h"
#include "app/jobs/step_simulator.h"
#include "reference/run_spec.h"
#include "sim/simulation.h"

namespace attnscope::app {

/// A field whose value differs, and both values as printed; a value that is not set is empty.
struct FieldDifference {
  std::string label;
  std::string a, b;
};

/// A cost of each run, for the whole pass over batch and heads.
struct CostRatio {
  std::string label;  ///< "requested bytes", "time, recorded"
  std::optional<double> a, b;
  enum class Unit { bytes, flops, seconds } unit = Unit::bytes;
  std::string instead_of_ratio = {};  ///< "launch latency": why a ratio would say nothing
  /// b / a; nothing if a is 0, or if either is missing.
  std::optional<double> ratio() const;
};

/// The model of one of the runs.
struct ModelledRun {
  SimulationReport report;
  GpuDescription gpu;
};

struct RunComparison {
  std::vector<FieldDifference> fields;
  std::vector<CostRatio> costs;  ///< modelled
  ModelledRun a, b;
};

/// The costs of both runs on a GPU: times and bytes from Measurements::find_comparable().
struct SeenCosts {
  std::vector<CostRatio> costs;  ///< those that at least one run has
  /// The source of the costs, or why there are none: a line for each run, "A: recorded on ...".
  std::string about;
};
SeenCosts seen_costs(const RunComparison& comparison, const Measurements& measurements);

/// The fields of the table in which the runs differ, and the kernel's switches.
std::vector<FieldDifference> differing_fields(const RunSpec& a, const RunSpec& b);

/// Counts both runs with the model; returns the error of the first that cannot run.
Result<RunComparison> compare_runs(const RunSpec& a, const RunSpec& b, GpuCatalog& gpus,
                                   WorkControl& control);

/// "2.9x"; "1.00x" for equal costs.
std::string ratio_text(double ratio);

}  // namespace attnscope::app
