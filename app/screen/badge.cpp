#include "app/screen/badge.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "app/app.h"
#include "sim/snapshot/snapshot.h"

namespace attnscope::app {

namespace {

struct BadgeText {
  std::string text;
  std::string help;
  ImU32 color = 0;
};

/// "H100" of "NVIDIA H100 80GB HBM3": the bar has little room; the tooltip shows the whole name.
std::string short_name(const std::string& gpu) {
  constexpr std::string_view kMaker = "NVIDIA ";
  if (!gpu.starts_with(kMaker)) return gpu;
  return gpu.substr(kMaker.size(), gpu.find(' ', kMaker.size()) - kMaker.size());
}

constexpr const char* kModelAndTrace = "model + trace";
constexpr const char* kBroken = "broken";

/// The source of a recorded run's numbers and, if they are not compared with the model's, why not.
std::string recorded_help(const RunInfo& run, const MeasuredRun& recorded) {
  const RunDifference differs =
      difference(run.totals, run.gpu, recorded.row, recorded.provenance.on);
  const bool compared = differs.none() || differs.in == DifferenceIn::tiling;
  return fmt::format("The numbers of the real kernel were {}.{}", recorded.provenance.describe(),
                     compared ? "" : "\nNo gap: " + differs.words + ".");
}

/// Whether the chart shows a different problem from the run on the screen.
bool has_own_problem(ChartQuantity chart) {
  return chart == ChartQuantity::figure2 || chart == ChartQuantity::training ||
         chart == ChartQuantity::inference;
}

BadgeText badge_text(const Frame& frame) {
  const App& app = frame.app;
  const Measurements& measurements = app.measurements;
  const auto snapshot = app.snapshot();
  const SeenRuns seen = snapshot ? seen_runs(*snapshot->run, measurements) : SeenRuns{};
  const std::string no_gpu = measurements.live_unavailable.empty()
                                 ? ""
                                 : "\n\nNo live GPU: " + measurements.live_unavailable;
  const RunBreak broken = snapshot ? snapshot->run->resolved().asked.variant.broken : RunBreak{};
  if (broken.any()) {
    return {
        kBroken,
        fmt::format("{}\nThe values are wrong on purpose. Bytes, operations and times are those "
                    "of the correct run; no measurement is compared with this run.",
                    app.view.hides_break ? "An operation is missing." : to_string(broken)),
        frame.theme.error};
  }
  if (!measurements.live_gpu.empty()) {
    return {
        "live: " + short_name(measurements.live_gpu),
        measurements.live_gpu + " of this computer can run the real kernel of the chosen problem.",
        frame.theme.good};
  }
  const auto model_only = [&](const std::string& help) {
    return BadgeText{"model only", help, frame.theme.text_faint};
  };
  if (app.view.race) {
    return model_only("A race shows two models side by side, without recorded numbers.");
  }
  if (app.view.enlarged == Slot::charts && has_own_problem(app.view.chart)) {
    return model_only(
        "The chart shows the problem that its title names, not the run of the fields "
        "above. All its numbers come from the model.");
  }
  const std::string trace =
      seen.traced == nullptr ? ""
                             : fmt::format("The thread blocks in the timeline's SMs tab were {}.",
                                           seen.traced->provenance.describe());
  if (seen.run != nullptr) {
    return {"recorded · " + short_name(seen.run->provenance.gpu()),
            recorded_help(*snapshot->run, *seen.run) + (trace.empty() ? "" : "\n") + trace + no_gpu,
            frame.theme.good};
  }
  if (seen.traced != nullptr) {
    return {kModelAndTrace,
            fmt::format("{}\nThey give times; no counters of this problem were recorded, so bytes "
                        "come from the model alone.{}",
                        trace, no_gpu),
            frame.theme.good};
  }
  if (!seen.no_kernel.empty()) {
    return model_only("The numbers come from the model alone: " + seen.no_kernel + "." + no_gpu);
  }
  if (!measurements.recorded.empty()) {
    return model_only(
        "There is no recording of this problem. The numbers come from the model alone; shipped "
        "recordings are in the charts, and the timeline's SMs tab has traces of other problems." +
        no_gpu);
  }
  return model_only("No recordings were found. Every number comes from the model or a datasheet." +
                    no_gpu);
}

struct RunButton {
  std::string text;
  std::string help;
  bool enabled = false;
};

/// Why the kernel cannot run here, and what to do about it; empty if it can.
std::string why_not_run(const App& app) {
  const Measurements& measurements = app.measurements;
  if (measurements.live_gpu.empty() && measurements.live_unavailable.empty()) {
    return "The GPU is starting.";
  }
  if (measurements.live_gpu.empty()) {
    return fmt::format(
        "No GPU to run on: {}.\nRun attnscope on a computer with an NVIDIA GPU, its driver and "
        "NVRTC. Or record the run there with attnscope-cli measure, and copy the file to "
        "assets/recordings: it is then shown here in the measured column.",
        measurements.live_unavailable);
  }
  const auto snapshot = app.snapshot();
  if (!snapshot) return "There is no run yet.";
  const std::string no_kernel = why_no_kernel(snapshot->run->totals, snapshot->run->gpu);
  if (no_kernel.empty()) return "";
  return fmt::format("Only the model supports this run: {}.\nChange that choice to run a kernel.",
                     no_kernel);
}

RunButton run_button(const App& app) {
  const Measurements& measurements = app.measurements;
  const std::string reason = why_not_run(app);
  if (!reason.empty()) return {"Run on GPU", reason, false};
  const bool running = measurements.running;
  const std::string more =
      measurements.waiting > 0 ? fmt::format(" +{}", measurements.waiting) : "";
  const std::string queue =
      measurements.waiting > 0 ? fmt::format("\nRuns waiting: {}.", measurements.waiting) : "";
  if (running && measurements.compiled < measurements.kernels) {
    return {
        fmt::format("compiling {} of {}{}", measurements.compiled + 1, measurements.kernels, more),
        "Compiles the kernels of a run. A click adds the displayed run to the queue; the × beside "
        "it "
        "cancels the run that is being compiled." +
            queue,
        true};
  }
  const std::string help =
      "Compiles the real kernel of this problem, runs it, checks it against the reference, and "
      "fills the measured column of the ledger.";
  return {running ? "running…" + more : "Run on GPU",
          help + (running ? "\nA click adds the displayed run to the queue." : "") + queue, true};
}

/// Draws, at the right end of the room, the button that runs the kernel and, while a kernel is
/// being compiled, one that cancels it; returns their left edge.
float draw_run_button(const Frame& frame, const Rect& room) {
  const RunButton button = run_button(frame.app);
  const Measurements& measurements = frame.app.measurements;
  const bool compiling = measurements.running && measurements.compiled < measurements.kernels;
  float right = room.max.x;
  if (compiling) {
    const Rect cancel{{right - room.height(), room.min.y}, {right, room.max.y}};
    if (ui::draw_button(frame, {.name = "badge.cancel",
                                .rect = cancel,
                                .text = "×",
                                .help = "Cancels the run that is being compiled."})) {
      frame.app.commands.push(CancelGpuRun{});
    }
    right = cancel.min.x - frame.px(4.0f);
  }
  // As wide as its widest text and the other button, so that the choices beside it keep their
  // places
  const FontRef& font = frame.fonts.ui_bold;
  float widest = font.measure("Run on GPU").x;
  if (!measurements.live_gpu.empty()) {
    widest = std::max(widest, font.measure("compiling 10 of 10 +1").x + room.height());
  }
  widest = std::max(widest, font.measure(button.text).x + (compiling ? room.height() : 0.0f));
  const float left = room.max.x - widest - frame.text_px(20.0f) - frame.px(4.0f);
  const Rect run{{left, room.min.y}, {right, room.max.y}};
  const bool clicked = ui::draw_button(frame, {.name = "badge.run",
                                               .rect = run,
                                               .text = button.text,
                                               .help = button.help,
                                               .primary = true,
                                               .enabled = button.enabled});
  if (clicked) frame.app.commands.push(RunOnGpu{});
  return run.min.x;
}

/// The width of the widest text that the badge may show, so that the choices beside it keep their
/// places.
float widest_text(const Frame& frame, const std::string& shown) {
  const Measurements& measurements = frame.app.measurements;
  const FontRef& font = frame.fonts.ui;
  float width = std::max(font.measure(shown).x, font.measure(kBroken).x);
  if (!measurements.live_gpu.empty()) {
    return std::max(width, font.measure("live: " + short_name(measurements.live_gpu)).x);
  }
  width = std::max(width, font.measure(kModelAndTrace).x);
  std::string_view last;  // skips equal names: the runs of a recording come from one GPU
  for (const MeasuredRun& run : measurements.recorded) {
    const std::string& gpu = run.provenance.gpu();
    if (gpu == std::exchange(last, gpu)) continue;
    width = std::max(width, font.measure("recorded · " + short_name(gpu)).x);
  }
  return width;
}

}  // namespace

float draw_badge(const Frame& frame, const Rect& bar) {
  const BadgeText badge = badge_text(frame);
  const FontRef& font = frame.fonts.ui;
  const float height = frame.text_px(15.0f) + frame.px(12.0f);
  const float y = std::round(bar.center().y - height * 0.5f);
  float right = bar.max.x - frame.px(14.0f);
  const float width = widest_text(frame, badge.text) + frame.text_px(24.0f);
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

  return draw_run_button(frame, {{rect.min.x, y}, {right, y + height}});
}

}  // namespace attnscope::app
