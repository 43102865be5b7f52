#include "app/panels/charts/chart_jobs.h"

#include "app/panels/charts/chart_notes.h"

namespace attnscope::app {

namespace {

/// Requests the result for the key from the job, which calls `count` with the GPU description.
/// Returns the newest result, nullptr before the first, and the progress of the job.
template <typename Key, typename Value, typename Count>
const Value* ask(BackgroundJob<Key, Value>& job, const Key& key, const GpuDescription& gpu,
                 const Count& count, ChartProgress& progress) {
  if (job.wants(key)) {
    job.start(key, [key, gpu, count](WorkControl& control) { return count(key, gpu, control); });
  }
  const Value* latest = job.latest();
  progress.stale = latest != nullptr && !(*job.latest_key() == key);
  progress.given_up = job.given_up();
  progress.busy = job.busy();
  progress.busy_for_s = job.busy_for_s();
  progress.share = job.progress();
  if (job.error()) progress.error = words(*job.error(), Reader::screen);
  return latest;
}

SweepKey sweep_key(const RunInfo& run, const ChartChoice& chart, const ViewState& view,
                   const Measurements& measurements) {
  const std::string& gpu = run.resolved().asked.gpu;
  SweepKey key = chart.over == ChartAxis::tokens ? recorded_key(run.resolved(), gpu, measurements)
                                                 : charted_key(run.resolved(), chart.over, gpu);
  const auto& pattern = view.choice.block_mask;
  const bool is_drawn = pattern && pattern->kind != BlockPattern::Kind::file;
  if (is_drawn && chart.over != ChartAxis::density) key.run.block_mask = *pattern;
  key.run.what_if = run.gpu.what_if;
  key.predicts = chart.quantity == ChartQuantity::time || chart.quantity == ChartQuantity::rate;
  return key;
}

}  // namespace

const ShownChart* ChartJobs::newest_chart(const std::shared_ptr<const RunInfo>& asked_run,
                                          const ViewState& view, const PanelContext& context,
                                          ChartProgress& progress) {
  const RunInfo& run = *asked_run;
  const GpuDescription& gpu = run.gpu;
  const std::string& asked_gpu = run.resolved().asked.gpu;
  const Theme& theme = context.theme;
  const Measurements& runs = context.measurements;
  const ChartChoice asked_chart = shown_chart(view);
  auto& [sizes, errors, theorems, fusion, models, rooflines] = jobs_;
  const auto chart = [&](auto& job, const auto& key, const auto& count,
                         const auto& make) -> const ShownChart* {
    const auto* counted = ask(job, key, gpu, count, progress);
    if (counted == nullptr) return nullptr;
    return made_from({asked_chart,
                      {asked_run},
                      &theme,
                      job.results(),
                      runs.recorded.size(),
                      runs.measured.size()},
                     [&] { return make(*job.latest_key(), *counted); });
  };
  if (asked_chart.over == ChartAxis::intensity) {
    return chart(rooflines, run.resolved(), predict_roofline,
                 [&](const ResolvedRun&, const Roofline& roofline) {
                   return roofline_chart(roofline, gpu, runs, theme);
                 });
  }
  if (is_swept(asked_chart.quantity) && asked_chart.over != ChartAxis::fusion) {
    SweepKey asked = sweep_key(run, asked_chart, view, runs);
    SweepKey predicted = asked;
    predicted.predicts = true;
    // A sweep with predictions contains everything that one without them contains
    if (sizes.latest_key() != nullptr && *sizes.latest_key() == predicted) asked = predicted;
    return chart(sizes, asked, run_size_sweep, [&](const SweepKey&, const SizeSweep& sweep) {
      ShownChart shown = size_chart(sweep, asked_chart.quantity, gpu, runs, theme);
      shown.notes =
          size_notes(sweep, asked_chart.quantity, run.resolved(), shown.has_recorded, gpu, runs);
      return shown;
    });
  }
  switch (asked_chart.quantity) {
    case ChartQuantity::error:
      return chart(errors, error_key(run.problem(), run.pass_kind(), view.error_carry),
                   count_errors,
                   [&](const ErrorKey& key, const std::vector<AccuracyCase>& counted) {
                     return error_chart(key, counted, theme);
                   });
    case ChartQuantity::theorems: {
      TheoremKey asked =
          theorem_key(*io_axis_of(asked_chart.over), run.pass_kind(), run.problem(), gpu);
      asked.run.gpu = asked_gpu;
      return chart(theorems, asked, count_theorems,
                   [&](const TheoremKey& key, const TheoremPoints& points) {
                     return theorem_chart(key, points, gpu, runs, theme);
                   });
    }
    case ChartQuantity::training:
    case ChartQuantity::inference: {
      const bool trains = asked_chart.quantity == ChartQuantity::training;
      return chart(models, ModelKey{trains ? ModelMode::training : ModelMode::inference, asked_gpu},
                   count_models, [&](const ModelKey& key, const std::vector<ModelCurve>& curves) {
                     return model_chart(key, curves, gpu, theme);
                   });
    }
    default:
      break;
  }
  FusionKey asked = asked_chart.quantity == ChartQuantity::figure2
                        ? figure2_key(asked_gpu)
                        : fusion_key(run.problem(), run.tiling(), asked_gpu);
  asked.what_if.sram_bytes = gpu.what_if.sram_bytes;
  return chart(fusion, asked, count_fusion,
               [&](const FusionKey& key, const std::vector<FusionStep>& steps) {
                 return fusion_chart(key, steps, theme);
               });
}

}  // namespace attnscope::app
