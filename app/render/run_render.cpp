#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "app/app.h"
#include "app/platform/svg.h"
#include "app/render/picture_maker.h"
#include "app/render/run_pictures.h"
#include "app/report/interruption.h"
#include "reference/files/file_identity.h"
#include "reference/files/file_writer.h"
#include "reference/message_text.h"
#include "sim/device/assets.h"

namespace attnscope::app {

std::optional<Error> check_writable(std::string_view option, const std::string& path,
                                    const Scene& scene) {
  if (const std::string reason = reason_not_writable(path); !reason.empty()) {
    return invalid_request("{} '{}' cannot be written: {}; give a file in a writable folder",
                           option, printable(path), reason);
  }
  if (const auto shipped = shipped_as(path)) {
    return invalid_request("{} would replace '{}', which is {}; give another file", option,
                           printable(path), *shipped);
  }
  const FileIdentity picture = identity_of(path);
  const auto would_replace = [&](std::string_view reader) {
    return invalid_request("{} would replace '{}', which {} reads; give another file", option,
                           printable(path), reader);
  };
  if (!scene.path.empty() && picture == identity_of(scene.path)) return would_replace("--scene");
  const RunField* field = field_that_reads(scene.view.choice, path);
  if (field == nullptr) return std::nullopt;
  return would_replace("--" + std::string(field->option));
}

namespace {

/// Runs the scene's kernel on this machine's GPU; the ledger then has the measurement.
std::optional<Error> run_kernel(App& app) {
  if (app.gpu().status().state == GpuRunner::State::unavailable)
    return unavailable(app.gpu().status().reason);
  const std::size_t before = app.measurements.measured.size();
  app.notice.reset();
  app.commands.push(RunOnGpu{});
  app.update(0.0);
  while (app.measurements.measured.size() == before) {
    if (app.notice)
      return invalid_request(app.notice->text);  // no kernel runs the displayed choice
    app.update(0.0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return app.measurements.measured.back().row.error;
}

}  // namespace

int run_render(const Arguments& arguments, Scene scene) {
  const bool is_animation = arguments.last_step.has_value();
  if (is_animation || !arguments.lesson.empty()) {
    const auto error = is_animation ? render_animation(arguments, std::move(scene))
                                    : render_lesson(arguments, std::move(scene));
    return error ? report(*error) : kDone;
  }
  if (const auto error = check_writable("--out", arguments.out, scene)) return report(*error);
  const bool raced = scene.view.race.has_value();
  const Index wanted = raced ? scene.view.race_tick : scene.view.step;
  const std::string named = arguments.step ? "--step" : fmt::format("{}: race: tick", scene.path);
  const bool seeks = arguments.step && !raced;
  if (seeks) scene.view.step = 0;  // --step is checked below, when the last operation is known
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

  const auto pictures = PictureMaker::create(arguments.width, arguments.height);
  if (!pictures) return report(pictures.error());
  if (is_svg_file(arguments.out)) {
    const auto svg = pictures.value()->draw_svg(app, *arguments.panel);
    if (!svg) return report(svg.error());
    if (const auto error = write_file(arguments.out, svg.value())) return report(*error);
    return kDone;
  }
  const auto picture = pictures.value()->draw(app, arguments.panel);
  if (!picture) return report(picture.error());
  if (const auto error = write_png(arguments.out, picture.value())) return report(*error);
  return kDone;
}

}  // namespace attnscope::app
