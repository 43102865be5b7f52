#include <fmt/core.h>

#include <cmath>
#include <string>

#include "app/app.h"
#include "app/screen/screen.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

namespace {

struct BadgeText {
  std::string text;
  std::string help;
  ImU32 color = 0;
};

BadgeText badge_text(const Frame& frame) {
  const App& app = frame.app;
  const Measurements& measurements = app.measurements;
  const auto snapshot = app.snapshot();
  const SeenRuns seen = snapshot ? seen_runs(*snapshot->run, measurements) : SeenRuns{};
  const std::string no_gpu = measurements.live_unavailable.empty()
                                 ? ""
                                 : "\n\nNo live GPU: " + measurements.live_unavailable;
  if (!measurements.live_gpu.empty()) {
    return {"live: " + measurements.live_gpu,
            "This machine's GPU can run the real kernel of the chosen problem.", frame.theme.good};
  }
  const auto model_only = [&](const std::string& help) {
    return BadgeText{"model only", help, frame.theme.text_faint};
  };
  if (app.view.race) {
    return model_only("A race sets two models side by side; nothing recorded is shown in it.");
  }
  const std::string trace = seen.traced == nullptr
                                ? ""
                                : fmt::format("The thread blocks in the timeline's SMs were {}.",
                                              seen.traced->provenance.describe());
  if (seen.run != nullptr) {
    const RunInfo& run = *snapshot->run;
    const RunDifference differs =
        difference(run.totals, run.gpu, seen.run->row, seen.run->provenance.on);
    const std::string alone = differs.none() || differs.in == DifferenceIn::tiling
                                  ? ""
                                  : "\nNo gap: " + differs.words + ".";
    return {"recorded · " + seen.run->provenance.gpu(),
            fmt::format("The numbers of the real kernel were {}.{}{}{}{}",
                        seen.run->provenance.describe(), alone, trace.empty() ? "" : "\n", trace,
                        no_gpu),
            frame.theme.good};
  }
  if (seen.traced != nullptr) {
    // On a projector the larger text leaves less room for the choices
    return {app.view.presenter ? "model + trace" : "model + recorded trace",
            fmt::format("{}\nThey tell times; no counters of this problem were recorded, so bytes "
                        "come from the model alone.{}",
                        trace, no_gpu),
            frame.theme.good};
  }
  if (!seen.no_kernel.empty()) {
    return model_only("The numbers come from the model alone: " + seen.no_kernel + "." + no_gpu);
  }
  if (!measurements.recorded.empty()) {
    return model_only(
        "No recording has this problem. The numbers come from the model alone; shipped recordings "
        "are in the charts, and the timeline's SMs offer traces of other problems." +
        no_gpu);
  }
  return model_only("No recordings were found. Every number comes from the model or a datasheet." +
                    no_gpu);
}

}  // namespace

float draw_badge(const Frame& frame, const Rect& bar) {
  const BadgeText badge = badge_text(frame);
  const FontRef& font = frame.fonts.ui;
  const float height = frame.text_px(15.0f) + frame.px(12.0f);
  const float y = std::round(bar.center().y - height * 0.5f);
  float right = bar.max.x - frame.px(14.0f);
  const float width = font.measure(badge.text).x + frame.text_px(24.0f);
  const Rect rect{{right - width, y}, {right, y + height}};

  ImGui::SetCursorScreenPos(rect.min);
  ImGui::InvisibleButton("badge", {rect.width(), rect.height()});
  frame.rects.add("badge", rect);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(rect.min, rect.max, mix(frame.theme.bar, badge.color, 0.18f), frame.px(4.0f));
  list->AddRect(rect.min, rect.max, with_alpha(badge.color, 0.75f), frame.px(4.0f));
  ui::draw_centered(list, font, rect.center(), badge.color, badge.text);
  ui::tooltip(frame, badge.help);
  right = rect.min.x - frame.px(8.0f);

  // With a GPU: run the kernel
  if (frame.app.measurements.live_gpu.empty()) return rect.min.x;
  const Measurements& measurements = frame.app.measurements;
  const bool running = measurements.running;
  const bool compiling = running && measurements.compiled < measurements.kernels;
  const std::string text = compiling ? fmt::format("compiling {} of {} ✗",
                                                   measurements.compiled + 1, measurements.kernels)
                           : running ? "running…"
                                     : "Run on GPU";
  const float run_width =
      frame.fonts.ui_bold.measure("compiling 1 of 3 ✗").x + frame.text_px(24.0f);
  const Rect run{{right - run_width, y}, {right, y + height}};
  const std::string_view kHelp =
      compiling ? "Compiles the kernels of this problem; a click cancels the run."
                : "Compiles the real kernel of this problem, runs it, checks it against the "
                  "reference, and fills the measured column.";
  const bool clicked = ui::draw_button(
      frame, {.name = "badge.run", .rect = run, .text = text, .help = kHelp, .primary = true});
  if (clicked && compiling) frame.app.commands.push(CancelGpuRun{});
  if (clicked && !running) frame.app.commands.push(RunOnGpu{});
  return run.min.x;
}

}  // namespace attnscope::app
