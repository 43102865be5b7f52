#include "app/panels/panels.h"

/// The modelled GPU: sliders that change its numbers, and how thread blocks fill its SMs.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "app/draw/format.h"
#include "app/jobs/background_job.h"
#include "app/panels/gpu/what_if_sliders.h"
#include "app/panels/ledger/ledger_panel.h"
#include "app/panels/parts/headings.h"
#include "app/panels/parts/snapshot_view.h"
#include "app/report/kernel_dram.h"
#include "app/report/kernel_time.h"
#include "app/report/residency.h"
#include "reference/message_text.h"
#include "sim/device/gpu_description.h"
#include "sim/simulation.h"

namespace attnscope::app {

namespace {

/// The unchanged GPU, and the predicted time of the run on it; 0 if there is none.
struct OwnGpu {
  GpuDescription gpu;
  double seconds = 0.0;
};

double predicted_seconds(SimulationReport report, const GpuDescription& gpu,
                         const WorkControl& control) {
  predict_kernel_dram(report, gpu, {},
                      {.cancel = &control.cancel_flag(), .interval = DramInterval::left_out});
  predict_kernel_time(report, gpu, {}, &control.cancel_flag());
  return report.time ? report.time->seconds : 0.0;
}

class GpuPanel {
 public:
  void draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context);
  bool busy() const { return own_.busy() || now_.busy(); }

 private:
  /// The newest results; nullptr before the first.
  struct Newest {
    const OwnGpu* own;
    const double* now;
  };
  /// Call it once per frame: a result that arrives between two calls would be missing from the
  /// frame, and nothing would request another frame.
  Newest ask(const RunInfo& run);
  void draw_times(const PanelContext& context, const RunInfo& run, const Newest& newest,
                  const Rect& line);

