#include "app/report/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include "app/report/report_text.h"
#include "reference/message_text.h"
#include "reference/parallel_for.h"

namespace attnscope {

namespace {

/// A row and its model, or why there is none.
struct ModelledRow {
  const RecordingRow* row;
  Result<SimulationReport> model;
};

/// The tiles of scores of all heads, which determine how long a prediction takes.
double score_tiles(const ResolvedRun& run) {
  const AttentionProblem& problem = run.problem;
  return static_cast<double>(problem.batch * problem.heads) *
         static_cast<double>(ceil_div(problem.N, run.tiling.Br)) *
         static_cast<double>(ceil_div(problem.N_kv, run.tiling.Bc));
}

/// Predicts the DRAM bytes and the time of every row, on all cores: the longest predictions first,
/// so that the cores finish at about the same time.
void predict_rows(std::vector<ModelledRow>& rows, const MeasuredOn& on, const GpuDescription& gpu) {
  std::vector<std::pair<double, ModelledRow*>> by_work;
  for (ModelledRow& row : rows) {
    if (row.model) by_work.emplace_back(score_tiles(row.model.value().run), &row);
  }
  std::ranges::stable_sort(by_work, std::greater<>(), &std::pair<double, ModelledRow*>::first);
  parallel_for(by_work.size(), std::thread::hardware_concurrency(), [&](std::size_t n) {
    ModelledRow& modelled = *by_work[n].second;
    predict_recorded_run(modelled.model.value(), gpu, *modelled.row, on);
  });
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

}  // namespace attnscope
