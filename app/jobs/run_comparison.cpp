#include "app/jobs/run_comparison.h"

#include <fmt/core.h>

#include <algorithm>

#include "app/report/kernel_dram.h"
#include "app/report/kernel_time.h"
#include "reference/run_fields.h"
#include "sim/simulation.h"

namespace attnscope::app {

namespace {

std::string switches_text(const RunSpec& run) {
  std::string text;
  for (const auto& [name, value] : run.switches) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

/// The counts of a run, and its predicted time if the GPU has a calibration.
Result<SimulationReport> counted(const RunSpec& run, GpuCatalog& gpus, WorkControl& control) {
  ATTNSCOPE_TRY(const auto resolved, resolve_choice(run, gpus));
  ATTNSCOPE_TRY(const auto gpu, gpus.gpu_of(run));
  ATTNSCOPE_TRY(auto report, simulate(resolved, gpu, &control.cancel_flag()));
  predict_kernel_dram(report, gpu, {},
                      {.most_transfers = kQuickTransfers, .cancel = &control.cancel_flag()});
  predict_kernel_time(report, gpu, {}, &control.cancel_flag());
  return report;
}

}  // namespace

std::optional<double> CostRatio::ratio() const {
  return a > 0.0 ? std::optional(b / a) : std::nullopt;
}

std::vector<FieldDifference> differing_fields(const RunSpec& a, const RunSpec& b) {
  std::vector<FieldDifference> differences;
  for (const RunField& field : run_fields()) {
    const std::string first = field.print(a);
    const std::string second = field.print(b);
    if (first != second) differences.push_back({std::string(field.label), first, second});
  }
  if (a.switches != b.switches) {
    differences.push_back({"switches", switches_text(a), switches_text(b)});
  }
  return differences;
}

Result<RunComparison> compare_runs(const RunSpec& a, const RunSpec& b, GpuCatalog& gpus,
                                   WorkControl& control) {
  ATTNSCOPE_TRY(const auto first, counted(a, gpus, control));
  ATTNSCOPE_TRY(const auto second, counted(b, gpus, control));
  RunComparison comparison{differing_fields(a, b), {}};
  using Unit = CostRatio::Unit;
  const auto add = [&](std::string_view label, double of_a, double of_b, Unit unit) {
    comparison.costs.push_back({label, of_a, of_b, unit});
  };
  const auto number = [](Index value) { return static_cast<double>(value); };
  add("requested bytes", number(first.requested.total()), number(second.requested.total()),
      Unit::bytes);
  if (first.dram && second.dram) {
    add("DRAM bytes, predicted", number(first.dram->total.total()),
        number(second.dram->total.total()), Unit::bytes);
  }
  add("peak memory", number(first.peak_hbm_bytes), number(second.peak_hbm_bytes), Unit::bytes);
  add("operations", number(first.matmul_flops + first.non_matmul_flops),
      number(second.matmul_flops + second.non_matmul_flops), Unit::flops);
  add("time, lower bound", first.bound_s, second.bound_s, Unit::seconds);
  if (first.time && second.time) {
    add("time, predicted", first.time->seconds, second.time->seconds, Unit::seconds);
  }
  return comparison;
}

std::string ratio_text(double ratio) {
  const int decimals = ratio < 1.95 ? 2 : ratio < 99.5 ? 1 : 0;
  return fmt::format("{:.{}f}x", ratio, decimals);
}

}  // namespace attnscope::app
