#include "app/report/compare.h"

#include <fmt/core.h>

#include <thread>

#include "app/report/parallel_for.h"
#include "app/report/report_text.h"
#include "reference/message_text.h"

namespace attnscope {

namespace {

/// A row and its model, or why there is none.
struct ModelledRow {
  const RecordingRow* row;
  Result<SimulationReport> model;
};

/// Predicts the DRAM bytes of every row, on all cores.
void predict_rows(std::vector<ModelledRow>& rows, const MeasuredOn& on, const GpuDescription& gpu) {
  parallel_for(rows.size(), std::thread::hardware_concurrency(), [&](std::size_t n) {
    auto& [row, model] = rows[n];
    if (model) predict_recorded_run(model.value(), gpu, *row, on);
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