  BackgroundJob<ResolvedRun, OwnGpu> own_;  ///< key: the run without a what-if
  BackgroundJob<ResolvedRun, double> now_;
};

ResolvedRun without_what_if(ResolvedRun run) {
  run.asked.what_if = {};
  return run;
}

GpuPanel::Newest GpuPanel::ask(const RunInfo& run) {
  const ResolvedRun own = without_what_if(run.resolved());
  if (own_.wants(own)) {
    own_.start(own, [own](WorkControl& control) -> Result<OwnGpu> {
      ATTNSCOPE_TRY(auto gpu, load_gpu(own.asked.gpu));
      ATTNSCOPE_TRY(auto report, simulate(own, gpu));
      const double seconds = predicted_seconds(std::move(report), gpu, control);
      return OwnGpu{std::move(gpu), seconds};
    });
  }
  const ResolvedRun& now = run.resolved();
  if (now_.wants(now)) {
    now_.start(now, [report = run.totals, gpu = run.gpu](WorkControl& control) {
      return Result(predicted_seconds(report, gpu, control));
    });
  }
  return {own_.latest(), now_.latest()};
}

/// Draws "predicted 132 us instead of 194 us: 1.47 times as fast".
void GpuPanel::draw_times(const PanelContext& context, const RunInfo& run, const Newest& newest,
                          const Rect& line) {
  const auto [own, now] = newest;
  if (own == nullptr || now == nullptr) return;
  const bool are_of_this_run =
      *now_.latest_key() == run.resolved() && *own_.latest_key() == without_what_if(run.resolved());
  if (!are_of_this_run) return;
  const FontRef& font = context.fonts.small;
  const auto draw = [&](std::string_view text) {
    draw::fitted_text(context, font, line.min, context.theme.text, text, line.width());
  };
  if (*now == 0.0 || own->seconds == 0.0) {
    return draw("no predicted time: the GPU is not calibrated");
  }
  const std::string seconds = draw::format_seconds(*now);
  if (run.gpu.what_if == WhatIf{}) {
    return draw(fmt::format("predicted time of the pass: {}", seconds));
  }
  const double ratio = own->seconds / *now;
  if (std::abs(ratio - 1.0) < 0.005) {
    return draw(fmt::format("predicted time of the pass: {}, as on the unchanged GPU", seconds));
  }
  draw(fmt::format("predicted {} instead of {}: {:.3g} times as {}", seconds,
                   draw::format_seconds(own->seconds), ratio >= 1.0 ? ratio : 1.0 / ratio,
                   ratio >= 1.0 ? "fast" : "slow"));
}

/// The launch of the operation under the playhead, on the GPU's SMs.
LaunchResidency shown_residency(const Snapshot& snapshot, const Measurements& measurements) {
  const RunInfo& run = *snapshot.run;
  const auto seen = find_seen_run(run, measurements);
  const bool same = seen && seen->row.measurement && seen->row.run.tiling == run.tiling();
  const auto all = launch_residency(
      run.totals, run.gpu, same ? seen->row.measurement->launches : std::vector<LaunchCounters>{});
  return all[static_cast<std::size_t>(snapshot.launch)];
}

struct ResourceRow {
  SmResource resource;
  std::string block, sm;
};

std::vector<ResourceRow> resource_rows(const LaunchResidency& shown, const GpuDescription& gpu) {
  const auto count = [](Index number) { return draw::format_count(number); };
  return {{SmResource::shared_memory,
           capacity_text(shown.block.shared_bytes + gpu.reserved_shared_bytes_per_block),
           capacity_text(gpu.shared_bytes_per_sm)},
          {SmResource::registers, capacity_text(shown.block.register_bytes),
           capacity_text(gpu.register_bytes_per_sm)},
          {SmResource::threads, count(shown.block.threads), count(gpu.max_threads_per_sm)},
          {SmResource::blocks, "1", count(gpu.max_blocks_per_sm)}};
}

/// Draws a row for each resource: what a block needs, what an SM has, and how many blocks fit.
/// Returns the y below the last row.
float draw_resources(const PanelContext& context, const LaunchResidency& shown,
                     const GpuDescription& gpu, const Rect& rect) {
  const FontRef& font = context.fonts.small;
  const Theme& theme = context.theme;
  const float pitch = draw::line_height(font);
  const float width = rect.width();
  const auto line = [&](float y, ImU32 color, std::string_view what, std::string_view block,
                        std::string_view sm, std::string_view allows) {
    if (y + 1.2f * font.size > context.rect.max.y) return;  // a race leaves little room
    draw::fitted_text(context, font, {rect.min.x, y}, color, what, 0.3f * width);
    draw::text(context, font, {rect.min.x + 0.5f * width, y}, color, block, draw::Align::right);
    draw::text(context, font, {rect.min.x + 0.7f * width, y}, color, sm, draw::Align::right);
    draw::text(context, font, {rect.max.x, y}, color, allows, draw::Align::right);
  };
  float y = rect.min.y;
  line(y, theme.text_faint, "", "a block needs", "an SM has", "room for");
  for (const ResourceRow& row : resource_rows(shown, gpu)) {
    y += pitch;
    const bool limits = row.resource == shown.limits.tightest();
    const Index blocks = shown.limits[row.resource];
    const std::string room = row.block == "0 B"
                                 ? "any number"
                                 : fmt::format("{} block{}", blocks, blocks == 1 ? "" : "s");
    line(y, limits ? theme.text : theme.text_dim, to_string(row.resource), row.block, row.sm,
         limits ? room + ": the limit" : room);
  }
  return y + pitch;
}

/// Draws the waves of a launch as boxes, the last one partly filled; at most kMostWaves boxes.
void draw_waves(const PanelContext& context, const LaunchResidency& shown, const Rect& rect) {
  constexpr int kMostWaves = 16;
  const double waves = shown.waves();
  const int boxes = static_cast<int>(std::min(std::ceil(waves), static_cast<double>(kMostWaves)));
  const float gap = context.px(3.0f);
  const float width = (rect.width() + gap) / static_cast<float>(std::max(boxes, 4)) - gap;
  for (int n = 0; n < boxes; ++n) {
    const float x = rect.min.x + static_cast<float>(n) * (width + gap);
    const Rect box{{x, rect.min.y}, {x + width, rect.max.y}};
    // If some are left out, the last box is the last wave
    const double index = n + 1 < boxes ? n : std::ceil(waves) - 1;
    const auto filled = static_cast<float>(std::clamp(waves - index, 0.0, 1.0));
    draw::fill(context, box, context.theme.track);
    draw::fill(context, {box.min, {x + filled * width, box.max.y}}, context.theme.accent);
  }
  context.named_rects.add("gpu.waves", rect);
  if (hovered(rect)) {
    tooltip(
        context,
        "Each box is one wave of thread blocks across all SMs; the last wave may leave SMs idle.");
  }
}

std::string waves_text(const LaunchResidency& shown) {
  const double waves = shown.waves();
  const std::string all =
      fmt::format("{} block{} × {} SMs = {} at once; {} blocks: ", shown.resident,
                  shown.resident == 1 ? "" : "s", shown.sm_count,
                  draw::format_count(shown.at_once()), draw::format_count(shown.thread_blocks));
  if (waves < 1.0) return all + fmt::format("they fill {:.0f} % of the slots", 100.0 * waves);
  const double last = waves - std::floor(waves);
  if (last == 0.0) return all + fmt::format("{:.0f} full waves", waves);
  return all +
         fmt::format("{:.2f} waves; the last fills {:.0f} % of the slots", waves, 100.0 * last);
}

void GpuPanel::draw(const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
  const RunInfo& run = *snapshot.run;
  Rect rest = draw_memory_tabs(context, view, "modelled · " + run.gpu.display_name);
  const Newest newest = ask(run);
  const FontRef& font = context.fonts.small;
  const FontRef& bold = context.fonts.ui_bold;
  const float pitch = draw::line_height(font);
  const auto heading = [&](const std::string& text) {
    draw::fitted_text(context, bold, rest.min, context.theme.text, text, rest.width());
    rest.min.y += draw::line_height(bold) + context.px(2.0f);
  };

  heading("What if the GPU were different?");
  if (newest.own != nullptr) draw_what_if(context, view.choice, newest.own->gpu, rest);
  rest.min.y += what_if_height(context) + context.px(4.0f);
  draw_times(context, run, newest, {rest.min, {rest.max.x, rest.min.y + pitch}});
  rest.min.y += pitch + context.px(14.0f);

  const LaunchResidency shown = shown_residency(snapshot, context.measurements);
  heading(fmt::format("Thread blocks on an SM, launch \"{}\"", shown.launch));
  rest.min.y = draw_resources(context, shown, run.gpu, rest) + context.px(4.0f);
  draw::fitted_text(context, font, rest.min, context.theme.text, waves_text(shown), rest.width());
  rest.min.y += pitch + context.px(3.0f);
  if (rest.max.y - rest.min.y < pitch) return;
  draw_waves(context, shown, {rest.min, {rest.max.x, rest.min.y + context.px(14.0f)}});
  rest.min.y += context.px(14.0f) + context.px(6.0f);
  if (rest.max.y - rest.min.y < pitch) return;
  draw::fitted_text(context, font, rest.min, context.theme.text_faint,
                    shown.is_recorded ? "per block, as in the recorded kernel"
                                      : "per block: on-chip memory as the model counts it",
                    rest.width());
}

}  // namespace

Panel make_gpu_panel() {
  const auto gpu = std::make_shared<GpuPanel>();
  Panel panel{"gpu", "GPU", Slot::memory,
              [gpu](const Snapshot& snapshot, ViewState& view, const PanelContext& context) {
                gpu->draw(snapshot, view, context);
              }};
  panel.shown = [](const ViewState& view) { return view.memory_tab == MemoryTab::gpu; };
  panel.busy = [gpu] { return gpu->busy(); };
  return panel;
}

}  // namespace attnscope::app
