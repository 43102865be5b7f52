#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "app/app.h"
#include "app/arguments.h"
#include "app/platform/imgui_session.h"
#include "app/platform/offscreen.h"
#include "app/platform/svg.h"
#include "app/report/interruption.h"
#include "app/screen/screen.h"
#include "reference/files/file_identity.h"
#include "reference/files/file_writer.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"

namespace attnscope::app {

namespace {

/// Widgets that size themselves by their contents need one frame to measure them, one to apply the
/// size, and one for widgets that depend on it.
constexpr int kSettlingFrames = 4;

/// Nothing when the picture can be written, and replaces neither the scene nor a file that the
/// scene's run reads. Leaves no file behind.
std::optional<Error> check_writable(const std::string& path, const Scene& scene) {
  if (const std::string reason = reason_not_writable(path); !reason.empty()) {
    return invalid_request("--out '{}' cannot be written: {}; give a file in a writable folder",
                           printable(path), reason);
  }
  if (const auto shipped = shipped_as(path)) {
    return invalid_request("--out would replace '{}', which is {}; give another file",
                           printable(path), *shipped);
  }
  const FileIdentity picture = identity_of(path);
  const auto would_replace = [&](std::string_view reader) {
    return invalid_request("--out would replace '{}', which {} reads; give another file",
                           printable(path), reader);
  };
  if (!scene.path.empty() && picture == identity_of(scene.path)) return would_replace("--scene");
  const RunField* field = field_that_reads(scene.view.choice, path);
  if (field == nullptr) return std::nullopt;
  return would_replace("--" + std::string(field->option));
}

/// Runs the app without a window until it has a snapshot and the GPU is known or missing.
std::optional<Error> settle(App& app) {
  const auto waiting_for_gpu = [&] {
    return app.gpu().status().state == GpuRunner::State::opening;
  };
  do {
    app.update(0.0);
    if (app.first_error()) return *app.first_error();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (!app.settled() || waiting_for_gpu());
  app.update(0.0);
  return std::nullopt;
}

/// Runs the scene's kernel on this machine's GPU; the ledger then has the measurement.
std::optional<Error> run_kernel(App& app) {
  if (app.gpu().status().state == GpuRunner::State::unavailable)
    return unavailable(app.gpu().status().reason);
  const std::size_t before = app.measurements.measured.size();
  app.notice.reset();
  app.commands.push(RunOnGpu{});
  app.update(0.0);
  while (app.measurements.measured.size() == before) {
    if (app.notice) return invalid_request(app.notice->text);  // no kernel runs the shown choice
    app.update(0.0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return app.measurements.measured.back().row.error;
}

}  // namespace

int run_render(const Arguments& arguments, Scene scene) {
  if (const auto error = check_writable(arguments.out, scene)) return report(*error);
  const bool raced = scene.view.race.has_value();
  const Index wanted = raced ? scene.view.race_tick : scene.view.step;
  const std::string named = arguments.step ? "--step" : fmt::format("{}: race: tick", scene.path);
  const bool seeks = arguments.step && !raced;
  if (seeks) scene.view.step = 0;  // --step is checked below, once the last operation is known
  App app(std::move(scene), {});
  if (const auto error = settle(app)) return report(*error);
  if (raced && !app.view.race) {
    const std::string why = app.notice ? app.notice->text : "the race cannot be run";
    return report(invalid_request(why));
  }
  const Index last =
      app.course() != nullptr ? app.course()->last_tick() : app.snapshot()->run->step_count - 1;
  if (wanted > last) {
    return report(invalid_request("{} {}: the last {} is {}", named, wanted,
                                  app.course() != nullptr ? "tick" : "operation", last));
  }
  if (app.notice) print_to_stderr(fmt::format("attnscope: {}\n", one_line(app.notice->text)));
  if (arguments.run_on_gpu) {
    if (const auto error = run_kernel(app)) return report(*error);
  }
  if (seeks) {
    app.commands.push(SeekTo{wanted});
    if (const auto error = settle(app)) return report(*error);
  }

  auto offscreen = OffscreenContext::create(arguments.width, arguments.height);
  if (!offscreen) return report(offscreen.error());
  OffscreenContext& surface = *offscreen.value();
  ImGuiSession session;
  Screen screen(make_panels(), make_panels());
  const bool is_svg = is_svg_file(arguments.out);
  TextRecorder recorder;
  std::string svg;
  for (int frame = 0; frame < kSettlingFrames || screen.busy(); ++frame) {
    app.notice.reset();
    recorder.clear();
    const Scales scales =
        scales_for(static_cast<float>(arguments.width), static_cast<float>(arguments.height), 1.0f,
                   app.view.presenter);
    session.begin_frame(app.view.theme, scales.layout, scales.font, {scales.font});
    surface.begin_frame();
    std::optional<PlainEdges> plain;
    if (is_svg) plain.emplace();
    ImGui::NewFrame();
    if (arguments.panel) {
      screen.draw_alone(app, session.fonts(), scales, 0.0, *arguments.panel);
    } else {
      screen.draw(app, session.fonts(), scales, 0.0);
    }
    ImGui::Render();
    if (is_svg) svg = svg_of(*ImGui::GetDrawData(), screen.surfaces(), recorder.texts());
    session.render(arguments.width, arguments.height, screen.surfaces());
    if (const auto error = settle(app)) return report(*error);
  }
  if (is_svg) {
    if (const auto error = write_file(arguments.out, svg)) return report(*error);
    return kDone;
  }
  if (const auto error = write_png(arguments.out, surface.read_pixels())) return report(*error);
  return kDone;
}

}  // namespace attnscope::app
