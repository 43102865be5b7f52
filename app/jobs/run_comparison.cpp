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
Result<ModelledRun> counted(const RunSpec& run, GpuCatalog& gpus, WorkControl& control) {
  ATTNSCOPE_TRY(const auto resolved, resolve_choice(run, gpus));
  ATTNSCOPE_TRY(const auto gpu, gpus.gpu_of(run));
  ATTNSCOPE_TRY(auto report, simulate(resolved, gpu, &control.cancel_flag()));
  predict_kernel_dram(report, gpu, {},
                      {.most_transfers = kQuickTransfers, .cancel = &control.cancel_flag()});
  predict_kernel_time(report, gpu, {}, &control.cancel_flag());
  return ModelledRun{std::move(report), gpu};
}

/// "recorded", or "A measured, B recorded" if the kinds of the two runs differ.
std::string kind_words(const MeasuredRun* a, const MeasuredRun* b) {
  const auto kind = [](const MeasuredRun* run) { return to_string(run->provenance.kind); };
  if (a == nullptr || b == nullptr) return std::string(kind(a != nullptr ? a : b));
  if (kind(a) == kind(b)) return std::string(kind(a));
  return fmt::format("A {}, B {}", kind(a), kind(b));
}

/// The source of a run's numbers, or why there are none.
std::string about_run(const ModelledRun& model, const MeasuredRun* seen,
                      const Measurements& measurements) {
  if (seen == nullptr) {
    const MeasuredRun* similar = measurements.find_similar(model.report, model.gpu);
    if (similar == nullptr) return "not recorded";
    return difference(model.report, model.gpu, similar->row, similar->provenance.on).words;
  }
  const std::string failure = seen->why_unavailable();
  return seen->provenance.describe() + (failure.empty() ? "" : ": " + failure);
}

std::optional<double> total_bytes(const MeasuredRun& run, std::string_view read,
                                  std::string_view written) {
  const auto read_bytes = run.counter(read);
  const auto written_bytes = run.counter(written);
  if (!read_bytes || !written_bytes) return std::nullopt;
  return *read_bytes + *written_bytes;
}

}  // namespace

std::optional<double> CostRatio::ratio() const {
  const bool has_ratio = a && b && *a > 0.0 && instead_of_ratio.empty();
  return has_ratio ? std::optional(*b / *a) : std::nullopt;
}

SeenCosts seen_costs(const RunComparison& comparison, const Measurements& measurements) {
  const auto seen = [&](const ModelledRun& of) {
    return measurements.find_comparable(of.report, of.gpu);
  };
  const MeasuredRun* const a = seen(comparison.a);
  const MeasuredRun* const b = seen(comparison.b);
  SeenCosts all;
  const auto add = [&](std::string_view name, CostRatio::Unit unit, const auto& value_of) {
    if (a == nullptr && b == nullptr) return;
    const auto value = [&](const MeasuredRun* run) {
      return run != nullptr ? value_of(*run) : std::nullopt;
    };
    CostRatio cost{fmt::format("{}, {}", name, kind_words(a, b)), value(a), value(b), unit};
    const bool is_short = unit == CostRatio::Unit::seconds && cost.a && cost.b &&
                          std::min(*cost.a, *cost.b) < kLaunchLatencySeconds;
    if (is_short) cost.instead_of_ratio = "launch latency";
    if (cost.a || cost.b) all.costs.push_back(std::move(cost));
  };
  using Unit = CostRatio::Unit;
  add("requested bytes", Unit::bytes, [](const MeasuredRun& run) {
    return total_bytes(run, counter::kRequestedReadBytes, counter::kRequestedWriteBytes);
  });
  add("DRAM bytes", Unit::bytes, [](const MeasuredRun& run) {
    return total_bytes(run, counter::kDramReadBytes, counter::kDramWriteBytes);
  });
  add("time", Unit::seconds, [](const MeasuredRun& run) { return run.time_s(); });
  all.about = fmt::format("A: {}\nB: {}", about_run(comparison.a, a, measurements),
                          about_run(comparison.b, b, measurements));
  return all;
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
  RunComparison comparison;
  comparison.fields = differing_fields(a, b);
  ATTNSCOPE_TRY(comparison.a, counted(a, gpus, control));
  ATTNSCOPE_TRY(comparison.b, counted(b, gpus, control));
  const SimulationReport& first = comparison.a.report;
  const SimulationReport& second = comparison.b.report;
  using Unit = CostRatio::Unit;
  const auto add = [&](std::string_view label, double of_a, double of_b, Unit unit) {
    comparison.costs.push_back({std::string(label), of_a, of_b, unit});
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
