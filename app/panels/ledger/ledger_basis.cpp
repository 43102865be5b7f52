/// The numbers that a ledger compares with the model: closed forms, predictions and a GPU's run.

#include <fmt/format.h>

#include "app/panels/ledger/ledger_rows.h"
#include "app/report/kernel_time.h"

namespace attnscope::app {

namespace {

constexpr const char* kNotRecorded = "unavailable: no recording of this problem; run it on a GPU";

/// Sums the closed forms over all heads; batch entries may differ.
std::vector<TrafficFormula> formulas_of_all_heads(FormulaRequest request) {
  const AttentionProblem& problem = request.run.problem;
  request.options.heads_per_kv_head = problem.heads_per_kv_head();
  const Index entries = problem.has_key_lengths() ? problem.batch : 1;
  std::vector<TrafficFormula> whole;
  for (request.b = 0; request.b < entries; ++request.b) {
    std::vector<TrafficFormula> one = traffic_formulas(request);
    for (std::size_t k = 0; k < one.size(); ++k) {
      const Index heads = one[k].per_kv_head ? problem.kv_heads : problem.heads;
      one[k].bytes *= heads * (problem.batch / entries);
      if (heads * problem.batch > 1) {
        one[k].text += fmt::format(", times {} heads", heads * problem.batch);
      }
      if (request.b > 0) whole[k].bytes += one[k].bytes;
    }
    if (request.b == 0) whole = std::move(one);
  }
  return whole;
}

PredictedTime predicted_time(const SimulationReport& report, const GpuDescription& gpu) {
  return {report.time, time_basis(report, gpu), time_basis_text(report, gpu, Reader::screen)};
}

}  // namespace

std::optional<MeasuredRun> find_seen_run(const RunInfo& run, const Measurements& measurements) {
  const SeenRuns seen = seen_runs(run, measurements);
  const MeasuredRun* found = seen.run != nullptr ? seen.run : seen.traced;
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

LedgerBasis make_ledger_basis(const RunInfo& run, std::optional<MeasuredRun> seen,
                              const std::atomic<bool>* cancel) {
  LedgerBasis basis;
  const FormulaRequest request{run.resolved(), run.options, run.batch};
  basis.head_formulas = traffic_formulas(request);
  basis.whole_formulas = formulas_of_all_heads(request);
  const std::string no_kernel = why_no_kernel(run.totals, run.gpu);
  basis.why_not_seen = no_kernel.empty() ? kNotRecorded : "unavailable: " + no_kernel;
  basis.seen = std::move(seen);
  const PredictionLimits limits{.most_transfers = kQuickTransfers, .cancel = cancel};
  if (basis.seen && basis.seen->row.measurement) {
    Result<Comparison> comparison =
        model_and_compare(basis.seen->row, basis.seen->provenance.on, run.gpu, limits);
    if (comparison) {
      basis.comparison = std::move(comparison).value();
      basis.compared_time = predicted_time(basis.comparison->model, run.gpu);
    }
  }
  if (basis.comparison && basis.comparison->model.run.tiling == run.tiling() &&
      basis.comparison->stands_alone.empty()) {
    basis.dram = basis.comparison->model.dram;
    basis.time = basis.compared_time;
    return basis;
  }
  SimulationReport shown = run.totals;
  predict_kernel_dram(shown, run.gpu, {}, limits);
  predict_kernel_time(shown, run.gpu, {}, cancel);
  basis.time = predicted_time(shown, run.gpu);
  basis.dram = std::move(shown.dram);
  return basis;
}

}  // namespace attnscope::app
